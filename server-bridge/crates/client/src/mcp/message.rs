//! A JSON-RPC message: its text, which is passed on unchanged, and the few fields that the transport needs.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON-RPC message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    text: Box<RawValue>,
    head: Head,
}

/// The reason why a line is not a message.
#[derive(Debug)]
pub(super) enum NoMessage {
    /// The line is not JSON.
    NoJson,
    /// The line is JSON, but not a message; with the id, if it has one.
    NoRpc(Option<Box<RawValue>>),
}

#[derive(Clone, Debug, Deserialize)]
struct Head {
    #[serde(default, deserialize_with = "present")]
    jsonrpc: Option<Box<RawValue>>,
    /// `null` is an id too.
    #[serde(default, deserialize_with = "present")]
    id: Option<Box<RawValue>>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
}

/// The parameters of a message that the transport reads.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    /// The request that is cancelled.
    #[serde(rename = "requestId")]
    pub(super) request_id: Option<Box<RawValue>>,
    /// The tool that is called.
    pub(super) name: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Debug, Default, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Initialized {
    #[serde(rename = "protocolVersion")]
    version: Option<String>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl Message {
    /// Parses a message.
    ///
    /// # Errors
    /// [`NoMessage`].
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, NoMessage> {
        #[derive(Deserialize)]
        struct OnlyId {
            #[serde(default, deserialize_with = "present")]
            id: Option<Box<RawValue>>,
        }
        let text: Box<RawValue> = serde_json::from_slice(bytes).map_err(|_| NoMessage::NoJson)?;
        // A list could be parsed as the fields of a message, in order.
        let is_object = text.get().starts_with('{');
        match serde_json::from_str(text.get()) {
            Ok(head) if is_object => Ok(Self { text, head }),
            _ => {
                let id = serde_json::from_str(text.get()).ok().filter(|_| is_object);
                Err(NoMessage::NoRpc(id.and_then(|OnlyId { id }| id)))
            }
        }
    }

    /// The message that reports that a session is ready.
    pub(super) fn initialized() -> Result<Self, NoMessage> {
        Self::parse(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
    }

    /// The message's text, on one line.
    pub(super) fn line(&self) -> String {
        // Between values, line ends are only white space; within texts, JSON allows none.
        self.text.get().replace(['\n', '\r'], " ")
    }

    /// True if it declares itself as JSON-RPC.
    pub(super) fn is_rpc(&self) -> bool {
        self.head.jsonrpc.is_some()
    }

    /// The message's id; `None` for a notification.
    pub(super) fn id(&self) -> Option<&RawValue> {
        self.head.id.as_deref()
    }

    /// The message's method; `None` for a response.
    pub(super) fn method(&self) -> Option<&str> {
        self.head.method.as_deref()
    }

    /// The message's parameters, as far as they are used here.
    pub(super) fn params(&self) -> Params {
        let params = self.head.params.as_deref();
        params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
    }

    /// The version in a response to `initialize`.
    pub(super) fn agreed_version(&self) -> Option<String> {
        let result: Initialized = serde_json::from_str(self.head.result.as_deref()?.get()).ok()?;
        result.version
    }
}

impl Params {
    /// The version in a message without a session.
    pub(super) fn version(&self) -> Option<&str> {
        self.meta.as_ref()?.version.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_passed_on_as_it_came() {
        let text = r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"exec","z":1,"a":2}}"#;
        let message = Message::parse(text.as_bytes()).unwrap();
        assert_eq!(message.line(), text);
        assert_eq!(message.id().unwrap().get(), "9007199254740993");
        assert_eq!((message.method(), message.params().name.as_deref()), (Some("tools/call"), Some("exec")));
        assert_eq!(
            Message::parse(b"{\n\"method\": \"a\\nb\"\r\n}").unwrap().line(),
            "{ \"method\": \"a\\nb\"  }"
        );
    }

    #[test]
    fn what_is_no_message_is_told_with_its_id() {
        assert!(matches!(Message::parse(b"{"), Err(NoMessage::NoJson)));
        for text in ["[1, 2]", "7", "null", r#"{"method": 1}"#] {
            assert!(matches!(Message::parse(text.as_bytes()), Err(NoMessage::NoRpc(None))), "{text}");
        }
        let Err(NoMessage::NoRpc(Some(id))) = Message::parse(br#"{"id": "a", "method": 1}"#) else {
            panic!()
        };
        assert_eq!(id.get(), "\"a\"");
        assert_eq!(Message::parse(br#"{"id": null}"#).unwrap().id().unwrap().get(), "null");
    }

    #[test]
    fn versions_are_found_where_they_stand() {
        let of = |text: &str| Message::parse(text.as_bytes()).unwrap();
        let named = of(r#"{"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "v"}}}"#);
        assert_eq!(named.params().version(), Some("v"));
        assert_eq!(of(r#"{"result": {"protocolVersion": "v"}}"#).agreed_version().as_deref(), Some("v"));
        assert_eq!(of(r#"{"params": [1]}"#).params().version(), None);
    }
}
