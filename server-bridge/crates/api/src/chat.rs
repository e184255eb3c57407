//! Conversations and their messages. Times are Unix milliseconds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::{AgentDocument, ExecDocument};
use crate::tui::ClientId;
use crate::usage::Sum;
use crate::words::{Approval, Channel, Role, TurnStatus};

/// A conversation. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatView {
    /// The conversation's id.
    pub id: String,
    /// The conversation's title.
    #[serde(default)]
    #[schema(required)]
    pub title: String,
    /// The place this chat is bound to; it takes precedence over the active runner.
    #[schema(required)]
    pub runner: Option<String>,
    /// When it was created.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// The time of its latest activity.
    #[serde(default)]
    #[schema(required)]
    pub updated_at: i64,
    /// The message that contains the words, if the search found them in a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundView>,
}

/// A message that contains the words of the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundView {
    /// The id of that message.
    pub message_id: i64,
    /// The text around the first word.
    pub excerpt: String,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageView {
    /// The message's id: later messages have larger ones.
    pub id: i64,
    /// The id of its conversation.
    #[serde(default)]
    #[schema(required)]
    pub chat_id: String,
    /// The role of its author.
    #[serde(default)]
    #[schema(required)]
    pub role: Role,
    /// The id of the account of the person who wrote or ran it; null for messages of agents, the server, automations and groups.
    #[schema(required)]
    pub author: Option<i64>,
    /// The text of the message, as people read it.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// When it was created, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// For the role `exec`: what ran and how it ended.
    #[serde(default, deserialize_with = "crate::lenient::document")]
    #[schema(required)]
    pub exec: Option<ExecDocument>,
    /// For the role `assistant`: an answer or a tool call, depending on its `kind`.
    #[serde(default, deserialize_with = "crate::lenient::document")]
    #[schema(required)]
    pub agent: Option<AgentDocument>,
    /// Whether it was undone, and is no longer part of the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// In lists, for a message in progress: the output that events have reported and its text does not contain yet; the newest 256 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<LiveView>,
}

/// A piece of output of a message in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveView {
    /// The part of the message it belongs to.
    pub channel: Channel,
    /// How much of the message was reported before, in UTF-16 code units, like `at` in an `output` event.
    pub at: u64,
    /// The piece of output.
    pub text: String,
}

/// A page of messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessagePage {
    /// The messages, the oldest first.
    pub messages: Vec<MessageView>,
    /// Whether there are older messages, or, with `after`, newer ones.
    #[serde(default)]
    #[schema(required)]
    pub more: bool,
}

/// The immediate result of a posted message; everything else arrives as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PostedView {
    /// The messages that have been created so far.
    #[serde(default)]
    #[schema(required)]
    pub messages: Vec<MessageView>,
    /// The conversation to switch to, if the message began one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatView>,
    /// If the message had no effect: the reason, for programs. The server's reply in `messages` has the reason as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The text of the message that was undone, for the client to put back into its input field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// A way to write a slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommandView {
    /// The command's name, without the slash.
    #[serde(default)]
    #[schema(required)]
    pub word: String,
    /// The command's syntax, such as `/undo --force`.
    pub usage: String,
    /// What it does.
    #[serde(default)]
    #[schema(required)]
    pub about: String,
}

/// A message that the user posts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewMessage {
    /// A message, a slash command, or `!` and a shell command.
    pub text: String,
    /// An id that the client chooses, up to 64 characters, so that it can repeat a request that got no response: a message with the same id
    /// in this chat counts as the same message, and gets the same response.
    #[serde(default)]
    pub send_id: Option<String>,
    /// The paths that uploads to this chat returned, 16 at most, each alone or as `PATH on PLACE` with the place that the
    /// upload returned, so that the message contains the file's place; the text may be empty then.
    #[serde(default)]
    pub attachments: Vec<String>,
    /// The id of the terminal UI in which it was written: the agent that answers it can operate that terminal. Other clients send none.
    #[serde(default)]
    pub client_id: Option<ClientId>,
}

/// The result of a cancellation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Cancelled {
    /// The number of commands that were asked to stop.
    #[serde(default)]
    #[schema(required)]
    pub cancelled: usize,
}

/// A new title for a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewTitle {
    /// At most 200 characters.
    pub title: String,
}

/// The part of a conversation to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fork {
    /// The last message to copy, with its effects; if absent, the whole conversation is copied.
    #[serde(default)]
    pub message_id: Option<i64>,
}

/// A conversation as a JSON file. The server streams it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExportView {
    /// The version of this format: 1.
    pub version: u32,
    /// The conversation.
    pub chat: ChatView,
    /// All its messages, the oldest first.
    #[serde(default)]
    #[schema(required)]
    pub messages: Vec<MessageView>,
}

/// A conversation and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatDetail {
    /// The conversation.
    #[serde(flatten)]
    pub chat: ChatView,
    /// How much its model may do without asking.
    #[serde(default)]
    #[schema(required)]
    pub approval: Approval,
    /// The model that was chosen for it, or else for all chats; null if the first subscription answers.
    #[schema(required)]
    pub model: Option<String>,
    /// Whether a model is available to its user.
    #[serde(default)]
    #[schema(required)]
    pub model_configured: bool,
    /// The current directory of its agent, relative to the workspace.
    #[serde(default)]
    #[schema(required)]
    pub cwd: String,
    /// Whether an answer or a command is in progress.
    #[serde(default)]
    #[schema(required)]
    pub busy: bool,
    /// The usage of its model's context window; null if no model answers.
    #[schema(required)]
    pub context: Option<ContextView>,
    /// The conversation's usage, sub-agents included.
    #[serde(default)]
    #[schema(required)]
    pub usage: Sum,
    /// For a sub-agent's conversation: the conversation whose agent called it.
    #[schema(required)]
    pub parent_id: Option<String>,
}

/// The usage of a context window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContextView {
    /// The approximate number of tokens that the next call to the model begins with.
    pub used_tokens: usize,
    /// The size of the window, in tokens.
    #[serde(default)]
    #[schema(required)]
    pub window_tokens: usize,
    /// The model, as `SUBSCRIPTION/MODEL`.
    #[serde(default)]
    #[schema(required)]
    pub model: String,
}

/// A sub-agent. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubAgentView {
    /// The sub-agent's own chat, whose messages can be read, and which can be cancelled, like any other.
    pub chat_id: String,
    /// The message that shows its last call.
    #[schema(required)]
    pub message_id: Option<i64>,
    /// The role that it was called with, if any.
    #[schema(required)]
    pub role: Option<String>,
    /// The name by which it can be called again.
    #[schema(required)]
    pub instance: Option<String>,
    /// The beginning of its first task.
    #[serde(default)]
    #[schema(required)]
    pub title: String,
    /// The status of its last call.
    #[schema(required)]
    pub status: Option<TurnStatus>,
    /// When it was first called.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// When it was last called, or last answered.
    #[serde(default)]
    #[schema(required)]
    pub used_at: i64,
}

/// A file that was attached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentView {
    /// The path that the message contains, relative to the workspace.
    pub path: String,
    /// The name of the file.
    #[serde(default)]
    #[schema(required)]
    pub name: String,
    /// The file's place: a runner's name, `__docker__` or `none`.
    #[serde(default)]
    #[schema(required)]
    pub place: String,
    /// The size of the file, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub size_bytes: u64,
    /// Whether the file is an image that the agent can view.
    #[serde(default)]
    #[schema(required)]
    pub is_image: bool,
}

/// The place where a chat's commands run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunnerChoice {
    /// A runner's name, `__docker__` or `none`; null to follow the active runner.
    #[serde(default)]
    pub runner: Option<String>,
}

/// A chat whose place for commands was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BoundView {
    /// The chat, with its new place.
    pub chat: ChatView,
    /// Why a command would not run there now, and what to do.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub warning: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_of_another_version_is_read_as_far_as_it_is_known() {
        let message: MessageView = serde_json::from_value(json!({
            "id": 7, "role": "oracle", "text": "hm", "agent": {"kind": "vision", "depth": 3}, "colour": "blue",
        }))
        .unwrap();
        assert_eq!((message.role.as_str(), message.agent, message.exec), ("oracle", None, None));
        let message: MessageView =
            serde_json::from_value(json!({"id": 7, "agent": {"kind": "reply", "status": "paused"}})).unwrap();
        let written = serde_json::to_value(&message).unwrap();
        assert_eq!(written["agent"], json!({"kind": "reply", "status": "paused"}));
    }
}
