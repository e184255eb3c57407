//! Answers to a model's questions, and undo.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::chat::MessageView;
use crate::words::Approval;

/// An answer to a model's request for approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalAnswer {
    /// The message that shows the waiting tool.
    pub message_id: i64,
    /// Whether the tool may run.
    pub allow: bool,
    /// Whether the calls that the question's `always` describes are allowed in this chat from now on, without asking.
    #[serde(default)]
    pub always: bool,
    /// Whether there is no person to ask, as when a program talks to the model: the tool is denied, and the model gets the reason.
    #[serde(default)]
    pub nobody: bool,
}

/// How much a chat's model may do without asking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalMode {
    /// The chat's approval mode.
    pub mode: Approval,
}

/// An answer to a question of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuestionAnswer {
    /// The message that shows the question.
    pub message_id: i64,
    /// The answer, at most 64 KiB; null if there is no person to give one.
    pub text: Option<String>,
}

/// The options for undoing the last message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Undo {
    /// Whether files are restored even if somebody else has changed them since.
    #[serde(default)]
    pub force: bool,
}

/// The messages to take back: the last `turns` messages, or `message_id` and everything after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rewind {
    /// The number of messages.
    pub turns: Option<usize>,
    /// The first message to take back.
    pub message_id: Option<i64>,
    /// Whether their files are restored too.
    #[serde(default)]
    pub files: bool,
    /// Whether files are restored even if somebody else has changed them since.
    #[serde(default)]
    pub force: bool,
}

/// The result of taking messages back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TakenBackView {
    /// The first message that was taken back, to be changed and sent again.
    pub text: String,
    /// The number of messages that were taken back.
    #[serde(default)]
    #[schema(required)]
    pub turns: usize,
    /// The restored files.
    #[serde(default)]
    #[schema(required)]
    pub restored: Vec<FileView>,
    /// The files that were not restored.
    #[serde(default)]
    #[schema(required)]
    pub not_restored: Vec<FileView>,
    /// The number of commands that ran in those messages; what they changed stays.
    #[serde(default)]
    #[schema(required)]
    pub commands: i64,
    /// The notice in the conversation.
    pub notice: MessageView,
}

/// A file that was changed in those messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FileView {
    /// The machine it is on.
    pub place: String,
    /// The file's path.
    #[serde(default)]
    #[schema(required)]
    pub path: String,
    /// Why it was not restored.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::language::text")]
    pub error: Option<String>,
}
