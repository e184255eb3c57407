//! Channels let people use their chats from messengers. They are the same chats that the page shows.
//!
//! ```text
//!   event ─▶ inbox (committed, then acknowledged) ─▶ sender ─▶ the post, on record ─▶ posted to the user's chat, once
//!                                                                                             │
//!   messenger ◀─ sent in order, with a key ◀─ outbox ◀─ rendered when it is complete ◀─ its turn or its command
//! ```
//! An account is a bot on a messenger; crate `platforms` talks to messengers. If the server dies between two steps, the next server
//! continues from the stored rows: nothing is lost, and nothing is posted twice. If it is unknown whether a message was sent, the message
//! is sent again with the same key, or with a mark if the messenger does not support keys.
//!
//! Only people who are linked with a user are answered. To link, the page shows a code and the person sends it to the bot, never the reverse.
//!
//! | module | holds |
//! |---|---|
//! | `house` | the shared state: accounts that have a task, and services |
//! | `service` | [`Channels`]: listing, changing, testing accounts; links |
//! | `document` | the settings of accounts, and their check |
//! | `supervisor` | a task for each account, which connects it and reconnects |
//! | `pace` | the pauses before the next try |
//! | `lanes` | lines of work, each with at most one task |
//! | `work` | the task that starts the tasks of the lines |
//! | `inbox` | commits arriving events |
//! | `incoming` | turns an event into a message in a chat |
//! | `posting` | posts each message once |
//! | `bound` | messages in conversations that are bound to a group of people and agents |
//! | `bindings` | listing such conversations for the members of the group, and ending their bindings |
//! | `showing` | shows the log of the group in such a conversation |
//! | `gates` | the questions of the group's chains in such a conversation, their answers and outcomes |
//! | `logs` | the interface to these groups |
//! | `codes` | codes that link people |
//! | `asks` | questions as buttons or numbers, and the answers to them |
//! | `presses` | presses on buttons |
//! | `cards` | cards of agents as the messenger's own, and the answers to them |
//! | `offers` | choices below messages, as buttons or numbers |
//! | `settings` | the settings of a chat as buttons |
//! | `questions` | questions and cards as messengers show them |
//! | `changes` | chat messages whose questions have to be checked |
//! | `answers` | complete answers as messages for the messenger |
//! | `drafting` | the state of drafts, without I/O |
//! | `drafts` | drafts: answers that are shown while they are written |
//! | `words` | composes texts: quotations, outputs of commands |
//! | `outgoing` | sending, in order |
//! | `files` | files of messages, and files that are sent |
//! | `watch`, `notice` | the settings of notices for administrators; a notice |
//! | `notices` | the administrator's chat: finds events, and sends notices of them |
//! | `tools` | `Message` for agents |
//! | `views` | accounts as clients see them |
//! | [`limits`] | limits, with their units |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answers;
mod asks;
mod bindings;
mod bound;
mod cards;
mod changes;
mod codes;
mod document;
mod drafting;
mod drafts;
mod error;
mod files;
mod gates;
mod house;
mod inbox;
mod incoming;
mod lanes;
pub mod limits;
mod logs;
mod notice;
mod notices;
mod offers;
mod outgoing;
mod pace;
mod posting;
mod presses;
mod questions;
mod service;
mod settings;
mod showing;
mod supervisor;
mod tools;
mod views;
mod watch;
mod words;
mod work;

#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use house::Surroundings;
pub use logs::{GroupLogs, OpenGate, ShownGroup};
pub use service::Channels;
pub use watch::Watch;
