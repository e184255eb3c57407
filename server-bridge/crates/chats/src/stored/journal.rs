//! The record of a turn, in the database.

use llm::{Content, Message, ToolCall, ToolResult};
use store::{ItemId, MessageId, Spent, StoredContext};

use super::{Stored, asked, offload};
use crate::memorise;
use agent::approval::Access;
use agent::context::history;
use agent::engine::{Asked, Begins, Change, Entry, Journal, ReplyState};
use agent::tool::CallKey;

impl Journal for Stored {
    fn begin<'a>(&'a self, model: &'a str) -> Asked<'a, Begins> {
        asked(async move {
            if self.service.store.begin_turn(self.turn, model).await? {
                return Ok(Begins::First);
            }
            // Only one server works on a turn, and runs it once, so a turn in progress was left by an earlier run of the server.
            Ok(self.left().await?.map_or(Begins::Over, |left| Begins::Again(Box::new(left))))
        })
    }

    fn load(&self) -> Asked<'_, StoredContext> {
        asked(self.service.store.stored_context(self.user.id, &self.chat, self.turn))
    }

    fn append<'a>(&'a self, entry: Entry<'a>) -> Asked<'a, (ItemId, Message)> {
        asked(async move {
            let (store, turn) = (&self.service.store, self.turn);
            let mut begins = None;
            let message = match entry {
                Entry::Said(message) => message,
                Entry::Answer(message, spent, count) => {
                    let item = store.append_answer(turn, &history::to_json(&message), spent, count).await?;
                    return Ok((item, message));
                }
                Entry::Result(call, outcome, place) => {
                    let whose = (self.user.id, &self.root, &self.chat);
                    let mode = self.service.settings.context_mode();
                    let text = offload::kept(store, whose, call, &outcome, place, mode).await?;
                    begins = outcome.sub_agent.filter(|agent| agent.is_background);
                    let content = std::iter::once(Content::Text(text)).chain(outcome.images).collect();
                    let (call_id, is_error) = (call.id.clone(), outcome.is_error);
                    Message::Tool(ToolResult { call_id, content, is_error })
                }
            };
            let item = store.append_turn_item(turn, &history::to_json(&message)).await?;
            if let Some(agent) = begins {
                // The sub-agent begins only now, so that the card shows the result of the call before the sub-agent's state.
                (self.service.begin_background)(&self.service, &self.user, &agent.chat);
            }
            Ok((item, message))
        })
    }

    fn change<'a>(&'a self, change: Change<'a>) -> Asked<'a, ()> {
        asked(async move {
            let (store, chat) = (&self.service.store, &self.chat);
            match change {
                Change::Amended(item, message) => store.amend_item(item, &history::to_json(message)).await,
                Change::Masked(masks) => store.add_masks(chat, masks).await,
                Change::Compacted(new) => {
                    store.add_compaction(chat, new).await?;
                    if *chat == self.root {
                        memorise::soon(&self.service, &self.user, chat, false);
                    }
                    Ok(())
                }
                Change::NotCompacted(at) => store.add_void_compaction(chat, at).await,
            }
        })
    }

    fn spend<'a>(&'a self, spent: Spent<'a>) -> Asked<'a, ()> {
        asked(async move { self.service.store.add_turn_usage(self.turn, spent).await.map(drop) })
    }

    fn begins<'a>(&'a self, call: &'a ToolCall, access: Access) -> Asked<'a, ()> {
        // A sub-agent's command is taken back, and counted, with the turn of the user's chat.
        let counts_for = matches!(access, Access::Run | Access::Privileged).then_some(self.root_turn);
        asked(self.service.store.begin_call(self.turn, &call.id, counts_for))
    }

    fn has_command(&self, call: CallKey) -> Asked<'_, bool> {
        asked(async move {
            let id = store::ExecId::from_bytes(call.0);
            match self.service.store.exec(self.user.id, &id).await {
                Ok(_) => Ok(true),
                Err(store::Error::NotFound { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    fn end<'a>(&'a self, first: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()> {
        asked(async move {
            let store = &self.service.store;
            store::until_done(|| store.withdraw_asks(self.turn)).await?;
            let document = self.reply_document(state).await?;
            self.screen().end(first, (state.status, state.error), text, &document).await?;
            self.words.forget(store, first).await
        })
    }
}
