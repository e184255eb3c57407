//! The engine of an agent: a model that works with tools, turn by turn.
//!
//! The engine reaches everything around it through seven ports ([`engine::Ports`]), and depends on no database, HTTP document or process.
//! `chats` implements the ports over the server, and the engine's own tests implement them in memory.
//!
//! | module | holds |
//! |---|---|
//! | [`engine`] | a turn with a model: the loop, its ports, sub-agents, and the prompt |
//! | [`context`] | the part of a conversation that its model sees, kept within its window |
//! | [`tool`] | tools as the engine sees them, and their registry |
//! | [`models`] | the model that is asked and its stand-ins; the limit on answers in progress |
//! | [`approval`] | the actions that a model may take without asking |
//! | [`hooks`] | the points of a turn where hooks run: hooks watch it, and may deny its actions or have the user asked |
//! | [`ask`] | questions to people: one type for all of them, answered once |
//! | [`commands`] | slash commands of extensions |
//! | [`judge`] | a model's answer about a turn, outside of its conversation |
//! | [`library`] | the skills and roles of a workspace |
//! | [`live`] | output that is shown while it is written |
//! | [`mod@grouped`] | formatting large numbers for people |
//! | `cause` | [`Cause`]: why a turn failed |
//! | `error` | [`PortError`]: why a port could not do what it was asked |
//! | [`limits`] | every limit and timeout |
//!
//! A new tool is a file in the crate `tools`; a new part of the prompt is a file in `chats/src/prompt`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod approval;
pub mod ask;
mod cause;
pub mod commands;
pub mod context;
pub mod engine;
mod error;
pub mod grouped;
pub mod hooks;
pub mod judge;
pub mod library;
pub mod limits;
pub mod live;
pub mod models;
pub mod tool;
pub mod trust;

#[cfg(test)]
mod walls;

pub use cause::Cause;
pub use error::{PortError, PortResult};
