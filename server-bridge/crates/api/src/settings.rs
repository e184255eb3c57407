//! The caller's active place, and their settings for every agent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Approval, ChoiceKind};

/// The caller's settings, and the possible choices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingsView {
    /// The active place: a runner's name, `__docker__` or `none`; null lets the server choose.
    #[schema(required)]
    pub active_runner: Option<String>,
    /// Every place that can be chosen.
    #[serde(default)]
    #[schema(required)]
    pub choices: Vec<ChoiceView>,
}

/// A place the caller could choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChoiceView {
    /// A runner's name, `__docker__` or `none`.
    pub name: String,
    /// The kind of place.
    #[serde(default)]
    #[schema(required)]
    pub kind: ChoiceKind,
    /// Whether it can be reached now.
    #[serde(default)]
    #[schema(required)]
    pub online: bool,
    /// Whether a command would run there now.
    #[serde(default)]
    #[schema(required)]
    pub available: bool,
    /// Why the place is not available, and what to do; absent if it is available.
    #[serde(serialize_with = "crate::language::text")]
    #[schema(required)]
    pub note: Option<String>,
}

/// The settings to change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingsChange {
    /// The place to choose: a runner's name, `__docker__` or `none`; null or `auto` lets the server choose.
    #[serde(default)]
    pub active_runner: Option<String>,
}

/// The settings as they are now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingsChanged {
    /// The active place: a runner's name, `__docker__` or `none`; null lets the server choose.
    #[schema(required)]
    pub active_runner: Option<String>,
    /// Why a command would not run there now, and what to do.
    #[serde(serialize_with = "crate::language::text")]
    #[schema(required)]
    pub warning: Option<String>,
}

/// A user's settings for all of their agents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PreferencesView {
    /// Instructions for every agent, in all chats; at most 32 KiB.
    #[serde(default)]
    pub instructions: Option<String>,
    /// The language to answer in; if not given, the language that the user writes in.
    #[serde(default)]
    pub language: Option<String>,
    /// The approval mode that new chats begin with; `ask` if not given.
    #[serde(default)]
    pub approval: Option<Approval>,
}

/// A kind of tool call that a user allowed for good in one of their chats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRuleView {
    /// The id of the rule.
    pub id: i64,
    /// The chat in which it applies, sub-agents of that chat included.
    pub chat_id: String,
    /// That chat's title; may be empty.
    #[serde(default)]
    #[schema(required)]
    pub chat_title: String,
    /// The tool's name.
    pub tool: String,
    /// The values that calls are compared with, part by part: for a command, its machine, directory, user and the command itself.
    #[serde(default)]
    #[schema(required)]
    pub subject: Vec<String>,
    /// The scope, in the words that the user agreed to; empty for rules made by older versions.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub scope: String,
    /// When it was allowed, in Unix milliseconds; 0 for rules made by older versions.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
}
