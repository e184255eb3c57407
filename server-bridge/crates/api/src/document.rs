//! The documents in messages: the result of a command, the actions of a model.
//!
//! They are stored unchanged and never rewritten: to change one, add an optional field.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use crate::approval::{ApprovalDocument, ApprovalPart, ApprovalPlace};
use crate::card::CardDocument;
use crate::words::{ExecStatus, TodoStatus, ToolStatus, TurnStatus};

/// The JSON document of a message that shows a command; clients of the HTTP interface read it unchanged.
///
/// To change it: add an optional field. Stored documents are never rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecDocument {
    /// The id of the exec, 32 hex digits.
    #[serde(default)]
    #[schema(required)]
    pub exec_id: String,
    /// The command, truncated to 4 KiB.
    #[serde(default)]
    #[schema(required)]
    pub command: String,
    /// The state of the command.
    #[serde(default)]
    #[schema(required)]
    pub status: ExecStatus,
    /// The command's exit code, if it exited.
    #[schema(required)]
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it.
    #[schema(required)]
    pub signal: Option<i32>,
    /// How long it ran, in milliseconds.
    #[schema(required)]
    pub duration_ms: Option<u64>,
    /// The place where it ran, as shown to the user: a runner's name, `__docker__` or `none`.
    #[schema(required)]
    pub runner: Option<String>,
    /// Whether the sandbox denied the command access to something.
    #[serde(default)]
    #[schema(required)]
    pub sandbox_denied: bool,
    /// Whether some of its output was discarded.
    #[serde(default)]
    #[schema(required)]
    pub truncated: bool,
    /// The length of its whole standard output, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub stdout_bytes: u64,
    /// The length of its whole standard error, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub stderr_bytes: u64,
    /// The file in its workspace that contains the full output, if the message has only the beginning and the end of it.
    #[schema(required)]
    pub output_path: Option<String>,
    /// What went wrong and what to do next; while the command runs, the reason why its output is delayed.
    #[schema(required)]
    pub error: Option<String>,
}

/// The part of an agent's message besides its text, as clients read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentDocument {
    /// An answer of the model. The first one of a turn represents the whole turn.
    Reply {
        /// The state of the turn; for a later answer always `done`.
        #[serde(default)]
        #[schema(required)]
        status: TurnStatus,
        /// The model's reasoning, if it reports any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// Why the turn did not end well, and what to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        error: Option<String>,
        /// The usage of the turn, once it has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        usage: Option<UsageDocument>,
        /// While it is queued: true if it waits only for answers in other chats.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
    },
    /// A tool call; the message's text is its result.
    Tool {
        /// The name of the tool.
        #[serde(default)]
        #[schema(required)]
        tool: String,
        /// The call's subject: a command, a path, a pattern.
        #[serde(default)]
        #[schema(required)]
        hint: String,
        /// The state of the call.
        #[serde(default)]
        #[schema(required)]
        status: ToolStatus,
        /// The place where it ran.
        #[schema(required)]
        place: Option<String>,
        /// While it waits for an answer: its question, or everything that the user is asked to allow, as text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
        /// While it waits for approval: the same request, structured for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        approval: Option<Box<ApprovalDocument>>,
        /// Besides the text: what the call asks or shows, structured for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        data: Option<ToolData>,
        /// The sub-agent that it called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        sub_agent: Option<Box<SubAgentDocument>>,
        /// The sub-agent that asks, if it is not the chat's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        asked_by: Option<String>,
        /// How long it took, once it has ended, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        duration_ms: Option<u64>,
    },
}

/// Structured data of a tool call, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolData {
    /// The call waits for approval, and can be allowed only this once, not for good.
    Once,
    /// While it asks a question: the answers to choose from; the user may always give another one.
    Question {
        /// The answers, in their order.
        options: Vec<String>,
    },
    /// The model's to-do list.
    Todos {
        /// The items, in the model's order.
        items: Vec<TodoDocument>,
    },
    /// A change of a file.
    Edit {
        /// The old text; absent for a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        old: Option<String>,
        /// The new text.
        new: String,
        /// The line of the file at which both texts begin, counted from 1.
        first_line: usize,
        /// Whether the change is longer than what is shown.
        is_cut: bool,
    },
    /// A card that the agent is building or has sent.
    Card {
        /// The card as it is now.
        card: Box<CardDocument>,
    },
}

/// An item of the model's to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TodoDocument {
    /// The task, in words.
    pub content: String,
    /// The item's progress.
    pub status: TodoStatus,
}

/// The usage of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageDocument {
    /// Tokens that the model read.
    #[serde(default)]
    #[schema(required)]
    pub input_tokens: u64,
    /// The number of those that came from the provider's cache.
    #[serde(default)]
    #[schema(required)]
    pub cache_read_tokens: u64,
    /// Tokens that it wrote.
    #[serde(default)]
    #[schema(required)]
    pub output_tokens: u64,
    /// The cost, in millionths of a US dollar, if the price is known.
    #[serde(default)]
    #[schema(required)]
    pub cost_micros: u64,
}

/// The state of a sub-agent, as the card of its call shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubAgentDocument {
    /// The sub-agent's own chat, whose messages show everything that it did.
    pub chat_id: String,
    /// The role that it was called with, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub role: Option<String>,
    /// The name by which it can be called again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub instance: Option<String>,
    /// How many tools it called in this call.
    #[serde(default)]
    #[schema(required)]
    pub steps: u32,
    /// The latest of those tools, and its subject.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// The usage of this call, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub usage: Option<UsageDocument>,
    /// True if the call does not wait for the sub-agent: the card shows it as running until it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}
