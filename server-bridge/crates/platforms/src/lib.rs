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
//! | `dingtalk` | DingTalk |
//! | `feishu` | Feishu and Lark |
//! | `onebot` | OneBot 11: QQ by NapCat |
//! | `qq` | bots of QQ |
//! | `wecom` | AI bots of WeCom |
//! | [`http`] | the HTTP client of all platforms |
//! | [`socket`] | the WebSocket client of all platforms |
//! | `calls` | requests on a WebSocket, and their answers |
//! | `tls` | the root certificates of both |
//! | [`markup`] | styled text as Markdown of several kinds, and as plain text |
//! | [`names`] | names and texts of strangers, made safe to show |
//! | [`pace`] | a platform's limits of requests over time |
//! | [`card`] | cards in a neutral form |
//! | `nest` | styled texts as marks that nest |
//! | `discord` | Discord's REST API and gateway |
//! | `matrix` | Matrix' client-server API |
//! | `slack` | Slack's Web API and Socket Mode |
//! | `telegram` | Telegram's Bot API |
//! | [`limits`] | limits of every platform, with their units |
//!
//! A new platform: a file here, and a row in [`KINDS`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod calls;
pub mod card;
mod dingtalk;
mod discord;
pub mod event;
mod feishu;
pub mod http;
pub mod limits;
pub mod markup;
mod matrix;
pub mod names;
mod nest;
mod onebot;
pub mod pace;
pub mod parts;
pub mod platform;
mod qq;
mod slack;
pub mod socket;
#[cfg(test)]
mod strange;
pub mod styled;
mod telegram;
#[cfg(test)]
mod testing;
mod tls;
mod wecom;

pub use card::Card;
pub use event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender};
pub use platform::{Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit};
pub use styled::Styled;

/// Every platform: its name, what an administrator enters, and how an account of it is made.
#[rustfmt::skip]
pub const KINDS: &[Kind] = &[
    dingtalk::KIND,
    discord::KIND,
    feishu::KIND,
    matrix::KIND,
    onebot::KIND,
    qq::KIND,
    slack::KIND,
    telegram::KIND,
    wecom::KIND,
];
