//! The engine of an agent: a model that works with tools, turn by turn.
//!
//! It asks six ports for everything around it ([`engine::Ports`]), and knows neither a database nor an HTTP document nor a process:
//! `chats` has those ports over the house, the engine's own tests have them in memory.
//!
//! | module | holds |
//! |---|---|
//! | [`engine`] | a turn with a model: the loop, its ports, sub-agents, and what a model is told before the conversation |
//! | [`context`] | what a model is shown of its conversation, and how that stays within its window |
//! | [`tool`] | what a tool is to the engine, and the registry of all of them |
//! | [`models`] | the model that is asked and those that stand in for it; how many answers may be under way |
//! | [`approval`] | what a model may do without asking |
//! | [`hooks`] | places where hooks hang: they watch turns, and may deny or question what those do |
//! | [`ask`] | questions to people: one shape for all of them, answered once |
//! | [`library`] | skills and roles, as a workspace offers them |
//! | [`live`] | output that is shown while it is written |
//! | [`mod@grouped`] | large numbers for people |
//! | `error` | [`PortError`]: why a port could not do what it was asked |
//! | [`limits`] | every limit and timeout |
//!
//! A new tool is a file of crate `tools`; a new part of the prompt, a file of `chats/src/prompt`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod approval;
pub mod ask;
pub mod context;
pub mod engine;
mod error;
pub mod grouped;
pub mod hooks;
pub mod library;
pub mod limits;
pub mod live;
pub mod models;
pub mod tool;

#[cfg(test)]
mod walls;

pub use error::{PortError, PortResult};
