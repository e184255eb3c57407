//! The interface of all platforms.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::card::Card;
use crate::event::{Conversation, Event, Media};
use crate::styled::Styled;

/// The unit in which a platform counts the length of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Bytes,
    /// Unicode characters.
    Chars,
    /// Code units of UTF-16.
    Utf16,
}

/// The abilities and limits of a platform.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// The longest text of one message, in [`Caps::unit`].
    pub text_max: usize,
    /// The unit of [`Caps::text_max`].
    pub unit: Unit,
    /// True if buttons can be sent; otherwise choices are numbered, and answered with a number.
    pub buttons: bool,
    /// True if a message that was sent can be changed.
    pub edits: bool,
    /// The shortest time between two changes of one message, in milliseconds, which also limits how often a growing draft is updated.
    pub edit_every_ms: u64,
    /// The shortest time between two messages to one conversation, in milliseconds.
    pub send_every_ms: u64,
    /// How long the platform itself refuses a second message with the same key, in milliseconds; `None` if it does not support keys.
    pub key_lifetime_ms: Option<u64>,
    /// How long an event can be answered, in milliseconds; `None` if there is no limit.
    pub reply_window_ms: Option<u64>,
    /// The maximum number of messages that can answer one event; `None` if there is no limit.
    pub replies_max: Option<u32>,
    /// True if messages that were missed while the account was not connected are delivered later.
    pub replays: bool,
    /// The largest file that can be sent, in bytes; 0 if none can.
    pub file_max_bytes: u64,
}

/// A button below a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// The label of the button.
    pub label: String,
    /// The token that a press returns: at most 64 bytes of `A–Z a–z 0–9 _ -`.
    pub token: String,
}

/// A message to send, which is rendered once and stored until it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    /// The message in the platform's form. Only the platform that rendered it reads it.
    pub payload: Value,
}

/// A file to send.
#[derive(Clone, Debug)]
pub struct FileOut {
    /// The file's name, without directories.
    pub name: String,
    /// The file's content.
    pub bytes: Bytes,
    /// True if it is a picture that the platform may show.
    pub is_image: bool,
}

/// The platform's confirmation of a message that it accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The message's id, for changing it later, and for finding the message that a quotation or a press refers to.
    pub id: String,
}

/// The reason why a request failed, which determines whether it is tried again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The platform did not respond, or its response was lost, so it may have accepted the message. The text contains no address, because that could
    /// contain a token.
    #[error("the platform does not answer: {0}")]
    Unknown(String),
    /// The request certainly did not reach the platform, or the platform reported that it is unavailable: try again later.
    #[error("the platform cannot be reached: {0}")]
    Away(String),
    /// Too many requests: try again after this many milliseconds.
    #[error("the platform asks to wait {wait_ms} ms")]
    TooFast {
        /// How long to wait, in milliseconds.
        wait_ms: u64,
    },
    /// The account's credentials are refused: an administrator has to act.
    #[error("the platform refuses the account: {0}")]
    Account(String),
    /// This message is refused, and would be refused again.
    #[error("the platform refuses the message: {0}")]
    Message(String),
    /// The conversation no longer exists, or the account was removed from it.
    #[error("the conversation is closed: {0}")]
    Closed(String),
    /// The time limit for answering the event has passed, or the maximum number of answers has been sent.
    #[error("the platform accepts no more answers to this message")]
    Expired,
}

impl Failure {
    /// Converts the failure of a request that precedes the message itself: the message was certainly not accepted.
    #[must_use]
    pub(crate) fn not_sent(self) -> Self {
        match self {
            Self::Unknown(why) => Self::Away(why),
            other => other,
        }
    }
}

/// Why [`Platform::run`] ended.
#[derive(Clone, Debug)]
pub enum End {
    /// The run was asked to stop.
    Stopped,
    /// The connection ended or failed: connect again.
    Lost(String),
    /// The platform asks to wait before the next connection.
    Wait {
        /// How long to wait, in milliseconds.
        ms: u64,
        /// The reason, for the account's status.
        why: String,
    },
    /// The account needs a change by an administrator: its credentials are wrong, another program polls with them, or the bot is banned. Connecting
    /// is tried again only rarely.
    Refused(String),
}

/// Converts a failure to connect into the end of a run.
impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Account(why) => Self::Refused(why),
            Failure::TooFast { wait_ms } => Self::Wait { ms: wait_ms, why: "too many requests".to_owned() },
            other => Self::Lost(other.to_string()),
        }
    }
}

/// Accepts the events that arrive from a platform.
pub trait Inbox: Send + Sync {
    /// Commits events and the platform's cursor together; events whose ids are on record already are left out. Acknowledge to the
    /// platform only after `Ok`.
    ///
    /// # Errors
    /// The reason, if nothing was committed: acknowledge nothing, so that the events are delivered again.
    fn take<'a>(&'a self, events: Vec<Event>, cursor: Option<String>) -> BoxFuture<'a, Result<(), String>>;

    /// Returns the cursor that was committed last; `None` if there is none.
    fn cursor(&self) -> BoxFuture<'_, Option<String>>;

    /// Reports that bytes arrived from the platform, so the connection is alive.
    fn alive(&self);

    /// Reports that the account is connected, with its name.
    fn connected(&self, name: &str);

    /// Reports that messages may have been missed that the platform will not deliver later; `why` is shown to people.
    fn gap(&self, why: &str);
}

/// One account on a messenger.
///
/// Errors, logs and [`Debug`] output contain no token of the account.
pub trait Platform: Send + Sync {
    /// The abilities and limits of the platform.
    fn caps(&self) -> Caps;

    /// Asks the platform for the account's name to show. This changes nothing.
    ///
    /// # Errors
    /// [`Failure::Account`] if the credentials are refused; [`Failure::Away`].
    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>>;

    /// Connects once and hands over arriving events, until the connection ends. The caller waits and calls it again.
    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End>;

    /// Renders a text as messages in the platform's form, none of them too long, with the buttons below the last one. Never empty.
    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing>;

    /// Renders a card as messages in the platform's form, with the buttons below it. Platforms without cards send it as a text. Never empty.
    fn render_card(&self, card: &Card, buttons: &[Button]) -> Vec<Outgoing> {
        self.render(&card.styled(), buttons)
    }

    /// Sends one message. `reply` is [`Event::reply`] of the event that is answered, or null; `key` is the same at every try of this
    /// message (64 hexadecimal digits).
    ///
    /// # Errors
    /// See [`Failure`]: [`Failure::Unknown`] only if the message may have been accepted.
    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>>;

    /// Replaces a message that was sent. Only if [`Caps::edits`] is true.
    ///
    /// # Errors
    /// See [`Failure`].
    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Sends a file, with a key as for [`Platform::send`].
    ///
    /// # Errors
    /// See [`Failure`].
    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>>;

    /// Shows the outcome of a press to the person who pressed the button, if the platform can show it.
    ///
    /// # Errors
    /// See [`Failure`].
    fn answer_press<'a>(&'a self, handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>>;

    /// Reads a file of a message, of at most `max_bytes`.
    ///
    /// # Errors
    /// [`Failure::Message`] if the file is larger, or its address leads into the server's own network; see [`Failure`].
    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>>;

    /// True if the account accepts deliveries to its own address.
    fn takes_deliveries(&self) -> bool {
        false
    }

    /// Handles a delivery to the account's own address, on platforms that deliver by HTTP; returns the body of the response once [`Inbox::take`] has
    /// committed the events.
    ///
    /// # Errors
    /// [`Failure::Account`] if the signature is wrong; [`Failure::Message`] if the body is wrong; [`Failure::Away`] if nothing was committed.
    fn delivered<'a>(
        &'a self,
        headers: &'a [(String, String)],
        body: &'a [u8],
        inbox: &'a dyn Inbox,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        let _ = (headers, body, inbox);
        Box::pin(async { Err(Failure::Message("this account does not accept deliveries".to_owned())) })
    }
}

/// One value that an administrator enters to set up an account.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The key of the value in the set-up document, such as `token`.
    pub key: &'static str,
    /// The label of the value on the page.
    pub label: &'static str,
    /// How to obtain the value from the platform.
    pub help: &'static str,
    /// True if the value is sealed and never shown again.
    pub is_secret: bool,
    /// The default if the value is left out; `None` if the value is required.
    pub default: Option<&'static str>,
}

/// Creates an account's platform from the values of its set-up.
pub type Make = fn(&Value, &guard::Reach) -> Result<std::sync::Arc<dyn Platform>, String>;

/// A kind of platform on which an administrator can set up accounts.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The kind's name in documents and commands, such as `telegram`.
    pub name: &'static str,
    /// The kind's name as shown to people, such as `Telegram`.
    pub title: &'static str,
    /// The values that an administrator enters.
    pub setup: &'static [Setup],
    /// Creates an account's platform, or fails with a text for the administrator.
    pub make: Make,
}

/// Returns a value of a set-up: the entered value, or else the default, without white space around it.
///
/// # Errors
/// A text for the administrator, if the value is required and missing.
pub fn setting(setup: &[Setup], values: &Value, key: &str) -> Result<String, String> {
    let known = setup.iter().find(|known| known.key == key);
    let entered = values[key].as_str().map(str::trim).filter(|value| !value.is_empty());
    match entered.or(known.and_then(|known| known.default)) {
        Some(value) => Ok(value.to_owned()),
        None => Err(format!("{} is missing", known.map_or(key, |known| known.label))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::KINDS;

    #[test]
    fn every_platform_is_listed_once_and_says_what_it_lacks() {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        for kind in KINDS {
            for setup in kind.setup {
                assert!(setup.label.len() > 2 && setup.help.ends_with('.'), "{}: {}", kind.name, setup.key);
                assert!(
                    !setup.is_secret || setup.default.is_none_or(str::is_empty),
                    "{}: {}",
                    kind.name,
                    setup.key
                );
            }
            let mut needed = kind.setup.iter().filter(|setup| setup.default.is_none());
            let Err(why) = (kind.make)(&json!({}), &guard::Reach::Anywhere) else { panic!("{}", kind.name) };
            assert!(needed.any(|needed| why.contains(needed.label)), "{}: {why}", kind.name);
        }
    }
}
