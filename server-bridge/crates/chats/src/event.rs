//! The events that a chat sends to its user's clients.

use api::server_settings::ServerSettings;
use store::{Chat, ChatId, Message, MessageId};

/// The stream that a command wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Channel {
    /// The name on the wire.
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
    /// Its text.
    Text,
    /// It thinks.
    Reasoning,
}

impl Part {
    /// The name on the wire, distinct from those of [`Channel`].
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
    /// A message is new, or changed: the last event with its id is the valid one.
    Message(Message),
    /// A running command wrote something, to be appended to its message until the message itself changes.
    Output {
        /// The conversation.
        chat: ChatId,
        /// The message that shows the command.
        message: MessageId,
        /// The stream it wrote to.
        channel: Channel,
        /// The output, decoded.
        text: String,
        /// The length of the message's earlier live text, in UTF-16 code units; counted when it is sent.
        at: u64,
    },
    /// A model wrote more text, shown like [`ChatEvent::Output`].
    Said {
        /// The conversation.
        chat: ChatId,
        /// The message that shows its answer.
        message: MessageId,
        /// True if the answer has text or reasoning.
        part: Part,
        /// The added text.
        text: String,
        /// Like that of [`ChatEvent::Output`].
        at: u64,
    },
    /// A conversation is new, or its title, binding or time changed.
    Chat(Chat),
    /// A conversation was deleted.
    Removed(ChatId),
    /// The user's active place was changed: a runner's name, `__docker__` or `none`; with `None` the router chooses.
    ActiveRunner(Option<String>),
    /// Settings of the whole server were changed; sent to administrators.
    ServerSettings(ServerSettings),
}

/// The immediate result of posting a message. The rest comes as [`ChatEvent`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posted {
    /// The user's stored message, and the answer to it.
    pub messages: Vec<Message>,
    /// The conversation that the message created, for the client to switch to.
    pub chat: Option<Chat>,
    /// If the message had no effect: the reason, for programs; its answer has it in words.
    pub error: Option<&'static str>,
    /// The text that was taken back, for the client to put back into its input.
    pub input: Option<String>,
}
