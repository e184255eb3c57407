//! Chats: what is said in them, and what answers: slash commands, `!command`, and the agent.
//!
//! A [`ChatService`] takes what a user wrote into a chat, stores it, and answers. What changes later (a running command's output
//! above all) is sent as [`ChatEvent`]s, which a front end spreads to the user's clients. Where a command runs is never decided
//! here: a `RouteRequest` is put together from the chat's binding and the user's setting, and the router answers with a sandbox handle
//! that hides which machine it is on.
//!
//! | module | holds |
//! |---|---|
//! | `house` | the state that everything here works with |
//! | `service` | [`ChatService`]: post, cancel, recover, shut down |
//! | `languages` | the languages in which users read the server's texts |
//! | `manage` | beginning, finding, naming and reading chats |
//! | `attachments`, `export` | files with a message; a chat as a file |
//! | `pictures` | the images that come with a message |
//! | `titles` | the title that a model gives a chat |
//! | `views` | chats and messages as documents of the HTTP API |
//! | `commands/` | one file per command, and the table of them |
//! | `shell/` | a `!command` while it runs: the live view, head and tail, the file that keeps it whole |
//! | `recover` | goes on with what an earlier server left running |
//! | [`models`] | which model a chat asks: the server's own, those that users bring, what stands in for them |
//! | [`subscriptions`] | the models that users bring: listing, adding, trying, choosing |
//! | `queue`, `turns/` | which chat's turn is next, and having it answered |
//! | `stored/` | the engine's ports over the database, the router and the clients' events |
//! | `prompt/` | what a model is told before and beside the conversation: one file per part |
//! | `undo/`, `fork` | turns that are taken back, and their files; a chat that goes on as two |
//! | `tasks` | commands that go on by themselves, of a chat that is deleted |
//! | `administration`, `server_settings` | what administrators change of the whole server while it runs |
//! | `preferences` | what a user wants of every agent |
//! | `detail` | what a client is shown of a chat beside its messages |
//! | `running` | which commands run in which chat; their limit and their cancellation |
//! | `sending`, `sends` | messages that a client sends again, and that are done once |
//! | `exec_document` | the document of a message that shows a command |
//! | `asks` | answers to what was asked with a message, whatever surface they come from |
//! | `bus` | [`Bus`]: what happens in chats, to every subscriber |
//! | `transcript` | head and tail of an output |
//! | `told` | what was sent live of messages under way, for clients that come later |
//! | `event`, `error` | what is sent, and what can go wrong |
//! | [`limits`] | every limit and timeout |
//!
//! A new chat command: a file in `commands/` and a row of its table. A new part of the prompt: a file in `prompt/` and a line of its
//! list.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod administration;
mod asks;
mod attachments;
mod bus;
mod commands;
mod detail;
mod document;
mod error;
mod event;
mod exec_document;
mod export;
mod fork;
mod house;
mod languages;
pub mod limits;
mod manage;
pub mod models;
mod pictures;
mod preferences;
mod prompt;
mod queue;
mod recover;
mod running;
mod sending;
mod sends;
mod server_settings;
mod service;
mod shell;
mod stored;
pub mod subscriptions;
mod tasks;
mod titles;
mod told;
mod transcript;
mod turns;
mod undo;
mod views;

#[cfg(test)]
mod tests;

pub use asks::Surface;
pub use attachments::Attached;
pub use bus::{Bus, Subscriber, Subscription};
pub use commands::command_usages;
pub use detail::{ContextUse, Detail};
pub use error::{Error, Result};
pub use event::{Channel, ChatEvent, Part, Posted};
pub use export::{Export, Format};
pub use house::ChatService;
pub use manage::{Excerpt, Find, Found, Page, Shown};
pub use models::ModelsConfig;
pub use preferences::Preferences;
pub use sends::{Answered, Saying};
pub use store::{ApprovalRule, Chat, ChatId, Memory, Message, MessageId, MessageRole, SubAgent};
pub use told::Told;
pub use undo::{RestoredFile, TakeBack, TakenBack, Turns};
pub use views::{chat_view, message_view, shown_view};
