//! Chains as data: the steps that several agents of a group do one after the other, and the rule that determines what a run does next.
//!
//! ```text
//!   steps ┐
//!   calls ├─▶ next ─▶ ask an agent (a call) │ ask a person (a gate) │ wait │ end
//!   gates ┘
//! ```
//! A run has no state of its own: its next action follows from its steps, the calls made for them and the answered gates. Crate
//! `groups` stores these and carries out the action that [`next()`] returns; if the server is killed in between, [`next()`] returns the
//! same action again. This crate does no I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@next`] | computes what a run does next |
//! | [`text`] | reads and writes chains as text |
//! | [`handles`] | the agents of its steps |
//! | [`mod@check`] | checks definitions |
//! | [`prompt`] | the text that a step's agent gets |
//! | [`limits`] | limits, with their units |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod check;
pub mod handles;
pub mod limits;
pub mod next;
pub mod prompt;
pub mod text;

#[cfg(test)]
mod tests;

pub use check::{check, check_size};
pub use next::{Call, CallState, End, Gate, Next, Room, Run, Spent, next, replies};

/// The reason why a definition is refused, as a text for people that includes what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);
