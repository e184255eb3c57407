//! The decisions about hooks: which of them run at an event, what data they get, and what their results mean together.
//!
//! There is no I/O here, no clock and no lock. A caller provides the documents, runs the handlers and measures the time.
//!
//! ```text
//!   documents ─▶ layers::load ─▶ Hooks ─▶ Round::begin ─▶ next ─▶ Step ─▶ (the caller runs it) ─▶ answer ─▶ … ─▶ Combined
//! ```
//! These rules apply whatever a document contains: adding handlers never removes a denial; a workspace's hook never allows
//! and never rewrites; nothing of a workspace runs before its hash was approved; a failure never allows.
//!
//! | module | holds |
//! |---|---|
//! | [`event`] | the events, their names, and what a block does at each |
//! | [`dialect`] | our names and peers' names of tools, arguments and modes |
//! | [`config`] | the documents that define hooks |
//! | [`handler`] | the action of a hook, and the rules under which it runs |
//! | [`matcher`], [`condition`] | the calls that a hook applies to |
//! | [`layers`] | the documents of all layers, approvals, hashes: what is loaded |
//! | [`happening`] | an event with its data, in a session |
//! | [`payload`] | the data that a handler gets: secrets, size, dialect |
//! | [`command`], [`interpolate`] | the arguments and variables of commands; `${…}` in arguments, addresses and headers |
//! | [`outcome`] | the meaning of one handler's result |
//! | [`combine`] | the meaning of all results together |
//! | [`round`] | the handlers of one event, one after the other |
//! | [`sample`] | sample happenings, to try hooks on |
//! | [`limits`] | every limit and timeout |
//! | [`strict`] | JSON without duplicate names, and its canonical text |
//! | `glob` | globs |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod combine;
pub mod command;
pub mod condition;
pub mod config;
pub mod dialect;
pub mod event;
mod glob;
pub mod handler;
pub mod happening;
pub mod interpolate;
pub mod layers;
pub mod limits;
pub mod matcher;
pub mod outcome;
pub mod payload;
pub mod round;
pub mod sample;
pub mod strict;

pub use combine::{Combined, Verdict};
pub use condition::{Call, Condition};
pub use event::Event;
pub use happening::{Happening, Session};
pub use layers::{Hooks, Layer, Loaded, load};
pub use outcome::{Raw, Said, result_text};
pub use round::{Round, Setting, Step};
