//! What a chat tells its user's clients.

use api::server_settings::ServerSettings;
use store::{Chat, ChatId, Message, MessageId};

/// Where a command wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Channel {
    /// The word that stands for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It says something.
    Text,
    /// It thinks.
    Reasoning,
}

impl Part {
    /// The word that stands for it on the wire, among those of [`Channel`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

/// Something happened in one of a user's chats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatEvent {
    /// A message is new, or changed: the last one told under its id is the valid one.
    Message(Message),
    /// A running command wrote something: to be shown at the end of its message, until the message itself changes.
    Output {
        /// The conversation.
        chat: ChatId,
        /// The message that shows the command.
        message: MessageId,
        /// Where it wrote to.
        channel: Channel,
        /// What it wrote, decoded.
        text: String,
        /// How much was told of the message before, in UTF-16 code units; counted when it is told.
        at: u64,
    },
    /// A model said something more: shown as [`ChatEvent::Output`] is.
    Said {
        /// The conversation.
        chat: ChatId,
        /// The message that shows its answer.
        message: MessageId,
        /// Whether it speaks or thinks.
        part: Part,
        /// The next words.
        text: String,
        /// As that of [`ChatEvent::Output`].
        at: u64,
    },
    /// A conversation is new, or changed: its title, its binding, its time.
    Chat(Chat),
    /// A conversation was deleted.
    Removed(ChatId),
    /// Where the user's work goes was changed: a runner's name, `__docker__` or `none`; without one the router chooses.
    ActiveRunner(Option<String>),
    /// Settings of the whole server were changed; told to administrators.
    ServerSettings(ServerSettings),
}

/// What is known at once after a message was posted. The rest comes as [`ChatEvent`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posted {
    /// The stored message of the user, and what answered it.
    pub messages: Vec<Message>,
    /// The conversation that the message made, to be switched to.
    pub chat: Option<Chat>,
    /// Where nothing came of the message: why, for programs; its answer says it in words.
    pub error: Option<&'static str>,
    /// What a client may put back into its input: the message that was taken back.
    pub input: Option<String>,
}
