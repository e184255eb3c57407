//! The terminal UI as an agent operates it: the actions that it asks a terminal for, and the terminal's answers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::words::{TuiState, TuiView};

/// The number of hexadecimal digits of a terminal's id.
const ID_DIGITS: usize = 32;

/// The id of a running terminal UI: 32 hexadecimal digits, chosen at random when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientId([u8; 16]);

/// An action that an agent asks a terminal for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TuiAction {
    /// Show another chat of the user.
    OpenChat {
        /// The id of the chat.
        chat_id: String,
    },
    /// Begin a chat, and show it.
    NewChat,
    /// Open a view.
    Show {
        /// The view.
        view: TuiView,
    },
    /// Fold all cards.
    FoldCards,
    /// Unfold all cards.
    UnfoldCards,
    /// Scroll to the first loaded message.
    ScrollToStart,
    /// Scroll to the last message.
    ScrollToEnd,
    /// Put a text into the empty input, without sending it.
    Write {
        /// The text, which is no command.
        text: String,
    },
    /// An action of a newer server, which its reader refuses. It cannot be sent.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// A terminal's answer to an action. The terminal first takes the action, which succeeds once and in time only, then carries it
/// out, and then reports its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TuiAnswer {
    /// The terminal's id.
    pub client_id: ClientId,
    /// The id of the call, from the event.
    pub call_id: String,
    /// What the terminal reports.
    pub state: TuiState,
    /// For the agent: what was done, or why it was not, in one sentence of at most 300 characters.
    #[serde(default)]
    pub text: String,
}

impl ClientId {
    /// The id with these 128 bits.
    pub const fn of(bits: u128) -> Self {
        Self(bits.to_be_bytes())
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:0ID_DIGITS$x}", u128::from_be_bytes(self.0))
    }
}

impl Serialize for ClientId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClientId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = if is_id { u128::from_str_radix(&text, 16).ok() } else { None };
        number.map(Self::of).ok_or_else(|| de::Error::custom("a terminal's id has 32 hexadecimal digits"))
    }
}

impl PartialSchema for ClientId {
    fn schema() -> RefOr<Schema> {
        let about =
            "The id of a running terminal UI: 32 hexadecimal digits, chosen at random when it starts.";
        let id = ObjectBuilder::new().schema_type(Type::String).description(Some(about));
        Schema::Object(id.pattern(Some("^[0-9a-fA-F]{32}$")).build()).into()
    }
}

impl ToSchema for ClientId {}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn a_terminals_id_is_32_digits_and_nothing_else() {
        let id = ClientId::of(0xab);
        assert_eq!(to_value(id).unwrap(), json!("000000000000000000000000000000ab"));
        assert_eq!(from_value::<ClientId>(json!("000000000000000000000000000000AB")).unwrap(), id);
        for wrong in ["", "ab", "+00000000000000000000000000000ab", "0000000000000000000000000000000ab", "é"]
        {
            assert!(from_value::<ClientId>(json!(wrong)).is_err(), "{wrong:?}");
        }
        assert!(
            from_value::<ClientId>(json!("+".repeat(32))).is_err()
                && from_value::<ClientId>(json!(7)).is_err()
        );
    }

    #[test]
    fn an_action_of_a_newer_server_is_read_as_unknown() {
        let show = TuiAction::Show { view: TuiView::Runners };
        assert_eq!(to_value(&show).unwrap(), json!({"kind": "show", "view": "runners"}));
        for action in [
            show,
            TuiAction::NewChat,
            TuiAction::ScrollToEnd,
            TuiAction::Write { text: "a\nb".to_owned() },
            TuiAction::OpenChat { chat_id: "c1".to_owned() },
        ] {
            assert_eq!(from_value::<TuiAction>(to_value(&action).unwrap()).unwrap(), action);
        }
        assert_eq!(
            from_value::<TuiAction>(json!({"kind": "approve", "all": 1})).unwrap(),
            TuiAction::Unknown
        );
        let TuiAction::Show { view } = from_value(json!({"kind": "show", "view": "secrets"})).unwrap() else {
            panic!("it is a view");
        };
        assert_eq!(view, TuiView::Unknown("secrets".to_owned()));
        assert!(to_value(TuiAction::Unknown).is_err(), "it cannot be sent");
    }
}
