//! The events that a chat sends to its user's clients.

use api::server_settings::ServerSettings;
use api::tui::{ClientId, TuiAction};
use store::{Chat, ChatId, Message, MessageId};

/// The stream that a command wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The command's standard output.
    Stdout,
    /// The command's standard error.
    Stderr,
}

impl Channel {
    /// The stream's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// The part of a model's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The text of the answer.
    Text,
    /// The model's reasoning.
    Reasoning,
}

impl Part {
    /// The part's name on the wire, distinct from those of [`Channel`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

/// A change in one of a user's chats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatEvent {
    /// A message is new or was changed: the last event with its id is the valid one.
    Message(Message),
    /// A running command wrote more output, to be appended to its message until the message itself changes.
    Output {
        /// The conversation's id.
        chat: ChatId,
        /// The message that shows the command.
        message: MessageId,
        /// The stream that the command wrote to.
        channel: Channel,
        /// The output, decoded as text.
        text: String,
        /// The length of the message's earlier live text, in UTF-16 code units; it is set when the event is sent.
        at: u64,
    },
    /// A model wrote more text, shown like [`ChatEvent::Output`].
    Said {
        /// The conversation's id.
        chat: ChatId,
        /// The message that shows the model's answer.
        message: MessageId,
        /// The part of the answer that the text belongs to.
        part: Part,
        /// The added text.
        text: String,
        /// The length of the earlier live text, as in [`ChatEvent::Output`].
        at: u64,
    },
    /// A conversation is new, or its title, binding or time changed.
    Chat(Chat),
    /// A conversation was deleted.
    Removed(ChatId),
    /// The user's active place was changed: a runner's name, `__docker__` or `none`; with `None` the router chooses.
    ActiveRunner(Option<String>),
    /// A chat's agent asks the terminal in which its message was written for an action.
    Control {
        /// The conversation's id.
        chat: ChatId,
        /// The terminal that is asked.
        client: ClientId,
        /// The id of the call, for the terminal's answers.
        call: String,
        /// The action.
        action: TuiAction,
    },
    /// Settings of the whole server were changed; sent to administrators.
    ServerSettings(ServerSettings),
}

/// The immediate result of posting a message. Everything else follows as [`ChatEvent`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posted {
    /// The user's stored message, and the answer to it.
    pub messages: Vec<Message>,
    /// The conversation that the message created, for the client to switch to.
    pub chat: Option<Chat>,
    /// The reason, for programs, if the message had no effect; the answer contains it in words.
    pub error: Option<&'static str>,
    /// The text that was taken back, for the client to put back into its input.
    pub input: Option<String>,
}
