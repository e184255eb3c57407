//! Hooks: commands and requests that run at certain points in a model's turn.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::words::{ExtensionLayer, HookDecision, HookState};

/// The hooks that apply to a user at a place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookList {
    /// The hooks, in the order in which they run; those that do not run come last.
    #[serde(default)]
    #[schema(required)]
    pub hooks: Vec<HookView>,
    /// Problems with the documents that define the hooks, or with the machine that has some of these documents.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<Problem>,
    /// The functions of the server that a hook of the type `callback` may name.
    #[serde(default)]
    #[schema(required)]
    pub callbacks: Vec<CallbackView>,
}

/// A function of the server that hooks may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CallbackView {
    /// The name that a hook gives.
    pub name: String,
    /// What it does, and what its `input` may contain.
    #[serde(serialize_with = "crate::language::text")]
    pub about: String,
    /// The events at which it has an effect, by their Sandbridge names.
    pub events: Vec<String>,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookView {
    /// The hook's id, which stays the same as long as the hook does.
    pub id: String,
    /// The SHA-256 of what the hook runs and of when it runs; approvals refer to this hash.
    pub hash: String,
    /// The event, by its Sandbridge name.
    pub event: String,
    /// The pattern of the calls that it applies to, as it was written; empty for all calls.
    #[serde(default)]
    #[schema(required)]
    pub matcher: String,
    /// The kind of its handler, such as `command` or `http`.
    pub kind: String,
    /// The command that it runs, the address that it requests, or the tool that it calls.
    pub action: String,
    /// Who defined it: the administrator, the user, or a file of the workspace.
    pub layer: ExtensionLayer,
    /// The file or plugin that defines it.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub origin: String,
    /// The files of the workspace that its approval covers; empty if it covers none.
    #[serde(default)]
    #[schema(required)]
    pub files: Vec<String>,
    /// What it may run that the approval does not cover, in words: variables, patterns, directories, programs that choose files
    /// themselves.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub unseen: Vec<String>,
    /// Whether it runs, or the reason why it does not.
    pub state: HookState,
}

/// The user's own document of hooks, in the form of `hooks.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookDocument {
    /// The text, at most 256 KiB; null if there is no document, or to remove it.
    #[serde(default)]
    #[schema(required)]
    pub text: Option<String>,
}

/// An approval of a workspace's hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookApproval {
    /// The hash of the hook that the user looked at.
    pub hash: String,
}

/// A run of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookRunView {
    /// When it began, in Unix milliseconds.
    pub at: i64,
    /// The id of the chat that it ran in.
    pub chat_id: String,
    /// The hook's id.
    pub hook: String,
    /// The event at which it ran.
    pub event: String,
    /// The command that it ran, the address that it requested, or the tool that it called.
    pub action: String,
    /// How it ended, in words: `allow`, `ask`, `deny`, `defer` or `stop`, with a reason if there is one (`allow: reason`, `ask: reason`,
    /// `deny: reason`, `defer: reason`, `stop: reason`); `adds context`, `failed: why`, `nothing to say`, `goes on in the background, for at most 60 s`.
    #[serde(serialize_with = "crate::language::text")]
    pub outcome: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Hooks to test, with a sample event or with given data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookTrial {
    /// The hook: its id, or at least 8 digits of its hash; all hooks of the event if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The event; the hook's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Fields of the event as a JSON object, at most 256 KiB; missing fields are taken from the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The chat whose machine, mode and models are used. Handlers that ask a model or call a tool need a chat that has had an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
}

/// The result of a trial of hooks; the decision was not carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookTrialView {
    /// The event, by its Sandbridge name.
    pub event: String,
    /// The decision of all handlers together.
    pub decision: HookDecision,
    /// True if a denial would have an effect at this event.
    pub may_block: bool,
    /// The reasons of the handlers that decided, each with its file.
    #[serde(default)]
    #[schema(required)]
    pub reasons: Vec<String>,
    /// The additional context that the model would get.
    #[serde(default)]
    #[schema(required)]
    pub context: Vec<String>,
    /// Messages to the user.
    #[serde(default)]
    #[schema(required)]
    pub messages: Vec<String>,
    /// The failures of handlers.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub failures: Vec<String>,
    /// The new arguments of the call as a JSON object; null if they stay the same.
    #[serde(default)]
    #[schema(required)]
    pub arguments: Option<String>,
    /// The payload that the first handler got, in JSON; empty if none ran.
    #[serde(default)]
    #[schema(required)]
    pub payload: String,
    /// The handlers that ran, in order.
    #[serde(default)]
    #[schema(required)]
    pub runs: Vec<HookTrialRun>,
    /// The hooks of the event that did not run, by their ids, each with the reason.
    #[serde(default)]
    #[schema(required)]
    pub left_out: Vec<Problem>,
}

/// A handler that ran in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookTrialRun {
    /// The hook's id.
    pub hook: String,
    /// The file or plugin that defines it.
    #[serde(serialize_with = "crate::language::text")]
    pub origin: String,
    /// The kind of its handler, such as `command`.
    pub kind: String,
    /// The command that it runs, the address that it requests, or the tool that it calls.
    pub action: String,
    /// How it ended, in words: `allow`, `ask`, `deny`, `defer` or `stop`, with a reason if there is one (`allow: reason`, `ask: reason`,
    /// `deny: reason`, `defer: reason`, `stop: reason`); `adds context`, `failed: why`, `nothing to say`, `goes on in the background, for at most 60 s`.
    #[serde(serialize_with = "crate::language::text")]
    pub outcome: String,
    /// The beginning of its standard output, of its response, or of the line that a callback would write; at most 16 KiB.
    #[serde(default)]
    #[schema(required)]
    pub output: String,
    /// The beginning of its standard error; at most 16 KiB.
    #[serde(default)]
    #[schema(required)]
    pub errors: String,
    /// The exit code of a command.
    #[serde(default)]
    #[schema(required)]
    pub exit_code: Option<i32>,
    /// True if it would run in the background, and therefore decides nothing.
    pub in_background: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}
