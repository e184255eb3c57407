//! The events of `GET /api/v1/events`: changes of a user's chats, runners and settings, as they happen.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::chat::{ChatView, MessageView};
use crate::runner::RunnerView;
use crate::server_settings::ServerSettings;
use crate::tui::{ClientId, TuiAction};
use crate::words::{Channel, Level};

/// A frame of the events socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServerEvent {
    /// The number of the event. It grows by one with each event of the user, on any socket. In `hello`, `reset` and `lagged`: the number of
    /// the last event that counts as delivered; the next event has a larger one.
    #[serde(default)]
    #[schema(required)]
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The first frame of a socket.
    Hello {
        /// The user whose events these are.
        #[serde(default)]
        #[schema(required)]
        user: String,
        /// The id of the run of the server that the numbers of events belong to.
        #[serde(default)]
        #[schema(required)]
        epoch: String,
        /// Whether all events after the requested number follow, each once. Otherwise everything has to be loaded again.
        #[serde(default)]
        #[schema(required)]
        resumed: bool,
    },
    /// The missed events are no longer kept: everything has to be loaded again.
    Reset,
    /// The client was too slow and missed events: everything has to be loaded again.
    Lagged,
    /// A message is new or changed.
    Message {
        /// The message as it is now.
        message: Box<MessageView>,
    },
    /// New output of a running command, or of a model.
    Output {
        /// The id of the chat.
        chat_id: String,
        /// The message that shows it.
        message_id: i64,
        /// The part of the message it belongs to.
        channel: Channel,
        /// The new piece of output.
        text: String,
        /// How much of the message was reported before, in UTF-16 code units.
        #[serde(default)]
        #[schema(required)]
        at: u64,
    },
    /// A chat is new or changed.
    Chat {
        /// The chat as it is now.
        chat: ChatView,
    },
    /// A chat was deleted.
    ChatRemoved {
        /// The id of the chat.
        id: String,
    },
    /// A runner is new or changed.
    Runner {
        /// The runner as it is now.
        runner: Box<RunnerView>,
    },
    /// A runner was revoked.
    RunnerRemoved {
        /// The name of the runner.
        name: String,
    },
    /// The user's choice of the active runner was changed.
    Settings {
        /// The new choice; `null` lets the server choose.
        #[schema(required)]
        active_runner: Option<String>,
    },
    /// Server-wide settings were changed; sent to administrators only.
    ServerSettings {
        /// All server-wide settings as they are now.
        settings: ServerSettings,
    },
    /// Something in a group changed: its log, its calls, its runs of chains, its people or agents. Clients reload the parts that they show.
    Group {
        /// The group's id.
        id: i64,
    },
    /// An agent asks a terminal UI for an action. Every other client ignores it.
    TuiControl {
        /// The id of the terminal that is asked.
        client_id: ClientId,
        /// The id of the call, for the terminal's answers.
        call_id: String,
        /// The id of the chat whose agent asks.
        chat_id: String,
        /// The action.
        action: TuiAction,
    },
    /// Something the user should know.
    Notice {
        /// The notice's severity.
        #[serde(default)]
        #[schema(required)]
        level: Level,
        /// The text, for people.
        #[serde(serialize_with = "crate::language::text")]
        text: String,
    },
    /// An event of a newer server, which its reader ignores. It cannot be sent.
    #[serde(other, skip_serializing)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_object_with_its_number() {
        let event = Event::ChatRemoved { id: "c1".to_owned() };
        let expected = json!({"seq": 4, "type": "chat_removed", "id": "c1"});
        assert_eq!(serde_json::to_value(ServerEvent { seq: 4, event: event.clone() }).unwrap(), expected);
        assert_eq!(serde_json::from_value::<ServerEvent>(expected).unwrap(), ServerEvent { seq: 4, event });
    }

    #[test]
    fn another_servers_event_is_read_as_far_as_it_is_known() {
        let read = |value| serde_json::from_value::<ServerEvent>(value).map(|told| (told.seq, told.event));
        assert_eq!(read(json!({"seq": 9, "type": "weather", "is": "fine"})).unwrap(), (9, Event::Unknown));
        let (seq, hello) = read(json!({"type": "hello"})).unwrap();
        assert!(seq == 0 && matches!(hello, Event::Hello { resumed: false, .. }));
        assert!(read(json!({"seq": 9, "type": "message"})).is_err());
    }
}
