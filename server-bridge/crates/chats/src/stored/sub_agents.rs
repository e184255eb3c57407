//! Sub-agents, each with a chat below its parent's.

use llm::Message;
use store::{MessageRole, SubAgent, TurnStatus};

use super::idle::named;
use super::{Stored, asked, reply, to_json};
use crate::ChatEvent;
use agent::context::history;
use agent::engine::{Asked, Name, Named, NewSubAgent, SubAgentTask, SubAgents, Turn, TurnEnd};
use agent::tool::TurnCost;

impl SubAgents for Stored {
    fn take_name(&self, name: &str) -> Option<Name> {
        self.service.at_work.take_name(&self.chat, name)
    }

    fn named<'a>(&'a self, name: &'a str) -> Asked<'a, Named> {
        asked(named(&self.service.store, self.user.id, &self.chat, name))
    }

    fn create<'a>(&'a self, new: NewSubAgent<'a>) -> Asked<'a, SubAgent> {
        asked(async move {
            let NewSubAgent { card, role, instance, tools_json } = new;
            let new = store::NewSubAgent { parent: &self.chat, message: card, role, instance, tools_json };
            self.service.store.create_sub_agent(self.user.id, new).await
        })
    }

    fn run<'a>(&'a self, task: SubAgentTask<'a>) -> Asked<'a, TurnEnd> {
        asked(async move {
            let Self { service, user, .. } = self;
            let SubAgentTask { chat, card, text, ancestry, cancelled } = task;
            let store = &service.store;
            let _work = service.at_work.begin(user.id, chat, cancelled);
            store.use_sub_agent(user.id, chat, card).await?;
            let said = service.say(user.id, chat, MessageRole::User, text).await?;
            let document = to_json(&reply(TurnStatus::Queued));
            let shown =
                store.append_message(user.id, chat, MessageRole::Assistant, "", Some(&document)).await?;
            let item = history::to_json(&Message::user(text));
            let turn =
                store.queue_turn_beneath(user.id, chat, said.id, shown.id, &item, ancestry.turn()).await?;
            service.tell(user.id, ChatEvent::Message(shown.clone()));
            let ports = &self.below(chat, turn, self.route_request().await?.clone()).ports();
            let (parts, hooks, stop) = (&service.prompt, &service.hooks, &service.stop);
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
        })
    }
}
