//! A conversation, and what is asked of a model.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is asked of a model. Everything in it is sent in the order it stands here, so that what does not change stays at the
/// front and a provider's cache can hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// What it may call.
    pub tools: Vec<Tool>,
    /// Who it is and how it shall work.
    pub system: Vec<SystemPart>,
    /// What was said so far; the last one is the user's or a tool's. Shared, so that what was written of one is known again.
    pub messages: Vec<Arc<Message>>,
    /// What holds for this call alone, told behind the last message: the next call may not have it, so no cache should.
    pub reminder: Option<String>,
    /// How many tokens it may answer with.
    pub max_tokens: u32,
    /// How much it shall think before it answers, in tokens; none asks for nothing.
    pub thinking_tokens: Option<u32>,
}

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPart {
    /// The text.
    pub text: String,
    /// True if it stays the same from call to call, so that it is worth caching.
    pub is_static: bool,
}

/// Something the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the user said.
    User(Vec<Content>),
    /// What the model answered.
    Assistant(Assistant),
    /// What a tool came to.
    Tool(ToolResult),
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// The file's bytes; base64 where they are kept.
        #[serde(with = "base64_bytes")]
        data: Bytes,
    },
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Assistant {
    /// What it thought, where it tells.
    pub reasoning: Vec<Reasoning>,
    /// What it said.
    pub text: String,
    /// What it wants called.
    pub tool_calls: Vec<ToolCall>,
}

/// A piece of what a model thought. It goes back unchanged to the provider it came from: some refuse the next call otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reasoning {
    /// The words; empty where the provider hides them.
    pub text: String,
    /// The provider's proof that the words are its model's own.
    pub signature: Option<String>,
    /// What it hides, encrypted.
    pub redacted: Option<String>,
    /// Which model thought it, in the asker's words; empty where that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub origin: String,
}

/// A tool that the model wants called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name for this call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them: JSON, if it made no mistake.
    pub arguments: String,
}

/// Arguments that are no JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not a JSON object: {0}")]
pub struct BadArguments(pub String);

impl ToolCall {
    /// The arguments as JSON; nothing at all stands for an empty object.
    ///
    /// # Errors
    /// They are something else, such as the half that a token limit left.
    pub fn parse(&self) -> Result<serde_json::Map<String, Value>, BadArguments> {
        if self.arguments.trim().is_empty() {
            return Ok(serde_json::Map::new());
        }
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err(BadArguments("another kind of value arrived".to_owned())),
            Err(error) => Err(BadArguments(error.to_string())),
        }
    }
}

/// What a tool came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's [`ToolCall::id`].
    pub call_id: String,
    /// What it gave.
    pub content: Vec<Content>,
    /// True if it failed.
    pub is_error: bool,
}

impl Content {
    /// Its text; none of an image.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Message {
    /// A user's message of text alone.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(vec![Content::Text(text.into())])
    }
}

/// Bytes as base64 text.
mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        STANDARD.encode(bytes).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Bytes::from).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> ToolCall {
        ToolCall { arguments: arguments.to_owned(), ..ToolCall::default() }
    }

    #[test]
    fn arguments_are_an_object_or_told_to_be_none() {
        assert_eq!(call(r#"{"path":"a"}"#).parse().unwrap()["path"], "a");
        assert!(call(" \n").parse().unwrap().is_empty());
        for bad in [r#"{"path":"#, "[]", "\"a\"", "null", "{}{}"] {
            assert!(call(bad).parse().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_message_that_was_kept_is_the_same_again() {
        let image = Content::Image { media_type: "image/png".to_owned(), data: vec![0, 255].into() };
        let said = Assistant {
            reasoning: vec![Reasoning { signature: Some("s".to_owned()), ..Reasoning::default() }],
            text: "x".to_owned(),
            tool_calls: vec![call("{}")],
        };
        let result = ToolResult { call_id: "1".to_owned(), content: vec![image.clone()], is_error: true };
        for message in [
            Message::User(vec!["hi".into(), image]),
            Message::Assistant(said),
            Message::Assistant(Assistant::default()),
            Message::Tool(result),
        ] {
            let kept = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_str::<Message>(&kept).unwrap(), message, "{kept}");
        }
        // What a later version adds, or an earlier one left out, is no matter.
        let older: Message = serde_json::from_str(r#"{"assistant":{"text":"x","new":1}}"#).unwrap();
        assert!(matches!(older, Message::Assistant(said) if said.text == "x"));
    }
}
