//! Sub-agents, each with a chat below its parent's.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use llm::Message;
use sandbox::RouteRequest;
use store::{ChatId, MessageRole, SubAgent, TurnStatus};
use tokio::sync::OnceCell;

use super::idle::named;
use super::{Stored, asked, reply, to_json};
use crate::ChatEvent;
use crate::rule_book::WorkspaceRules;
use agent::PortError;
use agent::context::history;
use agent::engine::{Asked, Name, Named, NewSubAgent, SubAgentEnd, SubAgentTask, SubAgents, Turn, TurnEnd};
use agent::tool::{Failure, TurnCost};
use tools::Ported;

impl SubAgents for Stored {
    fn take_name(&self, name: &str) -> Option<Name> {
        self.service.at_work.take_name(&self.chat, name)
    }

    fn named<'a>(&'a self, name: &'a str) -> Asked<'a, Named> {
        asked(named(&self.service.store, self.user.id, &self.chat, name))
    }

    fn is_at_work(&self, chat: &ChatId) -> bool {
        self.service.at_work.is_at_work(self.user.id, chat)
    }

    fn place<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(self.place_of_name(name))
    }

    fn create<'a>(&'a self, new: NewSubAgent<'a>) -> Asked<'a, SubAgent> {
        asked(async move {
            let NewSubAgent { card, role, instance, place, tools_json } = new;
            let new =
                store::NewSubAgent { parent: &self.chat, message: card, role, instance, place, tools_json };
            self.service.store.create_sub_agent(self.user.id, new).await
        })
    }

    fn run<'a>(&'a self, task: SubAgentTask<'a>) -> BoxFuture<'a, Result<SubAgentEnd, Failure>> {
        Box::pin(async move {
            let Self { service, user, .. } = self;
            let _work = service.at_work.begin(user.id, task.chat, task.cancelled);
            let found = service.store.sub_agent(user.id, task.chat).await.ported()?;
            let Some(agent) = found else {
                return Err(PortError::Gone("the sub-agent's conversation is gone".to_owned()).into());
            };
            let (route, rules) = self.route_and_rules(&agent).await?;
            let worktree = self.enter_worktree(&task, &agent, &route).await?;
            let end = self.work(&task, route.clone(), rules).await;
            let worktree = match worktree {
                // If the server stops, it is looked at later: see the tool `Worktree`.
                Some(path) if !service.is_stopping(user.id) => Some(self.leave_worktree(&path, &route).await),
                Some(_) | None => None,
            };
            Ok(SubAgentEnd { turn: end.ported()?, worktree })
        })
    }
}

impl Stored {
    /// Runs a sub-agent's turn to the end.
    async fn work(
        &self,
        task: &SubAgentTask<'_>,
        route: RouteRequest,
        rules: Arc<OnceCell<Arc<WorkspaceRules>>>,
    ) -> store::Result<TurnEnd> {
        let Self { service, user, .. } = self;
        let SubAgentTask { chat, card, text, ancestry, cancelled, .. } = *task;
        let store = &service.store;
        store.use_sub_agent(user.id, chat, card).await?;
        let said = service.say(user.id, chat, MessageRole::User, text).await?;
        let document = to_json(&reply(TurnStatus::Queued));
        let shown = store.append_message(user.id, chat, MessageRole::Assistant, "", Some(&document)).await?;
        let item = history::to_json(&Message::user(text));
        let turn = store.queue_turn_beneath(user.id, chat, said.id, shown.id, &item, ancestry.turn()).await?;
        service.tell(user.id, ChatEvent::Message(shown.clone()));
        let ports = &self.below(chat, turn, route, rules).ports();
        let (parts, hooks, stop) = (&service.prompt, &service.hooks, &service.stops.of(user.id));
        let (message, context) = (shown.id, service.settings.context_mode());
        let turn =
            Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context };
        let end = turn.run().await;
        store.use_sub_agent(user.id, chat, card).await?;
        // Its conversation may have been deleted meanwhile.
        store.message(user.id, shown.id).await?;
        // The server stops, and its parent's turn with it: this is read by nobody.
        Ok(end.unwrap_or_else(|| TurnEnd {
            status: TurnStatus::Interrupted,
            error: None,
            cost: TurnCost::default(),
            words: None,
        }))
    }
}
