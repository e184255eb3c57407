//! Answers to a model's questions, and undo.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::chat::MessageView;
use crate::words::Approval;

/// An answer to what a model asks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalAnswer {
    /// The message that shows the tool which waits.
    pub message_id: i64,
    /// Whether it may go on.
    pub allow: bool,
    /// Whether the calls that `always` of the question describes are allowed in this chat from now on, without asking.
    #[serde(default)]
    pub always: bool,
    /// Whether nobody is there to ask, as when a program talks to the model: the tool may not go on, and the model is told why.
    #[serde(default)]
    pub nobody: bool,
}

/// How much a chat's model may do without asking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalMode {
    /// How much.
    pub mode: Approval,
}

/// An answer to a question of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuestionAnswer {
    /// The message that shows the question.
    pub message_id: i64,
    /// The answer, of 64 KiB at most; null where nobody is there to give one.
    pub text: Option<String>,
}

/// How the last message is taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Undo {
    /// Whether files are restored that somebody else has changed since.
    #[serde(default)]
    pub force: bool,
}

/// What is taken back: the last `turns` messages, or `message_id` and all behind it.
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
    /// The first message that was taken back, to be changed and said again.
    pub text: String,
    /// How many messages.
    #[serde(default)]
    #[schema(required)]
    pub turns: usize,
    /// The files that are as they were before.
    #[serde(default)]
    #[schema(required)]
    pub restored: Vec<FileView>,
    /// The files that are not.
    #[serde(default)]
    #[schema(required)]
    pub not_restored: Vec<FileView>,
    /// How many commands ran; what they changed stays.
    #[serde(default)]
    #[schema(required)]
    pub commands: i64,
    /// What tells all that in the conversation.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
