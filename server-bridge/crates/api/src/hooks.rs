//! Hooks: commands and requests that run at certain points in a model's turn.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ExtensionLayer, HookState};

/// The hooks that apply to a user at a place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookList {
    /// The hooks, in the order in which they run; those that do not run come last.
    #[serde(default)]
    #[schema(required)]
    pub hooks: Vec<HookView>,
    /// What is wrong with the documents that define them, or with the machine that has some of them.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<String>,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookView {
    /// Its id, which stays the same as long as the hook does.
    pub id: String,
    /// The SHA-256 of what it runs and when; approvals are given to it.
    pub hash: String,
    /// The event, by our name.
    pub event: String,
    /// The calls that it asks for, as it was written; empty for all.
    #[serde(default)]
    #[schema(required)]
    pub matcher: String,
    /// The kind of its handler, such as `command` or `http`.
    pub kind: String,
    /// What it does: the command, the address, the tool.
    pub action: String,
    /// The party that set it.
    pub layer: ExtensionLayer,
    /// The file or plugin that defines it.
    #[serde(default)]
    #[schema(required)]
    pub origin: String,
    /// The files of the workspace that its approval covers; empty for a hook that needs none.
    #[serde(default)]
    #[schema(required)]
    pub files: Vec<String>,
    /// What it may run that the approval does not cover, in words: variables, patterns, directories, programs that choose files
    /// themselves.
    #[serde(default)]
    #[schema(required)]
    pub unseen: Vec<String>,
    /// Whether it runs; if not, the reason.
    pub state: HookState,
}

/// The user's own document of hooks, in the form of `hooks.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookDocument {
    /// The text, at most 256 KiB; null if there is none, and to remove it.
    #[serde(default)]
    #[schema(required)]
    pub text: Option<String>,
}

/// An approval of a workspace's hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookApproval {
    /// The hash of what was looked at.
    pub hash: String,
}

/// A run of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookRunView {
    /// When it began, in Unix milliseconds.
    pub at: i64,
    /// The chat.
    pub chat_id: String,
    /// The hook's id.
    pub hook: String,
    /// The event.
    pub event: String,
    /// What it did: the command, the address.
    pub action: String,
    /// How it ended, in words: `allow`, `deny: reason`, `failed: why`, `nothing to say`.
    pub outcome: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}
