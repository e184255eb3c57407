//! Memories: what agents remember about a user, and what the user's agents in groups remember.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::words::{MemoryKind, MemoryMode, MemoryScope, MemorySource};

/// A memory, or a proposal of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryView {
    /// The id of the memory.
    pub id: i64,
    /// The kind of memory: core, semantic, episodic or procedural.
    #[serde(default)]
    #[schema(required)]
    pub kind: MemoryKind,
    /// The chats that it applies to.
    #[serde(default)]
    #[schema(required)]
    pub scope: MemoryScope,
    /// The name of the machine that it applies to; empty for other scopes.
    #[serde(default)]
    #[schema(required)]
    pub scope_name: String,
    /// The agent of a group that remembers it; null for the user's own.
    #[serde(default)]
    #[schema(required)]
    pub agent: Option<MemoryAgent>,
    /// A short name; may be empty.
    #[serde(default)]
    #[schema(required)]
    pub name: String,
    /// The text that is remembered.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// The way in which it was created.
    #[serde(default)]
    #[schema(required)]
    pub source: MemorySource,
    /// The chat that it came from.
    #[schema(required)]
    pub chat_id: Option<String>,
    /// The message that it came from.
    #[schema(required)]
    pub message_id: Option<i64>,
    /// True for a proposal, which is not used until the user accepts it.
    #[serde(default)]
    #[schema(required)]
    pub proposed: bool,
    /// The memory whose text a proposal would change.
    #[schema(required)]
    pub replaces: Option<i64>,
    /// The memories that a proposal makes untrue: they are superseded when the user accepts it.
    #[serde(default)]
    #[schema(required)]
    pub would_replace: Vec<ReplacedMemory>,
    /// The time from which it applies, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub valid_from: i64,
    /// The time until which it applies, in Unix milliseconds; null if it has no end.
    #[schema(required)]
    pub valid_to: Option<i64>,
    /// The memory that supersedes it.
    #[schema(required)]
    pub superseded_by: Option<i64>,
    /// The number of its current text, from 1; each change of the text adds 1.
    #[serde(default)]
    #[schema(required)]
    pub revision: i64,
    /// When it was added, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// When it was last changed, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub updated_at: i64,
}

/// An agent of the caller's in a group, which has its own memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryAgent {
    /// The id of the agent.
    pub id: i64,
    /// The handle, without `@`; unique in the group.
    #[serde(default)]
    #[schema(required)]
    pub handle: String,
    /// The group's id.
    #[serde(default)]
    #[schema(required)]
    pub group_id: i64,
    /// The group's title.
    #[serde(default)]
    #[schema(required)]
    pub group: String,
}

/// A memory that a proposal would replace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplacedMemory {
    /// The id of the memory.
    pub id: i64,
    /// The current text of the memory.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// The memory that has superseded it already.
    #[schema(required)]
    pub superseded_by: Option<i64>,
}

/// An earlier text of a memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryRevisionView {
    /// The number of this text, from 1.
    pub revision: i64,
    /// The name that the memory had.
    #[serde(default)]
    #[schema(required)]
    pub name: String,
    /// The text that the memory had.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// The origin of the text that replaced it.
    #[serde(default)]
    #[schema(required)]
    pub replaced_by: MemorySource,
    /// When it was replaced, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub replaced_at: i64,
}

/// A memory with its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryDetail {
    /// The memory as it is now.
    pub memory: MemoryView,
    /// The memory's earlier texts, the latest first.
    #[serde(default)]
    #[schema(required)]
    pub history: Vec<MemoryRevisionView>,
}

/// The query for memories to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// Only memories that share words with this text, the best match first.
    #[serde(default)]
    pub q: Option<String>,
    /// The id or handle of an agent of the caller's in a group: only its memories. If not given, memories of such agents are left out.
    #[serde(default)]
    pub agent: Option<String>,
    /// True for proposals only: all that wait for the caller, including those of the caller's agents in groups. Not together with `q` or `agent`.
    #[serde(default)]
    pub proposed: bool,
}

/// A memory to add.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewMemory {
    /// The memory's kind; `semantic` if not given.
    #[serde(default)]
    pub kind: Option<MemoryKind>,
    /// The name of the machine that it applies to; if not given, it applies to all chats.
    #[serde(default)]
    pub project: Option<String>,
    /// The id or handle of the caller's agent in a group that is to remember it. Not together with `project`.
    #[serde(default)]
    pub agent: Option<String>,
    /// A short name; for a core block `persona`, `user` or `project`.
    #[serde(default)]
    pub name: Option<String>,
    /// The text, at most 4 KiB; a core block at most 2,000 characters.
    pub text: String,
    /// The time until which it applies, in Unix milliseconds; if not given, it has no end.
    #[serde(default)]
    pub valid_to: Option<i64>,
    /// The ids of memories that are no longer true because of it, at most 20; they are superseded.
    #[serde(default)]
    pub replaces: Vec<i64>,
}

/// A change to a memory; fields that are not given stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryEdit {
    /// The new name.
    #[serde(default)]
    pub name: Option<String>,
    /// The new text.
    #[serde(default)]
    pub text: Option<String>,
    /// The time until which it applies, in Unix milliseconds; 0 for no end. A superseded memory applies again if its new end is not in the past.
    #[serde(default)]
    pub valid_to: Option<i64>,
}

/// The memories to forget.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ForgetAbout {
    /// The words: every memory that contains all of them, in its current or an earlier text.
    pub about: String,
    /// The id or handle of an agent of the caller's in a group: only its memories. If not given, the caller's own.
    #[serde(default)]
    pub agent: Option<String>,
}

/// The number of memories that were forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// The number of memories and proposals that were deleted.
    pub count: u64,
}

/// The caller's settings for memories.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemorySettingsView {
    /// The way in which memories become part of prompts.
    #[serde(default)]
    #[schema(required)]
    pub mode: MemoryMode,
    /// True if the swift model proposes memories from chats, with one or two calls for each of them.
    #[serde(default)]
    #[schema(required)]
    pub from_chats: bool,
}
