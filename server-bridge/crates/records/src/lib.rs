//! The plain types by which the crates of the server speak of users, chats, messages and turns.
//!
//! `store` keeps them and the engine works with them; neither knows the other. There is no logic here but reading and writing ids,
//! no I/O, and no SQL: `store` alone asks for the feature `sqlx`, by which it reads and writes these types as rows.
//!
//! | module | holds |
//! |---|---|
//! | `ids` | one type for each kind of id |
//! | `conversation` | the items of a conversation, and what lies over them |
//! | `turn` | how a turn stands, and what it took |
//! | `people` | users, and sub-agents |
//! | `unseen` | characters that nobody sees |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod conversation;
mod ids;
mod people;
mod turn;
mod unseen;

pub use conversation::{
    BegunCall, Compaction, ContextEdit, Mask, NewCompaction, PromptCount, StoredContext, TurnItem,
};
pub use ids::{AuditId, ChatId, ExecId, ItemId, KeyId, MessageId, RunnerId, TurnId, UserId, hex};
pub use people::{SubAgent, User};
pub use turn::{Spent, TurnStatus, TurnUsage};
pub use unseen::is_unseen;

/// A text that is none of what it was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What it should have been: `chat id`.
    pub what: &'static str,
    /// The rule it breaks, as the rest of a sentence.
    pub rule: &'static str,
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the {} {}", self.what, self.rule)
    }
}

impl std::error::Error for Invalid {}
