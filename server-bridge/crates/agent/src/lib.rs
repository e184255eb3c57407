//! What answers in a chat: slash commands, `!command`, and a model that works with tools.
//!
//! A [`ChatService`] takes what a user wrote into a chat, stores it, and answers. What changes later (a running
//! command's output above all) is told through a sink of [`ChatEvent`]s, which the web layer spreads to the user's
//! clients. Where a command runs is never decided here: a `Wish` is put together from the chat's binding and the user's
//! setting, and the router answers with a sandbox handle that hides which machine it is on.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`ChatService`]: post, cancel, recover, shut down |
//! | `commands/` | one file per command, and the table of them |
//! | `shell/` | a `!command` while it runs: decoding, the live view, head and tail, the file that keeps it whole |
//! | `recover` | goes on with what an earlier server left running |
//! | [`approval`] | what a model may do without asking |
//! | [`models`] | which model a chat asks: the server's own, those that users bring, what stands in for them |
//! | `questions` | what a model waits for: an approval, an answer |
//! | `turns/` | which chat's turn is next |
//! | `engine/` | a turn with a model: the loop, and the ports that it asks |
//! | `stored/` | those ports over the database, the router and the clients' events |
//! | `prompt/` | what a model is told before and beside the conversation: one file per part |
//! | `context/` | what a model is shown of its conversation, and how that stays within its window |
//! | `tool/` | what a tool is to the engine, and the registry of all of them |
//! | `tools/` | what a model may do: one file per tool |
//! | [`web`] | reading the internet for a model: fetching a page, searching |
//! | `undo/`, `fork` | turns that are taken back, and their files; a chat that goes on as two |
//! | `tasks` | commands that go on by themselves |
//! | `library/` | skills and roles, as a workspace offers them |
//! | `preferences` | what a user wants of every agent |
//! | `detail` | what a client is shown of a chat beside its messages |
//! | `running` | which commands run in which chat; their limit and their cancellation |
//! | `sends` | messages that a client sends again, and that are done once |
//! | `exec_document` | what a message says of the command it shows, as clients read it |
//! | `place` | where the work of a chat should go |
//! | `told` | what was told live of messages under way, for clients that come later |
//! | `grouped` | large numbers for people |
//! | `event`, `error` | what is told, and what can go wrong |
//! | [`limits`] | every limit and timeout |
//!
//! A new chat command: a file in `commands/` and a row of its table. A new tool: a file in `tools/`
//! and a line of `tools::add_all`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod approval;
mod commands;
mod context;
mod detail;
mod engine;
mod error;
mod event;
mod exec_document;
mod fork;
mod grouped;
mod library;
pub mod limits;
pub mod models;
mod place;
mod preferences;
mod prompt;
mod questions;
mod recover;
mod running;
mod sends;
mod service;
mod shell;
mod stored;
mod tasks;
mod told;
mod tool;
mod tools;
mod turns;
mod undo;
pub mod web;

#[cfg(test)]
mod tests;

pub use commands::command_usages;
pub use detail::ContextUse;
pub use error::{Error, Result};
pub use event::{Channel, ChatEvent, Part, Posted};
pub use exec_document::ExecDocument;
pub use execs::{Ending, follow, sandbox_user, wish_for};
pub use models::{ModelSetup, ModelsConfig};
pub use place::wish;
pub use preferences::Preferences;
pub use sends::{Answered, Saying};
pub use service::{ChatService, EventSink};
pub use stored::{
    AgentDocument, ApprovalDocument, ApprovalPart, ApprovalPlace, SubAgentDocument, TodoDocument, ToolData,
    UsageDocument,
};
pub use told::Told;
pub use tool::schema_of;
pub use tools::utc_day;
pub use undo::{RestoredFile, TakeBack, TakenBack, Turns};
