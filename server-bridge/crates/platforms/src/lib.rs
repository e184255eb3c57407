//! The messengers that people reach Sandbridge from: their wire formats, one file a platform. No database and no chats here: crate
//! `channels` decides who may say what, and keeps what arrives and what is sent.
//!
//! ```text
//!   platform ─▶ run ─▶ Inbox::take (committed) ─▶ acknowledged to the platform
//!   an answer's Markdown ─▶ styled text ─▶ render: messages that the platform takes ─▶ send, with a key
//! ```
//! A [`Platform`] is one account (a bot) on a messenger. It hands over what arrives as [`Event`]s, and acknowledges a batch to the
//! messenger only after [`Inbox::take`] returned `Ok`: what was not committed comes again. What it sends has been rendered before and is
//! on record, so that a repetition after a crash sends the same bytes with the same key.
//!
//! | module | holds |
//! |---|---|
//! | [`platform`] | [`Platform`], [`Inbox`], and what a messenger can do |
//! | [`event`] | what arrives: messages, presses, and what is known to be lost |
//! | [`styled`] | Markdown as styled text |
//! | [`parts`] | styled texts cut into parts of a limited length |
//! | [`http`] | the HTTP client of all platforms |
//! | [`socket`] | the WebSocket client of all platforms |
//! | `tls` | the root certificates of both |
//! | [`names`] | names and texts of strangers, made safe to show |
//! | [`pace`] | a platform's limits of requests over time |
//! | `telegram` | Telegram's Bot API |
//! | [`limits`] | limits of every platform, with their units |
//!
//! A new platform: a file here, and a row in [`KINDS`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod event;
pub mod http;
pub mod limits;
pub mod names;
pub mod pace;
pub mod parts;
pub mod platform;
pub mod socket;
pub mod styled;
mod telegram;
mod tls;

pub use event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender};
pub use platform::{Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit};
pub use styled::Styled;

/// Every platform: its name, what an administrator enters, and how an account of it is made.
#[rustfmt::skip]
pub const KINDS: &[Kind] = &[
    telegram::KIND,
];
