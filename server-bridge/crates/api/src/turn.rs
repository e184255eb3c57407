//! Answers to a model's questions, and undo.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::chat::MessageView;
use crate::words::Approval;

/// An answer to what a model asks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalAnswer {
    /// The message that shows the waiting tool.
    pub message_id: i64,
    /// Whether it may go on.
    pub allow: bool,
    /// Whether the calls that `always` of the question describes are allowed in this chat from now on, without asking.
    #[serde(default)]
    pub always: bool,
    /// Whether nobody can be asked, as when a program talks to the model: the tool is denied, and the model gets the reason.
    #[serde(default)]
    pub nobody: bool,
}

/// How much a chat's model may do without asking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalMode {
    /// The mode.
    pub mode: Approval,
}

/// An answer to a question of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuestionAnswer {
    /// The message that shows the question.
    pub message_id: i64,
    /// The answer, of 64 KiB at most; null if nobody can give one.
    pub text: Option<String>,
}

/// How the last message is taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Undo {
    /// Whether files are also restored if somebody else has changed them since.
    #[serde(default)]
    pub force: bool,
}

/// What is taken back: the last `turns` messages, or `message_id` and everything after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rewind {
    /// How many messages.
    pub turns: Option<usize>,
    /// The first message that is taken back.
    pub message_id: Option<i64>,
    /// Whether their files are restored too.
    #[serde(default)]
    pub files: bool,
    /// Whether files are restored that somebody else has changed since.
    #[serde(default)]
    pub force: bool,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TakenBackView {
    /// The first message that was taken back, to be changed and sent again.
    pub text: String,
    /// How many messages.
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
    /// How many commands ran; what they changed stays.
    #[serde(default)]
    #[schema(required)]
    pub commands: i64,
    /// The notice in the conversation.
    pub notice: MessageView,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FileView {
    /// The machine it is on.
    pub place: String,
    /// Its path.
    #[serde(default)]
    #[schema(required)]
    pub path: String,
    /// Why it was not restored.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::language::text")]
    pub error: Option<String>,
}
