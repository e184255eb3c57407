//! The plain types that the crates of the server share for users, chats, messages and turns.
//!
//! `store` stores them and the engine works with them; neither depends on the other. There is no logic here except parsing and
//! formatting ids, no I/O, and no SQL: only `store` enables the feature `sqlx`, with which it reads and writes these types as
//! rows.
//!
//! | module | contents |
//! |---|---|
//! | `ids` | one type for each kind of id |
//! | `conversation` | the items of a conversation, and the layers over them |
//! | `turn` | a turn's status and usage |
//! | `people` | users, and sub-agents |
//! | `unseen` | invisible characters |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod conversation;
mod ids;
mod people;
mod turn;
mod unseen;

pub use conversation::{
    BegunCall, Compaction, ContextEdit, Mask, NewCompaction, PromptCount, StoredContext, TurnItem,
};
pub use ids::{
    AuditId, ChatId, ChunkId, CollectionId, DocumentId, ExecId, ItemId, JobId, KeyId, MessageId, RunnerId,
    TurnId, UserId, hex, unhex,
};
pub use people::{SubAgent, User};
pub use turn::{Spent, TurnStatus, TurnUsage};
pub use unseen::is_unseen;

/// The error for a text that could not be parsed as the expected kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The expected kind of value, such as `chat id`.
    pub what: &'static str,
    /// The rule that the text breaks, as the end of a sentence: `must be 32 hexadecimal digits`.
    pub rule: &'static str,
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the {} {}", self.what, self.rule)
    }
}

impl std::error::Error for Invalid {}
