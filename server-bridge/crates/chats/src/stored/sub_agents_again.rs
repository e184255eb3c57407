//! The sub-agents of an interrupted turn: their turns are resumed together with the calls.
//!
//! | the record of the call | what happens |
//! |---|---|
//! | no sub-agent | the call is judged and run like any other |
//! | a sub-agent without a turn | the sub-agent gets its task now |
//! | the sub-agent's turn, queued or in progress | the turn continues from its record |
//! | the sub-agent's turn, which has ended | the end of that turn is the result |

use agent::context::history;
use agent::engine::{Called, CalledAgent, TurnEnd};
use llm::Message;
use store::{CalledTurn, MessageId, TurnId, TurnStatus};

use super::Stored;
use super::again::cost;
use super::given_up::{GIVEN_UP, give_up};

/// A sub-agent's turn that was recorded before a restart.
pub(super) enum Left {
    /// The turn is to be resumed; with the message that shows its first answer.
    Open((TurnId, MessageId)),
    /// The turn has ended in this way.
    Over(CalledTurn, TurnEnd),
}

impl Stored {
    /// See [`agent::engine::SubAgents::called`].
    pub(super) async fn next_on_record(&self) -> store::Result<Called> {
        let Some(card) = self.next_left_card() else { return Ok(Called::Nobody) };
        let called = self.service.store.called_sub_agent(self.user.id, &self.chat, card).await?;
        let Some(store::CalledSubAgent { agent, turn }) = called else { return Ok(Called::Nobody) };
        let (steps, is_over) = match &turn {
            Some(turn) => (self.words_and_steps(turn).await?.1, !turn.status.is_open()),
            None if agent.status.is_none() => (0, false),
            // An earlier version did not record which call a turn serves.
            None => return Ok(Called::Unknown),
        };
        Ok(Called::Agent(Box::new(CalledAgent { agent, steps, is_over })))
    }

    /// True if a sub-agent was called by the call that this card shows.
    pub(super) async fn has_called(&self, card: MessageId) -> store::Result<bool> {
        Ok(self.service.store.called_sub_agent(self.user.id, &self.chat, card).await?.is_some())
    }

    /// The turn of the call with this card, ready to be resumed unless it has ended. A turn that was stopped, or resumed too often, is ended here.
    pub(super) async fn left_turn(&self, card: MessageId) -> store::Result<Option<Left>> {
        let Self { service, user, chat, .. } = self;
        let store = &service.store;
        let called = store.called_sub_agent(user.id, chat, card).await?;
        let Some(mut turn) = called.and_then(|called| called.turn) else { return Ok(None) };
        if turn.status.is_open() {
            let ending = if turn.is_cancelled {
                (TurnStatus::Cancelled, None)
            } else if let Some(message) = turn.message
                && (turn.status != TurnStatus::Running || store.resume_turn(turn.id).await?)
            {
                return Ok(Some(Left::Open((turn.id, message))));
            } else {
                (TurnStatus::Interrupted, Some(GIVEN_UP))
            };
            match turn.message {
                Some(message) => give_up(service, user, &turn.chat, (turn.id, message), ending).await?,
                None => {
                    store.finish_turn(turn.id, ending.0, ending.1).await?;
                }
            }
            (turn.status, turn.error) = (ending.0, ending.1.map(str::to_owned));
        }
        let end = TurnEnd {
            status: turn.status,
            error: turn.error.clone(),
            cost: cost(store.turn_usage(turn.id).await?),
            words: self.words_and_steps(&turn).await?.0,
        };
        Ok(Some(Left::Over(turn, end)))
    }

    /// The last text of a sub-agent's model in a turn, and the number of its tool calls that have a result.
    async fn words_and_steps(&self, turn: &CalledTurn) -> store::Result<(Option<String>, u32)> {
        let stored = self.service.store.stored_context(self.user.id, &turn.chat, turn.id).await?;
        let (mut words, mut steps) = (None, 0);
        for item in stored.items.iter().filter(|item| item.turn == turn.id) {
            match history::from_json(&item.item_json) {
                Some(Message::Assistant(answer)) if !answer.text.trim().is_empty() => {
                    words = Some(answer.text.trim().to_owned());
                }
                Some(Message::Tool(_)) => steps += 1,
                Some(Message::Assistant(_) | Message::User(_)) | None => {}
            }
        }
        Ok((words, steps))
    }
}
