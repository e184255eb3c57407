//! Chains as data: the steps that several agents of a group do one after the other, and what a run does next.
//!
//! ```text
//!   steps ┐
//!   calls ├─▶ next ─▶ ask an agent (a call) │ ask a person (a gate) │ wait │ end
//!   gates ┘
//! ```
//! A run holds no state of its own: what it does next follows from its steps, the calls that were made for them and the gates that were
//! answered. Crate `groups` stores these and carries out what [`next()`] says; whatever is killed in between, [`next()`] says the same
//! again. The crate does no I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@next`] | what a run does next |
//! | [`text`] | a chain as text, both ways |
//! | [`handles`] | the agents of its steps |
//! | [`mod@check`] | the check of a definition |
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

pub use check::check;
pub use next::{Call, CallState, End, Gate, Next, Room, Run, Spent, next, replies};

/// Why a definition is refused, for people, with what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);
