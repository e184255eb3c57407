//! Users, and the agents that agents call.

use crate::{ChatId, MessageId, TurnStatus, UserId};

/// A person who may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct User {
    /// The id of the user's row.
    pub id: UserId,
    /// The name, unique on this server.
    pub name: String,
    /// True if the user administers the server.
    pub admin: bool,
    /// When the account was created, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// A sub-agent: an agent that another agent called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct SubAgent {
    /// The sub-agent's own conversation.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "chat_id"))]
    pub chat: ChatId,
    /// The conversation whose agent called it.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "parent_id"))]
    pub parent: ChatId,
    /// The message in that conversation that shows its last call.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "message_id"))]
    pub message: Option<MessageId>,
    /// The sub-agent's role, if it has one.
    pub role: Option<String>,
    /// The name by which it can be called again, if it has one.
    pub instance: Option<String>,
    /// The runner that it works on, if one was named; otherwise it works where its parent does.
    pub place: Option<String>,
    /// The absolute path of its worktree, if it works in one. The worktree itself is removed after a call that left nothing in it, and created again
    /// for the next call.
    pub worktree: Option<String>,
    /// The tools it may use, as JSON text that only the engine interprets.
    pub tools_json: String,
    /// The beginning of its first task, as a title.
    pub title: String,
    /// The status of its last turn, once there is one.
    pub status: Option<TurnStatus>,
    /// When it was created, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it was last called, or answered, in Unix milliseconds.
    pub used_at_ms: i64,
}
