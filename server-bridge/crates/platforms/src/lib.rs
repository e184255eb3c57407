//! The messengers from which people use Sandbridge: their wire formats, one file for each platform. This crate uses no database and no
//! chats: crate `channels` decides who may do what, and stores arriving and outgoing messages.
//!
//! ```text
//!   platform ─▶ run ─▶ Inbox::take (committed) ─▶ acknowledged to the platform
//!   an answer's Markdown ─▶ styled text ─▶ render: messages in the platform's form ─▶ send, with a key
//! ```
//! A [`Platform`] is one account (a bot) on a messenger. It hands over arriving messages and presses as [`Event`]s, and acknowledges a batch to the
//! messenger only after [`Inbox::take`] has returned `Ok`, so that uncommitted events are delivered again. Messages are rendered and recorded before
//! they are sent, so that a repeated attempt after a crash sends the same bytes with the same key.
//!
//! | module | holds |
//! |---|---|
//! | [`platform`] | [`Platform`], [`Inbox`], and the abilities of a messenger |
//! | [`event`] | arriving events: messages, presses, changes of conversations |
//! | [`styled`] | Markdown as styled text |
//! | [`parts`] | styled texts cut into parts of a limited length |
//! | `dingtalk` | DingTalk |
//! | `feishu` | Feishu and Lark |
//! | `onebot` | OneBot 11: QQ by NapCat |
//! | `qq` | bots of QQ |
//! | `wecom` | AI bots of WeCom |
//! | [`http`] | the HTTP client of all platforms |
//! | [`socket`] | the WebSocket client of all platforms |
//! | `calls` | requests on a WebSocket, and their responses |
//! | `tls` | the root certificates of the HTTP and WebSocket clients |
//! | [`markup`] | styled text as Markdown of several kinds, and as plain text |
//! | [`names`] | names and texts of strangers, made safe to show |
//! | [`pace`] | limits on requests over time |
//! | [`card`] | cards in a neutral form |
//! | `nest` | styled texts as nested marks |
//! | `discord` | Discord's REST API and gateway |
//! | `matrix` | Matrix' client-server API |
//! | `slack` | Slack's Web API and Socket Mode |
//! | `telegram` | Telegram's Bot API |
//! | [`limits`] | limits of every platform, with their units |
//!
//! A new platform needs a file here, and a row in [`KINDS`].

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

/// Every platform, with its name, the values that an administrator enters, and the function that creates an account.
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
