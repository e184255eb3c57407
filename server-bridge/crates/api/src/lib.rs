//! The types of the HTTP API: every document, event, frame and error, declared once.
//!
//! The server constructs these types, the command line and the terminal UI read them, and the page's types are generated
//! from them by way of the OpenAPI description. The crate does no I/O and depends on no other crate of this project. To
//! change a shape safely: a field that other versions may lack gets `#[serde(default)]`, with `#[schema(required)]` where
//! this server always sends it; readers ignore fields they do not know; a word or a frame they do not know becomes
//! `Unknown`. A field that holds a text of the server is marked as one, and translated when the document is written ([`language`]).
//!
//! | module | holds |
//! |---|---|
//! | [`exec`] | the exec socket: its request, the frames of both sides, and the views of an exec on record |
//! | [`event`] | the events of `GET /api/v1/events` |
//! | [`chat`] | conversations and their messages |
//! | [`document`] | the documents in messages: commands, answers, tools, approvals |
//! | [`card`] | cards that an agent shows, and people's answers to them |
//! | [`model`] | models and subscriptions |
//! | [`turn`] | answers to a model's questions, and undo |
//! | [`tui`] | the terminal UI as an agent operates it |
//! | [`runner`] | registered machines |
//! | [`hooks`] | hooks at the points of a turn |
//! | [`plugin`] | plugins |
//! | [`problem`] | problems of files, plugins and machines |
//! | [`trust`] | what a workspace defines and its user must approve |
//! | [`http_tools`] | HTTP tools without code |
//! | [`knowledge`] | collections of documents, and the results of searches |
//! | [`mcp`] | MCP servers and their tools |
//! | [`rules`] | permission rules |
//! | [`group`] | groups: people and agents who share a log |
//! | [`workspace`] | the folders of a group's agents, and the documents in them |
//! | [`chain`] | chains: steps that several agents carry out, and their runs |
//! | [`channel`] | accounts on messengers |
//! | [`automation`] | automations: schedules and triggers |
//! | [`settings`] | the active place, and a user's settings for every agent |
//! | [`mod@file`], [`container`], [`task`] | files, containers, and background commands |
//! | [`session`], [`account`], [`key`] | the current user, accounts, keys for programs |
//! | [`node`] | servers that share one database |
//! | [`server`], [`server_settings`], [`usage`], [`audit`] | the server and its settings, the usage of models, the audit trail |
//! | [`error`] | the body of error responses |
//! | [`language`] | the languages of the server's texts, and their translation |
//! | [`words`] | texts with a fixed set of values, as enums |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod account;
mod approval;
pub mod audit;
pub mod automation;
pub mod card;
pub mod chain;
pub mod channel;
pub mod chat;
pub mod container;
pub mod document;
pub mod error;
pub mod event;
pub mod exec;
pub mod file;
pub mod group;
pub mod hooks;
pub mod http_tools;
pub mod key;
pub mod knowledge;
pub mod language;
mod lenient;
mod line;
pub mod mcp;
pub mod memory;
pub mod model;
pub mod node;
pub mod plugin;
pub mod problem;
pub mod rules;
pub mod runner;
pub mod server;
pub mod server_settings;
pub mod session;
pub mod settings;
pub mod task;
pub mod trust;
pub mod tui;
pub mod turn;
pub mod usage;
pub mod words;
pub mod workspace;

pub use line::to_line;
