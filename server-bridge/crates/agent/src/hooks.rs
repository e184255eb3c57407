//! Places where hooks hang: what watches turns, and may deny or question what they do.
//!
//! ```text
//!   TurnBegins ─▶ [ CallBegins ─▶ mode ─▶ user ─▶ CallEnds ]* ─▶ TurnEnds          Compresses, whenever room is made
//! ```
//! A source of hooks registers itself with [`Hooks::put`]; the engine knows none of them. All hooks of a place are asked, in the
//! order in which they were registered, and the strictest word counts: deny before ask before pass. Where no hook is registered
//! a place costs one look at an empty list.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::BoxFuture;
use llm::ToolCall;
use records::{ChatId, TurnId, TurnStatus, User};

use crate::approval::Access;
use crate::tool::Outcome;

/// The turn that comes to a place.
#[derive(Clone, Copy, Debug)]
pub struct HookedTurn<'a> {
    /// The user whose agent it is.
    pub user: &'a User,
    /// The agent's own chat.
    pub chat: &'a ChatId,
    /// The chat that the user talks in: the same one, unless it is a sub-agent's turn.
    pub root: &'a ChatId,
    /// The turn.
    pub turn: TurnId,
}

/// A place in a turn.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// It begins: a model is about to be asked for the first time. Denied, it fails with the reason.
    TurnBegins,
    /// A call was understood, and nothing was done or asked yet. Denied, its model is told the reason.
    CallBegins {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// What it does to the place it works in.
        access: Access,
    },
    /// A call has ended; a note is added to what its model is told.
    CallEnds {
        /// The call, as the model wrote it.
        call: &'a ToolCall,
        /// What it came to.
        outcome: &'a Outcome,
    },
    /// A summary is about to take the place of what was said. Nothing can be denied here.
    Compresses,
    /// It has ended. Nothing can be denied here.
    TurnEnds {
        /// The way it ended.
        status: TurnStatus,
    },
}

/// A hook's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing to say.
    Pass,
    /// Something that the model is told beside.
    Note(String),
    /// The user is asked, in every mode and whatever they allowed for good; says why.
    Ask(String),
    /// It is not done; says why.
    Deny(String),
}

/// Something that hangs at the places of turns.
pub trait Hook: Send + Sync + 'static {
    /// Takes note of a turn that comes to a place, and says what is to become of it. It keeps its own time: the turn waits.
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Word>;
}

/// All words of a place, put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Why it is not done, from the first hook that denies it.
    pub denied: Option<String>,
    /// Why the user is asked, from the first hook that wants that.
    pub asks: Option<String>,
    /// What the model is told beside.
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

    /// Asks all hooks about a turn that comes to a place.
    pub async fn at(&self, turn: HookedTurn<'_>, place: Place<'_>) -> Words {
        let mut words = Words::default();
        // None is held while a hook works: another one may be added meanwhile.
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
