//! What is on record of a turn that was in progress when an earlier run of the server ended, in addition to its conversation: its
//! messages, and the commands of its calls.
//!
//! ```text
//!   items      message ─ answer (2 calls) ─ result ─ result ─ answer (2 calls) ─ result ─┐ one call is open
//!   messages   reply   ─ card ─ card ─ reply ─ card ─ card                              ─┘ this is its card, if it was shown
//! ```
//! Each call that begins gets one card, in the order of the calls. So the cards after those of earlier answers are those of the last
//! answer, and the card of an open call is used again.

use std::collections::VecDeque;

use agent::context::history;
use agent::engine::Left;
use agent::tool::{CallKey, TurnCost};
use api::document::AgentDocument;
use api::words::TurnStatus as Status;
use execs::attendance::Attended;
use llm::{Assistant, Message as Said, Usage};
use store::{ChatId, ItemId, Message, MessageId, TurnId, TurnRecord, TurnStatus, TurnUsage, User};

use super::screen::settled;
use super::{Stored, reply};
use crate::document;
use crate::house::House;

/// The prefix of the id of a call that represents a user's message; the message's id follows.
pub(crate) const RELAYED: &str = "agent-";

/// The last recorded answer of a turn.
struct Last {
    item: ItemId,
    answer: Assistant,
    /// The ids of the results after the answer.
    results: Vec<String>,
}

impl Last {
    /// True for each call that has no result.
    fn open(&self) -> Vec<bool> {
        history::open_calls(&self.answer, self.results.iter().map(String::as_str))
    }
}

/// A turn's recorded answers.
#[derive(Default)]
struct Answers {
    first: Option<Assistant>,
    words: Option<String>,
    called: Vec<String>,
    count: usize,
    /// The number of calls of all answers except the last.
    earlier_calls: usize,
    last: Option<Last>,
    /// True if the last item is the last answer.
    ends_with_answer: bool,
}

impl Answers {
    fn of(record: &TurnRecord) -> Self {
        let mut answers = Self::default();
        for item in &record.items {
            answers.ends_with_answer = false;
            match history::from_json(&item.item_json) {
                Some(Said::Assistant(answer)) => answers.add(item.id, answer),
                Some(Said::Tool(result)) => {
                    if let Some(last) = &mut answers.last {
                        last.results.push(result.call_id);
                    }
                }
                Some(Said::User(_)) | None => {}
            }
        }
        answers
    }

    fn add(&mut self, item: ItemId, answer: Assistant) {
        self.count += 1;
        self.ends_with_answer = true;
        if !answer.text.trim().is_empty() {
            self.words = Some(answer.text.trim().to_owned());
        }
        self.called.extend(answer.tool_calls.iter().map(|call| call.name.clone()));
        self.first.get_or_insert_with(|| answer.clone());
        if let Some(before) = self.last.replace(Last { item, answer, results: Vec::new() }) {
            self.earlier_calls += before.answer.tool_calls.len();
        }
    }

    /// True if the only call represents a message of the user.
    fn is_relay(&self) -> bool {
        let calls = self.first.as_ref().map(|answer| answer.tool_calls.as_slice());
        self.count == 1 && matches!(calls, Some([call]) if call.id.starts_with(RELAYED))
    }

    /// For each call of the last answer, true if it has no result.
    fn open(&self) -> Vec<bool> {
        self.last.as_ref().map(Last::open).unwrap_or_default()
    }
}

impl Stored {
    /// The record that an earlier run of the server left of this turn; `None` unless the turn is in progress on record.
    pub(super) async fn left(&self) -> store::Result<Option<Left>> {
        let Some(record) = self.service.store.turn_record(self.user.id, &self.chat, self.turn).await? else {
            return Ok(None);
        };
        let answers = Answers::of(&record);
        let shown: Vec<(&Message, AgentDocument)> =
            record.messages.iter().filter_map(|message| Some((message, document::agent(message)?))).collect();
        let mut first_reasoning = String::new();
        let (mut cards, mut void, mut is_first) = (Vec::new(), None, true);
        for (message, document) in shown {
            self.service.store.remove_streamed(message.id).await?;
            match document {
                AgentDocument::Reply { reasoning, .. } if std::mem::take(&mut is_first) => {
                    first_reasoning = if answers.count > 0 { reasoning } else { String::new() };
                }
                AgentDocument::Reply { status: Status::Running, .. } => void = Some(message.id),
                AgentDocument::Reply { .. } => {}
                AgentDocument::Tool { asked_by: Some(_), .. } => self.settle_one(message, document).await?,
                AgentDocument::Tool { place, .. } => cards.push((message.id, place)),
            }
        }
        // A recorded answer that was not shown yet; the model is not asked for it again.
        if let Some((message, last)) = void.zip(answers.last.as_ref().filter(|_| answers.ends_with_answer)) {
            self.screen().change(message, &last.answer.text, &reply(TurnStatus::Done)).await?;
            void = None;
        } else if let Some(message) = void {
            self.screen().change(message, "", &reply(TurnStatus::Running)).await?;
        }
        let open = answers.open();
        let cards = cards.into_iter().skip(answers.earlier_calls).zip(&open);
        let cards: Vec<_> = cards.filter(|(_, is_open)| **is_open).map(|(card, _)| card).collect();
        let mut needs_machine = false;
        for (card, place) in &cards {
            needs_machine = needs_machine || place.is_some() && self.has_called(*card).await?;
        }
        *self.left_cards() = cards.into_iter().map(|(card, _)| card).collect();
        let is_relay = answers.is_relay();
        let first = answers.first.map(|answer| answer.text).unwrap_or_default();
        Ok(Some(Left {
            answers: answers.count,
            first: (first, first_reasoning),
            words: answers.words,
            called: answers.called,
            void,
            cost: cost(record.usage),
            needs_machine,
            is_relay,
        }))
    }

    /// Marks a card that shows a question as ended, because its sub-agent no longer exists.
    async fn settle_one(&self, message: &Message, document: AgentDocument) -> store::Result<()> {
        // A sub-agent in the background may already have asked again.
        if self.service.is_waited_for(self.user.id, message.id) {
            return Ok(());
        }
        let Some(settled) = settled(document) else { return Ok(()) };
        self.service.store.withdraw_ask(self.user.id, message.id).await?;
        self.screen().change(message.id, &message.text, &settled).await
    }

    /// The card of the next open call, if an earlier run of the server showed it.
    pub(super) fn next_left_card(&self) -> Option<MessageId> {
        self.left_cards().front().copied()
    }

    /// Takes the card of the next open call.
    pub(super) fn take_left_card(&self) -> Option<MessageId> {
        self.left_cards().pop_front()
    }

    fn left_cards(&self) -> std::sync::MutexGuard<'_, VecDeque<MessageId>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.left_cards.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Attends the commands that the open calls of a turn in progress, and of its sub-agents, may have begun.
pub(crate) async fn attend_all(service: &House, user: &User, chat: &ChatId, turn: TurnId) -> Vec<Attended> {
    let mut attended = attend(service, user, chat, turn).await;
    match service.store.open_turns_below(user.id, chat).await {
        Ok(below) => {
            for turn in below {
                attended.extend(attend(service, user, &turn.chat, turn.id).await);
            }
        }
        Err(error) => {
            tracing::error!(%error, %turn, "cannot look up the commands that a turn's sub-agents began");
        }
    }
    attended
}

/// Attends the commands that the open calls of a turn in progress may have begun, so that no code ends them before the turn takes them
/// up. A failure is only logged: then the commands are ended, and the results of the calls report that.
async fn attend(service: &House, user: &User, chat: &ChatId, turn: TurnId) -> Vec<Attended> {
    let record = match service.store.turn_record(user.id, chat, turn).await {
        Ok(record) => record,
        Err(error) => {
            tracing::error!(%error, %turn, "cannot find out what the calls of a turn began");
            None
        }
    };
    let answers = record.as_ref().map(Answers::of).unwrap_or_default();
    let Some(last) = &answers.last else { return Vec::new() };
    let open = last.open().into_iter().enumerate().filter(|(_, is_open)| *is_open);
    let attend = |(at, _)| {
        let id = store::ExecId::from_bytes(CallKey::of(chat, last.item, at).0);
        service.execs.attendance().enter(user.id, &id, None)
    };
    open.map(attend).collect()
}

pub(super) fn cost(usage: TurnUsage) -> TurnCost {
    let TurnUsage { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, cost_micros } = usage;
    TurnCost {
        usage: Usage {
            input_tokens: input_tokens.cast_unsigned(),
            cache_read_tokens: cache_read_tokens.cast_unsigned(),
            cache_write_tokens: cache_write_tokens.cast_unsigned(),
            output_tokens: output_tokens.cast_unsigned(),
        },
        cost_micros: cost_micros.cast_unsigned(),
    }
}
