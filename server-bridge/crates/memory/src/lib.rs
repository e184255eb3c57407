//! What agents remember of a user, from chat to chat.
//!
//! ```text
//!   the user, on the page or the command line ─────────────────────────────► kept
//!   a model, asked by its user's own message, in a turn without other texts ─► kept
//!   a model otherwise; a chat that ended ──────────────────────────────────► proposed ──accepted by the user──► kept
//!   kept ──core blocks──► every prompt        kept ──words and meaning of the message──► the note before that message
//! ```
//! Nothing that a file, a page, a command or another agent says can become a memory without the user: such texts are not in the user's message, and
//! a turn that read one can only propose.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@write`] | writing: what is alike is skipped or updated |
//! | [`asked`] | tells if a user asked for what a model wants to keep |
//! | [`likeness`] | how alike two texts are |
//! | [`recall`] | the items that matter to a message |
//! | [`meaning`] | vectors of items, and the items whose meaning is that of a message |
//! | [`prompt`] | core blocks and notes as a prompt has them |
//! | [`mode`] | the modes, and a user's choice |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::collections::HashSet;

pub mod asked;
pub mod likeness;
pub mod limits;
pub mod meaning;
pub mod mode;
pub mod prompt;
pub mod recall;
pub mod write;

pub use meaning::Meaning;
pub use mode::Mode;
pub use store::{MemoryChange, MemoryItem, MemoryKind, MemoryRevision, MemoryScope, MemorySource, NewMemory};
pub use write::{Standing, Write, Written, write};

/// True for an item that is kept and holds at this time.
#[must_use]
pub fn holds(item: &MemoryItem, now_ms: i64) -> bool {
    !item.is_proposed
        && item.superseded_by.is_none()
        && item.valid_to_ms.is_none_or(|until_ms| now_ms < until_ms)
}

/// True for an item that reaches chats on this machine; those of agents reach sub-agents only.
#[must_use]
pub fn reaches(item: &MemoryItem, project: Option<&str>) -> bool {
    match item.scope {
        MemoryScope::User => true,
        MemoryScope::Project => project == Some(item.scope_name.as_str()),
        MemoryScope::Agent => false,
    }
}

/// What is to be forgotten, by its words.
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
    use super::About;

    #[test]
    fn what_is_about_something_has_all_of_its_words() {
        let texts = ["deploys".to_owned(), "The server in 臺灣 is called Formosa".to_owned()];
        for about in ["formosa", "台湾", "deploy server"] {
            assert!(About::of(about).unwrap().is_in(&texts), "{about}");
        }
        assert!(!About::of("formosa laptop").unwrap().is_in(&texts) && About::of(" - ").is_none());
    }
}
