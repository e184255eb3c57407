//! The points of a turn where hooks run: they watch turns, and may deny their actions or have the user asked.
//!
//! ```text
//!   TurnBegins ─▶ [ CallBegins ─▶ mode ─▶ user ─▶ CallEnds ]* ─▶ TurnEnds          Compresses, whenever room is made
//! ```
//! A source of hooks registers itself with [`Hooks::put`]; the engine names none of them. All hooks are asked at each place, in
//! the order of registration, and the strictest word counts: deny before ask before pass. Without hooks, a place costs one look
//! at an empty list.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::BoxFuture;
use llm::ToolCall;
use records::{ChatId, TurnId, TurnStatus, User};

use crate::approval::Access;
use crate::tool::Outcome;

/// The turn that reached a place.
#[derive(Clone, Copy, Debug)]
pub struct HookedTurn<'a> {
    /// The user whose agent it is.
    pub user: &'a User,
    /// The agent's own chat.
    pub chat: &'a ChatId,
    /// The chat that the user talks in: differs from `chat` only in a sub-agent's turn.
    pub root: &'a ChatId,
    /// The turn.
    pub turn: TurnId,
}

/// A place in a turn.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The turn begins: a model is about to be asked for the first time. If denied, the turn fails with the reason.
    TurnBegins,
    /// A call was understood, and nothing was done or asked yet. If denied, the model gets the reason.
    CallBegins {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// The call's access to its place.
        access: Access,
    },
    /// A call has ended; a note is added to the result that the model gets.
    CallEnds {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// The call's outcome.
        outcome: &'a Outcome,
    },
    /// A summary is about to replace part of the conversation. This cannot be denied.
    Compresses,
    /// The turn has ended. This cannot be denied.
    TurnEnds {
        /// The status it ended with.
        status: TurnStatus,
    },
}

/// A hook's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// No objection.
    Pass,
    /// An additional note for the model.
    Note(String),
    /// The user is asked, in every mode and in spite of permissions given for good; with the reason.
    Ask(String),
    /// It is denied; with the reason.
    Deny(String),
}

/// A hook, called at the places of turns.
pub trait Hook: Send + Sync + 'static {
    /// Handles a turn at a place, and returns a word on it. It keeps its own timeouts: the turn waits.
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Word>;
}

/// All words of a place, combined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The reason of the first hook that denies it.
    pub denied: Option<String>,
    /// The reason of the first hook that wants the user asked.
    pub asks: Option<String>,
    /// The additional notes for the model.
    pub notes: Vec<String>,
}

/// All hooks of the server. Cheap to clone; every clone is the same.
#[derive(Clone, Default)]
pub struct Hooks(Arc<RwLock<Vec<Arc<dyn Hook>>>>);

impl Hooks {
    /// Adds a hook after those that are there.
    pub fn put(&self, hook: impl Hook) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(hook));
    }

    /// Asks all hooks about a turn at a place.
    pub async fn at(&self, turn: HookedTurn<'_>, place: Place<'_>) -> Words {
        let mut words = Words::default();
        // The lock is not held while a hook works: another hook may be added meanwhile.
        let hooks = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        for hook in hooks {
            match hook.at(turn, place).await {
                Word::Pass => {}
                Word::Note(note) => words.notes.push(note),
                Word::Ask(why) => drop(words.asks.get_or_insert(why)),
                Word::Deny(why) => drop(words.denied.get_or_insert(why)),
            }
        }
        words
    }
}
