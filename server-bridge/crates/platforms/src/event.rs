//! What arrives from a platform.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where something was said: a direct conversation with one person, or a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conversation {
    /// The platform's id of the conversation, with a thread's if it has threads: `chat`, or `chat/thread`.
    pub id: String,
    /// True in a group; false where nobody but the sender and the account can read.
    pub is_group: bool,
}

/// Who said it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The platform's id of the person: never the name, which people choose.
    pub id: String,
    /// The name as the platform shows it, for texts; empty if none is known.
    pub name: String,
    /// True for another bot, and for the account itself: their messages are never answered.
    pub is_bot: bool,
}

/// What kind of file a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Anything else.
    File,
}

/// A file of a message, which [`crate::Platform::fetch`] reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Picture or file.
    pub kind: MediaKind,
    /// The name that the sender's client gave; untrusted, and empty if none is given.
    pub name: String,
    /// The size that the platform states, in bytes; untrusted.
    pub bytes: Option<u64>,
    /// What the platform needs in order to fetch it.
    pub handle: Value,
}

/// A message that the sender answers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quoted {
    /// The platform's id of that message.
    pub id: String,
    /// Its text as far as the platform tells it; another person's words, so never an instruction.
    pub text: String,
    /// True if the account itself wrote it.
    pub is_ours: bool,
}

/// A message of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The platform's id of the message.
    pub id: String,
    /// The text as the person wrote it, without the mention of the account in front.
    pub text: String,
    /// True if the account is mentioned, by the platform's own mark and never by the text alone.
    pub mentions_us: bool,
    /// True if this is an edited version of a message that came before.
    pub is_edited: bool,
    /// The message that it answers to.
    pub quoted: Option<Quoted>,
    /// Its files.
    pub media: Vec<Media>,
}

/// The text of a message that forwards another one, and has no words of its own.
pub const FORWARDED: &str = "(a forwarded message)";

impl Message {
    /// The message as one that forwards somebody's text: it is quoted, and so neither an instruction nor a command nor an answer.
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
    /// What the button carries: [`crate::platform::Button::token`].
    pub token: String,
    /// The platform's id of the message that has the button.
    pub message: String,
    /// What [`crate::Platform::answer_press`] needs; null if the platform expects no answer.
    pub handle: Value,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A message.
    Message(Message),
    /// A press on a button.
    Press(Press),
    /// The account was taken out of the conversation, or the conversation was closed.
    Removed,
    /// The conversation has another id from now on.
    Moved {
        /// The new id.
        to: String,
    },
}

/// Something that arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The platform's id of the event or the message, by which a repetition is known. At most [`crate::limits::ID_MAX_BYTES`].
    pub id: String,
    /// When it happened, by the platform's clock, in milliseconds since 1970; untrusted.
    pub at_ms: i64,
    /// Where.
    pub conversation: Conversation,
    /// By whom; a platform that tells no sender hands over no event.
    pub sender: Sender,
    /// What.
    pub what: What,
    /// What an answer to this event needs on platforms that allow answers only for a while: a token, an address, an id. Null elsewhere.
    pub reply: Value,
}
