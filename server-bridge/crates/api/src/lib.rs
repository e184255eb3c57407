//! The shapes of the HTTP API: every document, event, frame and error, declared once.
//!
//! The server constructs these types, the command line and the terminal UI read them, and the page's types are generated
//! from them by way of the OpenAPI description. The crate does no I/O and depends on nothing of ours. To change a shape
//! safely: a field that other versions may lack gets `#[serde(default)]`, with `#[schema(required)]` where this server
//! always sends it; readers ignore fields they do not know; a word or a frame they do not know becomes `Unknown`.
//!
//! | module | holds |
//! |---|---|
//! | [`exec`] | the exec socket: its request, the frames of both ends, and the views of an exec on record |
//! | [`event`] | the events of `GET /api/v1/events` |
//! | [`chat`] | conversations and their messages |
//! | [`document`] | the documents that stand in messages: commands, answers, tools, approvals |
//! | [`model`] | the models that answer |
//! | [`runner`] | registered machines |
//! | [`server`] | the settings of the whole server |
//! | [`error`] | the body of every answer that says no |
//! | [`words`] | texts that are one of some words, as enums |
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod approval;
pub mod chat;
pub mod document;
pub mod error;
pub mod event;
pub mod exec;
mod lenient;
pub mod model;
pub mod runner;
pub mod server;
pub mod words;
