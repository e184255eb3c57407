//! Chats: their messages, and how messages are answered: by slash commands, `!command` and the agent.
//!
//! A [`ChatService`] takes a user's message to a chat, stores it, and answers. Later changes, above all a running command's output, are
//! sent as [`ChatEvent`]s, which a front end passes on to the user's clients. The place where a command runs is never decided here: a
//! `RouteRequest` is built from the chat's binding and the user's setting, and the router returns a handle to a sandbox, which hides the
//! actual machine.
//!
//! | module | holds |
//! |---|---|
//! | `house` | `House`: the shared state of this crate |
//! | `service` | [`ChatService`]: post, cancel, recover, shut down |
//! | `languages` | each user's language for the server's texts |
//! | `manage` | creating, finding, naming and reading chats |
//! | `attachments`, `export` | files attached to a message; a chat as a file |
//! | `pictures` | the images attached to a message |
//! | `judging` | a model's answer for a hook |
//! | `titles` | the title that a model gives a chat |
//! | `views` | chats and messages as documents of the HTTP API |
//! | `choices` | a chat's settings and their options, for front ends with buttons |
//! | `commands/` | one file per command, and their table |
//! | `shell/` | a `!command` while it runs: the live view, head and tail, the file with the whole output |
//! | `recover` | continues commands that were running when an earlier run of the server ended |
//! | [`models`] | the choice of a chat's model: the server's own, the users' own, and their stand-ins |
//! | `model_choices` | the models of chats, for the tool that shows and chooses one |
//! | [`subscriptions`] | the users' own models: listing, adding, trying, choosing |
//! | `queue`, `turns/` | the queue of turns in each chat, and answering them |
//! | `stored/` | the engine's ports over the database, the router and the clients' events |
//! | `prompt/` | the parts of the prompt, one file each |
//! | `undo/`, `fork` | taking back turns and their files; copying a chat to continue it |
//! | `tasks` | background commands of a deleted chat |
//! | `administration`, `server_settings` | server-wide settings that administrators change while the server runs |
//! | `embedder`, `embedding` | the embedder of the whole server |
//! | `memorise` | proposals from chats that ended, by the swift model |
//! | `memories` | a user's memories, as the user sees and changes them |
//! | `preferences` | a user's settings for every agent |
//! | `rule_book/`, `rules` | permission rules, which apply before the approval mode; listing, adding and trying them |
//! | `detail` | a chat's details for clients, in addition to its messages |
//! | `running` | the running commands of each chat, their limit and their cancellation |
//! | `sending`, `sends` | handling a repeated message only once |
//! | `exec_document` | the document of a message that shows a command |
//! | `asks` | answers to questions in messages, from any surface; terminals' answers |
//! | `cards` | answers to cards, from any surface |
//! | `terminals` | the terminals in which messages were written, and what agents ask them for |
//! | `bus` | [`Bus`]: sends the chats' events to every subscriber |
//! | `transcript` | the beginning and the end of a command's output |
//! | `live` | the live text of messages in progress, for clients that connect later |
//! | `event`, `error` | the events, and the errors |
//! | [`limits`] | every limit and timeout |
//!
//! To add a chat command, add a file in `commands/` and a row to its table. To add a part of the prompt, add a file in `prompt/` and a
//! line to its list.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod administration;
mod asks;
mod attachments;
mod bus;
mod cards;
mod choices;
mod commands;
mod detail;
mod document;
mod embedder;
mod embedding;
mod error;
mod event;
mod exec_document;
mod export;
mod fork;
mod house;
mod judging;
mod languages;
pub mod limits;
mod live;
mod manage;
mod memories;
mod memorise;
mod model_choices;
pub mod models;
mod pictures;
mod preferences;
mod prompt;
mod queue;
mod recover;
mod rule_book;
mod rules;
mod running;
mod sending;
mod sends;
mod server_settings;
mod service;
mod shell;
mod stored;
pub mod subscriptions;
mod tasks;
mod terminals;
mod titles;
mod transcript;
mod turns;
mod undo;
mod views;

#[cfg(test)]
mod tests;

pub use self::cards::card_of;
pub use asks::{ASKS_AGAIN, Surface};
pub use attachments::Attached;
pub use bus::{Bus, Subscriber, Subscription};
pub use choices::Choices;
pub use commands::command_usages;
pub use detail::{ContextUse, Detail};
pub use error::{Error, Result};
pub use event::{Channel, ChatEvent, Part, Posted};
pub use export::{Export, Format};
pub use house::ChatService;
pub use languages::Languages;
pub use live::LivePiece;
pub use manage::{Excerpt, Find, Found, Page, Shown};
pub use memories::MemorySettings;
pub use models::ModelsConfig;
pub use preferences::Preferences;
pub use sends::{Answered, NewPost};
pub use store::{ApprovalRule, Author, Chat, ChatId, Message, MessageId, MessageRole, SubAgent};
pub use undo::{RestoredFile, TakeBack, TakenBack, Turns};
pub use views::{chat_view, message_view, shown_view};
