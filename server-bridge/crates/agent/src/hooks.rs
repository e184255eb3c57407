//! The points of a turn where hooks run: hooks watch turns, and may deny, ask about, allow or change their actions.
//!
//! ```text
//!   TurnBegins ─▶ [ [ CallBegins ─▶ rules ─▶ mode ─▶ Asks ─▶ user ─▶ CallEnds | Denied ]* ─▶ CallsEnd ]* ─▶ Stops ─▶ TurnEnds
//!                                             Compresses ─▶ Compressed, whenever room is made
//! ```
//! A source of hooks registers itself with [`Hooks::put`]; the engine knows no source by name. All hooks are asked at each place, in the
//! order of registration, and the strictest ruling counts: deny before ask before allow before none. Without hooks, a place only costs a
//! check of an empty list.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::BoxFuture;
use llm::{ToolCall, Usage};
use records::{ChatId, TurnId, TurnStatus, User};
use serde_json::{Map, Value};

use crate::Cause;
use crate::approval::Access;
use crate::models::ModelSetup;
use crate::tool::Outcome;

/// The turn that reached a place.
#[derive(Clone, Copy, Debug)]
pub struct HookedTurn<'a> {
    /// The user whose agent takes the turn.
    pub user: &'a User,
    /// The agent's own chat.
    pub chat: &'a ChatId,
    /// The chat that the user talks in: differs from `chat` only in a sub-agent's turn.
    pub root: &'a ChatId,
    /// The turn's id.
    pub turn: TurnId,
}

impl HookedTurn<'_> {
    /// True for the turn of an agent that another agent called.
    pub fn is_sub_agent(&self) -> bool {
        self.chat != self.root
    }
}

/// A place in a turn.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The turn begins: a model is about to be asked for the first time. If denied, the turn fails with the reason.
    TurnBegins {
        /// The message that the turn answers.
        text: &'a str,
        /// True if the turn is the chat's first one.
        is_first: bool,
    },
    /// A call was parsed, and nothing was done or asked yet. If denied, the model gets the reason. The arguments may be replaced.
    CallBegins {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// The call's access to its place.
        access: Access,
    },
    /// The user is about to be asked about a call. A hook may answer instead.
    Asks {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// The call's access to its place.
        access: Access,
    },
    /// A call was denied by a hook, a rule, the mode or the user. Hooks can only watch this; their notes are added to the reason that the model gets.
    Denied {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// The reason that the model gets.
        why: &'a str,
    },
    /// A call that ran has ended. Hooks may replace the text of its result, and their notes are added to it.
    CallEnds {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// The call's outcome.
        outcome: &'a Outcome,
        /// The duration of the call, in milliseconds.
        took_ms: u64,
        /// True if the user stopped the turn during the call. Nobody waits for the hooks then: they work in the background.
        is_cancelled: bool,
    },
    /// All calls of one answer have ended. If denied, the turn ends with the reason. Notes of hooks follow the results.
    CallsEnd {
        /// The calls of the answer.
        calls: &'a [ToolCall],
    },
    /// The model is done. If denied, the model continues with the reason, [`STOPS_DENIED`](crate::limits::STOPS_DENIED) times at most.
    Stops {
        /// The model's last text.
        text: &'a str,
        /// True if the model has already continued because of a hook.
        is_again: bool,
    },
    /// A summary is about to replace part of the conversation. If denied, everything stays as it is.
    Compresses {
        /// True if the user asked for the compression.
        is_asked: bool,
    },
    /// A summary has replaced part of the conversation. Hooks can only watch this; their notes follow the conversation.
    Compressed {
        /// True if the user asked for the compression.
        is_asked: bool,
        /// The text of the summary.
        summary: &'a str,
    },
    /// The turn has ended. This cannot be denied.
    TurnEnds {
        /// The status that the turn ended with.
        status: TurnStatus,
        /// The reason why the turn failed, if it did.
        error: Option<&'a str>,
        /// The cause of the failure.
        cause: Option<Cause>,
    },
}

/// The combined rulings of hooks at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The reason given by the first hook that denies the action.
    pub denied: Option<String>,
    /// The reason given by the first hook that wants the user asked, in every mode and in spite of permissions given for good.
    pub asks: Option<String>,
    /// True if a hook allows the action without the mode's question.
    pub allows: bool,
    /// Notes for the model.
    pub notes: Vec<String>,
    /// The arguments that replace the call's own.
    pub arguments: Option<Map<String, Value>>,
    /// The text that replaces the result of a call that has ended.
    pub result: Option<String>,
}

impl Words {
    /// A ruling that denies the action for this reason.
    pub fn deny(why: impl Into<String>) -> Self {
        Self { denied: Some(why.into()), ..Self::default() }
    }

    /// A ruling that asks the user for this reason.
    pub fn ask(why: impl Into<String>) -> Self {
        Self { asks: Some(why.into()), ..Self::default() }
    }

    /// A ruling that allows the action without the mode's question.
    pub fn allow() -> Self {
        Self { allows: true, ..Self::default() }
    }

    /// A ruling that only adds a note for the model.
    pub fn note(text: impl Into<String>) -> Self {
        Self { notes: vec![text.into()], ..Self::default() }
    }

    /// A ruling that replaces the arguments of the call.
    pub fn instead(arguments: Map<String, Value>) -> Self {
        Self { arguments: Some(arguments), ..Self::default() }
    }

    /// Adds the rulings of a later hook; if both replace the arguments or the result, the later one counts.
    pub fn add(&mut self, other: Self) {
        self.denied = self.denied.take().or(other.denied);
        self.asks = self.asks.take().or(other.asks);
        self.allows |= other.allows;
        self.notes.extend(other.notes);
        self.arguments = other.arguments.or(self.arguments.take());
        self.result = other.result.or(self.result.take());
    }
}

/// A request to a model that a turn is about to make, with the most that it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Tokens, read and written: an estimate that errs on the high side, and the longest answer.
    pub tokens: u64,
    /// Their cost, in millionths of a US dollar; 0 if the price is not known.
    pub cost_micros: u64,
    /// The answers that the turn has had; `None` for a request beside its conversation, such as one for a summary.
    pub answers: Option<usize>,
}

impl Estimate {
    /// A request of about `input_tokens` to a model, whose answer has at most `reply_tokens`; `answers` as in the field.
    pub fn of(setup: &ModelSetup, input_tokens: usize, reply_tokens: u32, answers: Option<usize>) -> Self {
        let usage = Usage {
            input_tokens: u64::try_from(input_tokens).unwrap_or(u64::MAX),
            output_tokens: u64::from(reply_tokens),
            ..Usage::default()
        };
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        Self { tokens, cost_micros: setup.price.cost_micros(usage), answers }
    }
}

/// What hooks hold for a request. It is released when this is dropped, which is when the use of the request is on record, or there is none.
#[derive(Default)]
pub struct Hold {
    held: Vec<Box<dyn Send>>,
    /// Notes for the model, with this request.
    pub notes: Vec<String>,
}

impl Hold {
    /// Something that is released when it is dropped.
    pub fn of(held: impl Send + 'static) -> Self {
        Self { held: vec![Box::new(held)], notes: Vec::new() }
    }

    /// The same, with a note for the model.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn add(&mut self, other: Self) {
        self.held.extend(other.held);
        self.notes.extend(other.notes);
    }
}

/// The way in which the session of a chat ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The user began another chat.
    NewChat,
    /// The chat is about to be deleted.
    Deleted,
}

/// A hook, called at the places of turns.
pub trait Hook: Send + Sync + 'static {
    /// Handles a turn at a place, and returns its rulings. A hook limits its own time, because the turn waits for it.
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words>;

    /// Holds what a request of a turn to a model may use, or fails with the reason why the turn may make none; most hooks hold nothing. It may wait
    /// until requests of other turns have ended: a cancel does not wait for it.
    fn holds<'a>(
        &'a self,
        _turn: HookedTurn<'a>,
        _estimate: Estimate,
    ) -> BoxFuture<'a, Result<Hold, String>> {
        Box::pin(std::future::ready(Ok(Hold::default())))
    }

    /// Handles the end of a chat's session, outside of a turn; most hooks do nothing. The caller waits for this before it deletes the
    /// chat, so longer work should run in the background.
    fn session_ends<'a>(&'a self, _user: &'a User, _chat: &'a ChatId, _end: SessionEnd) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// All hooks of the server. Cheap to clone; all clones share the same list.
#[derive(Clone, Default)]
pub struct Hooks(Arc<RwLock<Vec<Arc<dyn Hook>>>>);

impl Hooks {
    /// Adds a hook after the existing ones.
    pub fn put(&self, hook: impl Hook) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(hook));
    }

    /// A copy of the list: the lock is not held while a hook works, as another one may be added meanwhile.
    fn all(&self) -> Vec<Arc<dyn Hook>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Informs all hooks that the session of a chat ends.
    pub async fn session_ends(&self, user: &User, chat: &ChatId, end: SessionEnd) {
        for hook in self.all() {
            hook.session_ends(user, chat, end).await;
        }
    }

    /// Has all hooks hold what a request of a turn may use.
    ///
    /// Fails with the reason of the first one that refuses it.
    pub async fn hold(&self, turn: HookedTurn<'_>, estimate: Estimate) -> Result<Hold, String> {
        let mut hold = Hold::default();
        for hook in self.all() {
            hold.add(hook.holds(turn, estimate).await?);
        }
        Ok(hold)
    }

    /// Asks all hooks about a turn at a place.
    pub(crate) async fn at(&self, turn: HookedTurn<'_>, place: Place<'_>) -> Words {
        let mut words = Words::default();
        for hook in self.all() {
            words.add(hook.at(turn, place).await);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_add_up_and_none_is_lost() {
        let arguments = |word: &str| Map::from_iter([("x".to_owned(), Value::from(word))]);
        let all = [
            Words::allow(),
            Words::ask("one"),
            Words::note("a"),
            Words::instead(arguments("1")),
            Words::deny("two"),
            Words::ask("three"),
            Words::deny("four"),
            Words::instead(arguments("2")),
            Words::note("b"),
            Words { result: Some("r".to_owned()), ..Words::default() },
        ];
        let mut words = Words::default();
        all.into_iter().for_each(|other| words.add(other));
        let expected = Words {
            denied: Some("two".to_owned()),
            asks: Some("one".to_owned()),
            allows: true,
            notes: vec!["a".to_owned(), "b".to_owned()],
            arguments: Some(arguments("2")),
            result: Some("r".to_owned()),
        };
        assert_eq!(words, expected);
    }
}
