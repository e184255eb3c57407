//! Memories: what agents remember about a user across chats, and what an agent of a group remembers of its requests.
//!
//! ```text
//!   the user, on the page or the command line ─────────────────────────────► kept
//!   a model, if the user's own message asks for it and the turn read nothing ─► kept
//!   a model otherwise; a chat that ended ──────────────────────────────────► proposed ──accepted by the user──► kept
//!   kept ──a newer one that makes it untrue, as its writer says──► superseded: found only by questions about the past
//!   kept ──core blocks──► every prompt        kept ──words and meaning of the message──► the note before that message
//! ```
//! A text from a file, a page, a command or another agent never becomes a memory without the user's consent: it is not in the user's
//! message, and a turn that has read such a text can only propose memories.
//!
//! An agent of a group holds its own memories. For them, the request of the person who asks the agent counts as the user's message, and
//! the agent's owner accepts its proposals. No holder sees or changes another holder's memories.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@write`] | writes and proposes memories, and supersedes those that they make untrue |
//! | [`candidates`] | the kept memories that a new text may make untrue |
//! | [`asked`] | whether the user asked for what a model wants to keep or forget |
//! | [`likeness`] | whether two texts say the same thing |
//! | [`recall`] | the items that match a message |
//! | [`meaning`] | vectors of items, and the items closest in meaning to a message |
//! | [`prompt`] | core blocks and notes in the form of a prompt |
//! | [`mode`] | the modes, and a user's choice |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::collections::HashSet;

use store::{ChatId, Store, UserId};

pub mod asked;
pub mod candidates;
mod evidence;
pub mod likeness;
pub mod limits;
pub mod meaning;
pub mod mode;
pub mod prompt;
pub mod recall;
pub mod write;

pub use meaning::Meaning;
pub use mode::Mode;
pub use store::{
    MemoryChange, MemoryHolder, MemoryItem, MemoryKind, MemoryReplacement, MemoryRevision, MemoryScope,
    MemorySource, NewMemory, OwnAgent,
};
pub use write::{Standing, Write, Written, write};

/// True for an item that applies at this time: it is kept, not superseded, and not expired.
#[must_use]
pub fn holds(item: &MemoryItem, now_ms: i64) -> bool {
    !item.is_proposed
        && item.superseded_by.is_none()
        && item.valid_to_ms.is_none_or(|until_ms| now_ms < until_ms)
}

/// True for an item that applied earlier: it was superseded, or it has expired.
#[must_use]
pub fn has_ended(item: &MemoryItem, now_ms: i64) -> bool {
    !item.is_proposed && !holds(item, now_ms)
}

/// True for an item that belongs to the reader and applies where the reader works.
#[must_use]
pub fn reaches(item: &MemoryItem, reader: Reader<'_>) -> bool {
    match (reader, item.agent_id, item.scope) {
        (Reader::Own { .. }, None, MemoryScope::User) => true,
        (Reader::Own { project }, None, MemoryScope::Project) => project == Some(item.scope_name.as_str()),
        (Reader::OfGroup { agent }, Some(holder), MemoryScope::Agent) => agent == holder,
        (Reader::Own { .. }, ..) | (Reader::OfGroup { .. }, ..) => false,
    }
}

/// The agent that reads memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader<'a> {
    /// One of the user's own agents, in a chat on the machine `project`, if it has one.
    Own {
        /// The name of the machine.
        project: Option<&'a str>,
    },
    /// An agent of a group. Other people ask it and read its answers, so it sees no memories of its owner's own agents, nor those of
    /// other agents of groups.
    OfGroup {
        /// The agent's id.
        agent: i64,
    },
}

impl<'a> Reader<'a> {
    /// The reader for the user's chat `root`, whose agent works on the machine `project`.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn of(store: &Store, root: &ChatId, project: Option<&'a str>) -> store::Result<Self> {
        Ok(match store.group_agent_in(root).await? {
            Some(agent) => Self::OfGroup { agent },
            None => Self::Own { project },
        })
    }

    /// The holder whose memories the reader sees; `user` is the user that the reader works for.
    #[must_use]
    pub fn holder(self, user: UserId) -> MemoryHolder {
        match self {
            Self::Own { .. } => user.into(),
            Self::OfGroup { agent } => MemoryHolder::agent(user, agent),
        }
    }
}

/// The words that describe the memories to forget.
pub struct About(Vec<String>);

impl About {
    /// The words of a text; `None` if it has none.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let words: Vec<String> = search::tokens::terms(text).into_iter().map(|term| term.key).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// True if these texts together have all of the words.
    #[must_use]
    pub fn is_in(&self, texts: &[String]) -> bool {
        let terms = texts.iter().flat_map(|text| search::tokens::terms(text));
        let found: HashSet<String> = terms.map(|term| term.key).collect();
        self.0.iter().all(|word| found.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_what_is_its_own() {
        let item = |agent_id, scope, scope_name: &str| MemoryItem {
            agent_id,
            scope,
            scope_name: scope_name.to_owned(),
            ..recall::tests::item(1, "The user likes tabs")
        };
        let (alone, on_box) = (Reader::Own { project: None }, Reader::Own { project: Some("box") });
        let (coder, writer) = (Reader::OfGroup { agent: 1 }, Reader::OfGroup { agent: 2 });
        let table = [
            (item(None, MemoryScope::User, ""), [true, true, false, false]),
            (item(None, MemoryScope::Project, "box"), [false, true, false, false]),
            (item(None, MemoryScope::Project, "desk"), [false, false, false, false]),
            (item(None, MemoryScope::Agent, ""), [false, false, false, false]),
            (item(Some(1), MemoryScope::Agent, ""), [false, false, true, false]),
            (item(Some(1), MemoryScope::User, ""), [false, false, false, false]),
            (item(Some(2), MemoryScope::Agent, ""), [false, false, false, true]),
        ];
        for (item, expected) in table {
            let seen = [alone, on_box, coder, writer].map(|reader| reaches(&item, reader));
            assert_eq!(seen, expected, "{:?} {:?} {}", item.agent_id, item.scope, item.scope_name);
        }
    }

    #[test]
    fn what_is_about_something_has_all_of_its_words() {
        let texts = ["deploys".to_owned(), "The server in 臺灣 is called Formosa".to_owned()];
        for about in ["formosa", "台湾", "deploy server"] {
            assert!(About::of(about).unwrap().is_in(&texts), "{about}");
        }
        assert!(!About::of("formosa laptop").unwrap().is_in(&texts) && About::of(" - ").is_none());
    }
}
