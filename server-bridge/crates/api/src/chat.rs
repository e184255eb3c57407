//! Conversations and their messages. Times are Unix milliseconds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::{AgentDocument, ExecDocument};
use crate::words::{Channel, Role};

/// A conversation. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatView {
    /// Its id.
    pub id: String,
    /// Its title.
    #[serde(default)]
    #[schema(required)]
    pub title: String,
    /// The place this chat is bound to, whatever the active runner is.
    #[schema(required)]
    pub runner: Option<String>,
    /// When it was begun.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// When something last happened in it.
    #[serde(default)]
    #[schema(required)]
    pub updated_at: i64,
    /// Where it was found by what was said in it: what has the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundView>,
}

/// A message that has the words that were looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundView {
    /// Its id.
    pub message_id: i64,
    /// What stands around the first word.
    pub excerpt: String,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageView {
    /// Its id: later messages have larger ones.
    pub id: i64,
    /// Its conversation.
    #[serde(default)]
    #[schema(required)]
    pub chat_id: String,
    /// Its author.
    #[serde(default)]
    #[schema(required)]
    pub role: Role,
    /// What it says.
    #[serde(default)]
    #[schema(required)]
    pub text: String,
    /// Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// For the role `exec`: what ran and how it ended.
    #[serde(default, deserialize_with = "crate::lenient::document")]
    #[schema(required)]
    pub exec: Option<ExecDocument>,
    /// For the role `assistant`: an answer, or a tool that was called; its `kind` says which.
    #[serde(default, deserialize_with = "crate::lenient::document")]
    #[schema(required)]
    pub agent: Option<AgentDocument>,
    /// Whether it was taken back, and is no part of the conversation any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Where messages are asked for: what was told of one under way, as its events told it, and its text does not hold
    /// yet; the newest 256 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<LiveView>,
}

/// Something that was told of a message under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveView {
    /// The part of the message it belongs to.
    pub channel: Channel,
    /// How much was told of the message before, in UTF-16 code units; an `output` event of the message says the same.
    pub at: u64,
    /// The text.
    pub text: String,
}

/// Some messages, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessagePage {
    /// The messages.
    pub messages: Vec<MessageView>,
    /// Whether there are older ones; where `after` was asked for, newer ones.
    #[serde(default)]
    #[schema(required)]
    pub more: bool,
}

/// What is known at once; the rest comes as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PostedView {
    /// The messages that are there by now.
    #[serde(default)]
    #[schema(required)]
    pub messages: Vec<MessageView>,
    /// The conversation to switch to, if the message began one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatView>,
    /// Where nothing came of the message: why, for programs; its answer says it in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a client may put back into its input: the message that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// A way to write a slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommandView {
    /// What it is called, without the slash.
    #[serde(default)]
    #[schema(required)]
    pub word: String,
    /// How it is written: `/undo --force`.
    pub usage: String,
    /// What it does.
    #[serde(default)]
    #[schema(required)]
    pub about: String,
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
