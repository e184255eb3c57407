//! What agents remember of a user.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::words::{MemoryKind, MemoryMode, MemoryScope, MemorySource};

/// A memory, or a proposal of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryView {
    /// The id.
    pub id: i64,
    /// Its kind.
    #[serde(default)]
    #[schema(required)]
    pub kind: MemoryKind,
    /// Its reach.
    #[serde(default)]
    #[schema(required)]
    pub scope: MemoryScope,
    /// The machine or the role that it is for; empty for all of the user's chats.
    #[serde(default)]
    #[schema(required)]
    pub scope_name: String,
    /// A short name; may be empty.
    #[serde(default)]
    #[schema(required)]
    pub name: String,
    /// The text.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// Where it came from.
    #[serde(default)]
    #[schema(required)]
    pub source: MemorySource,
    /// The chat that it came from.
    #[schema(required)]
    pub chat_id: Option<String>,
    /// The message that it came from.
    #[schema(required)]
    pub message_id: Option<i64>,
    /// Whether it waits for the user: it is not used before they accept it.
    #[serde(default)]
    #[schema(required)]
    pub proposed: bool,
    /// The memory that a proposal would change.
    #[schema(required)]
    pub replaces: Option<i64>,
    /// Since when it holds, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub valid_from: i64,
    /// Until when it holds; null for good.
    #[schema(required)]
    pub valid_to: Option<i64>,
    /// The memory that holds in its place.
    #[schema(required)]
    pub superseded_by: Option<i64>,
    /// The number of its text, from 1.
    #[serde(default)]
    #[schema(required)]
    pub revision: i64,
    /// When it was added, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// When it was last changed.
    #[serde(default)]
    #[schema(required)]
    pub updated_at: i64,
}

/// An earlier text of a memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryRevisionView {
    /// Its number.
    pub revision: i64,
    /// The name it had.
    #[serde(default)]
    #[schema(required)]
    pub name: String,
    /// The text.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// Who replaced it.
    #[serde(default)]
    #[schema(required)]
    pub replaced_by: MemorySource,
    /// When, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub replaced_at: i64,
}

/// A memory with its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryDetail {
    /// The memory.
    pub memory: MemoryView,
    /// Its earlier texts, the latest first.
    #[serde(default)]
    #[schema(required)]
    pub history: Vec<MemoryRevisionView>,
}

/// The memories to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// Only those that have words of this text, the best match first.
    #[serde(default)]
    pub q: Option<String>,
}

/// A memory to keep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewMemory {
    /// Its kind; `semantic` without one.
    #[serde(default)]
    pub kind: Option<MemoryKind>,
    /// The machine that it is for; without one it is for all chats.
    #[serde(default)]
    pub project: Option<String>,
    /// A short name; for a core block `persona`, `user` or `project`.
    #[serde(default)]
    pub name: Option<String>,
    /// The text, at most 4 KiB; a core block at most 2,000 characters.
    pub text: String,
    /// Until when it holds, in Unix milliseconds; without one for good.
    #[serde(default)]
    pub valid_to: Option<i64>,
}

/// A change to a memory: what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryEdit {
    /// The name.
    #[serde(default)]
    pub name: Option<String>,
    /// The text.
    #[serde(default)]
    pub text: Option<String>,
    /// Until when it holds, in Unix milliseconds; 0 for good.
    #[serde(default)]
    pub valid_to: Option<i64>,
}

/// What is to be forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ForgetAbout {
    /// Every memory that has all words of this text, now or in an earlier text.
    pub about: String,
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// How many memories and proposals.
    pub count: u64,
}

/// How the caller's agents remember.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemorySettingsView {
    /// The mode.
    #[serde(default)]
    #[schema(required)]
    pub mode: MemoryMode,
    /// Whether chats that end are looked through for what may be worth keeping, with a call of the swift model. What it finds is proposed.
    #[serde(default)]
    #[schema(required)]
    pub from_chats: bool,
}
