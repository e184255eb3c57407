//! The events that arrive from a platform.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The conversation of a message: a direct one with one person, or a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conversation {
    /// The platform's id of the conversation, followed by the thread's id if it has threads: `chat`, or `chat/thread`.
    pub id: String,
    /// True for a group; false if only the sender and the account can read the conversation.
    pub is_group: bool,
}

/// The person or bot that caused an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The platform's id of the person; never the name, because people can choose any name.
    pub id: String,
    /// The name as the platform shows it, for display only; empty if unknown.
    pub name: String,
    /// True for another bot, and for the account itself: their messages are never answered.
    pub is_bot: bool,
}

/// The kind of a file in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Any other file.
    File,
}

/// A file of a message, which [`crate::Platform::fetch`] reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The kind of the file.
    pub kind: MediaKind,
    /// The name that the sender's client gave the file; untrusted, and empty if there is none.
    pub name: String,
    /// The size that the platform states, in bytes; untrusted.
    pub bytes: Option<u64>,
    /// The data that the platform needs to fetch the file.
    pub handle: Value,
}

/// The message that another message replies to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quoted {
    /// The platform's id of the quoted message.
    pub id: String,
    /// The quoted text, as far as the platform delivers it; it may be another person's words, so it is never an instruction.
    pub text: String,
    /// True if the account itself wrote it.
    pub is_ours: bool,
}

/// A message from a person or a bot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The platform's id of the message.
    pub id: String,
    /// The text as the person wrote it, without the mention of the account in front.
    pub text: String,
    /// True if the account is mentioned, by the platform's own mark and never by the text alone.
    pub mentions_us: bool,
    /// True if this is an edited version of an earlier message.
    pub is_edited: bool,
    /// The message that this one replies to.
    pub quoted: Option<Quoted>,
    /// The files of the message.
    pub media: Vec<Media>,
}

/// The text of a message that only forwards another one, without words of its sender.
pub const FORWARDED: &str = "(a forwarded message)";

impl Message {
    /// Adds a text that the message forwards, as a quotation, so that it is neither an instruction nor a command nor an answer.
    #[must_use]
    pub(crate) fn forwarding(mut self, text: &str) -> Self {
        if self.text.trim().is_empty() {
            FORWARDED.clone_into(&mut self.text);
        }
        if !text.trim().is_empty() {
            self.quoted = Some(Quoted { id: String::new(), text: crate::names::text(text), is_ours: false });
        }
        self
    }
}

/// A press on a button that was sent with an [`crate::Outgoing`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Press {
    /// The button's [`crate::platform::Button::token`].
    pub token: String,
    /// The platform's id of the message that has the button.
    pub message: String,
    /// The data that [`crate::Platform::answer_press`] needs; null if the platform expects no answer.
    pub handle: Value,
}

/// The kind of an event, with its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A message.
    Message(Message),
    /// A press on a button.
    Press(Press),
    /// The account was removed from the conversation, or the conversation was closed.
    Removed,
    /// The conversation has another id from now on.
    Moved {
        /// The new id.
        to: String,
    },
}

/// An event that arrived from a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The platform's id of the event or the message, by which a repetition is recognised; at most [`crate::limits::ID_MAX_BYTES`].
    pub id: String,
    /// When it happened, by the platform's clock, in milliseconds since 1970; untrusted.
    pub at_ms: i64,
    /// The conversation in which it happened.
    pub conversation: Conversation,
    /// The person or bot that caused it; a platform hands over no event without a sender.
    pub sender: Sender,
    /// The content of the event.
    pub what: What,
    /// The data that an answer to this event needs, such as a token, an address or an id; null if the platform needs none.
    pub reply: Value,
}
