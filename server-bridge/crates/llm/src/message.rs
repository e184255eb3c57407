//! A conversation, and a request to a model.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request to a model. Its parts are sent in this order, so that unchanging ones come first and a provider's cache can
/// hold them.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The provider's name for the model.
    pub model: String,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// The model's identity and instructions.
    pub system: Vec<SystemPart>,
    /// The messages so far; the last one is the user's or a tool's. Shared, so that a message that was already serialised is recognised.
    pub messages: Vec<Arc<Message>>,
    /// A text for this call only, after the last message: the next call may lack it, so it must not be cached.
    pub reminder: Option<String>,
    /// The limit on the answer, in tokens.
    pub max_tokens: u32,
    /// The tokens that the model may use for reasoning; `None` requests no reasoning.
    pub thinking_tokens: Option<u32>,
}

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPart {
    /// The text of this part.
    pub text: String,
    /// True if it stays the same from call to call, so that caching is worthwhile.
    pub is_static: bool,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The tool's name, `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// The tool's purpose, and when to use it.
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The user's message.
    User(Vec<Content>),
    /// The model's answer.
    Assistant(Assistant),
    /// A tool's result.
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
        /// The media type, such as `image/png`.
        media_type: String,
        /// The file's bytes; base64 in the stored form.
        #[serde(with = "base64_bytes")]
        data: Bytes,
    },
}

/// A model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Assistant {
    /// The model's reasoning, if it reports any.
    pub reasoning: Vec<Reasoning>,
    /// The text of the answer.
    pub text: String,
    /// The calls that it requests.
    pub tool_calls: Vec<ToolCall>,
}

/// A piece of a model's reasoning. It is sent back unchanged to the provider it came from: some refuse the next call
/// otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reasoning {
    /// The text; empty if the provider hides it.
    pub text: String,
    /// The provider's proof that its model wrote the text.
    pub signature: Option<String>,
    /// Hidden reasoning, encrypted.
    pub redacted: Option<String>,
    /// The model that wrote the text, by the caller's name for the model; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub origin: String,
}

/// A tool call that the model requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name for this call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The call's arguments as the model wrote them: JSON, unless it made a mistake.
    pub arguments: String,
}

/// Arguments that are not a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not a JSON object: {0}")]
pub struct BadArguments(pub String);

impl ToolCall {
    /// The arguments as JSON; an empty text counts as an empty object.
    ///
    /// # Errors
    /// The arguments are something else, such as a text cut by a token limit.
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

/// A tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's [`ToolCall::id`].
    pub call_id: String,
    /// The texts and images that the tool returned.
    pub content: Vec<Content>,
    /// True if it failed.
    pub is_error: bool,
}

impl Content {
    /// The piece's text; `None` for an image.
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
    /// A user's message with text only.
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
        // Fields added by a later version, or missing from an earlier one, do not matter.
        let older: Message = serde_json::from_str(r#"{"assistant":{"text":"x","new":1}}"#).unwrap();
        assert!(matches!(older, Message::Assistant(said) if said.text == "x"));
    }
}
