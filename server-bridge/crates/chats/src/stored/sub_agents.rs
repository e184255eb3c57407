//! Sub-agents, each of which has a chat below its parent's.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use llm::Message;
use sandbox::RouteRequest;
use store::{ChatId, MessageId, NewDelegation, SubAgent, TurnId, TurnStatus};
use tokio::sync::OnceCell;

use super::idle::named;
use super::sub_agents_again::Left;
use super::{Stored, asked, give_up, give_up_below, reply, to_json};
use crate::rule_book::WorkspaceRules;
use crate::{ChatEvent, memorise};
use agent::PortError;
use agent::context::history;
use agent::engine::{
    Asked, Called, Name, Named, NewSubAgent, SubAgentEnd, SubAgentTask, SubAgents, Turn, TurnEnd,
};
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

    fn called(&self) -> Asked<'_, Called> {
        asked(self.next_on_record())
    }

    fn run<'a>(&'a self, task: SubAgentTask<'a>) -> BoxFuture<'a, Result<SubAgentEnd, Failure>> {
        Box::pin(async move {
            let Self { service, user, .. } = self;
            let found = service.store.sub_agent(user.id, task.chat).await.ported()?;
            let Some(agent) = found else {
                return Err(PortError::Gone("the sub-agent's conversation was deleted".to_owned()).into());
            };
            let left = match task.goes_on {
                true => self.left_turn(task.card).await.ported()?,
                false => None,
            };
            let left = match left {
                Some(Left::Over(turn, end)) => {
                    let worktree = match turn.is_last {
                        true => self.leave_again(&task, &agent).await,
                        false => None,
                    };
                    return Ok(SubAgentEnd { turn: end, worktree });
                }
                Some(Left::Open(turn)) => Some(turn),
                None => None,
            };
            // Registered only now: if the recorded turn has already ended, another call may be at work in this chat.
            let _work = service.at_work.begin(user.id, task.chat, task.cancelled);
            let place = self.place_of_work(&task, &agent).await;
            if let (Err(Failure::Message(why)), Some((turn, message))) = (&place, left) {
                let ending = match task.cancelled.is_cancelled() {
                    true => (TurnStatus::Cancelled, None),
                    false => (TurnStatus::Failed, Some(why.as_str())),
                };
                give_up(service, user, task.chat, (turn, message), ending).await.ported()?;
            }
            let (route, rules, worktree) = place?;
            let end = self.work(&task, left, route.clone(), rules).await;
            let worktree = match worktree {
                // If the server stops, the worktree is checked later: see the tool `Worktree`.
                Some(path) if !service.is_stopping(user.id) => Some(self.leave_worktree(&path, &route).await),
                Some(_) | None => None,
            };
            let turn = end.ported()?;
            // What the user wrote before it; nothing that the sub-agent read or answered.
            if self.chat == self.root && !service.is_stopping(user.id) {
                memorise::soon(service, user, &self.root, false);
            }
            Ok(SubAgentEnd { turn, worktree })
        })
    }
}

impl Stored {
    /// Runs a sub-agent's turn to the end: a new turn, or one that a restart interrupted.
    async fn work(
        &self,
        task: &SubAgentTask<'_>,
        left: Option<(TurnId, MessageId)>,
        route: RouteRequest,
        rules: Arc<OnceCell<Arc<WorkspaceRules>>>,
    ) -> store::Result<TurnEnd> {
        let Self { service, user, .. } = self;
        let SubAgentTask { chat, card, ancestry, cancelled, .. } = *task;
        let store = &service.store;
        let (turn, message) = match left {
            Some(left) => left,
            None => self.queue(task).await?,
        };
        let ports = &self.below(chat, turn, route, rules).ports();
        let (parts, hooks, stop) = (&service.prompt, &service.hooks, &service.stops.of(user.id));
        let context = service.settings.context_mode();
        let running =
            Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context };
        let end = running.run().await;
        if let (Some(end), Some(_)) = (&end, left) {
            give_up_below(service, user, chat, end.status).await?;
        }
        store.use_sub_agent(user.id, chat, card).await?;
        // The sub-agent's conversation may have been deleted meanwhile.
        store.message(user.id, message).await?;
        // The server stops, and the parent's turn with it, so no one reads this.
        Ok(end.unwrap_or_else(|| TurnEnd {
            status: TurnStatus::Interrupted,
            error: None,
            cost: TurnCost::default(),
            words: None,
        }))
    }

    /// Gives a sub-agent its task; returns the sub-agent's turn, and the message that will show the answer.
    async fn queue(&self, task: &SubAgentTask<'_>) -> store::Result<(TurnId, MessageId)> {
        let Self { service, user, .. } = self;
        let SubAgentTask { chat, card, text, ancestry, .. } = *task;
        let document_json = &to_json(&reply(TurnStatus::Queued));
        let item_json = &history::to_json(&Message::user(text));
        let new = NewDelegation {
            chat,
            card,
            root: ancestry.turn(),
            text,
            document_json,
            item_json,
            background: None,
        };
        let queued = service.store.queue_delegated_turn(user.id, new).await?;
        let (said, shown, turn) = queued.expect("only turns in the background are counted");
        let message = shown.id;
        service.tell(user.id, ChatEvent::Message(said));
        service.tell(user.id, ChatEvent::Message(shown));
        Ok((turn, message))
    }
}
