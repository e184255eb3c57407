//! xbot's runners: the JSON text dialect of an older system, with the same handle as every other link.
//!
//! An xbot runner registers at `/ws/{user}` without the `sandbridge` extension; `handshake` detects this. From then on each of our requests is one
//! text message with an id, and so is each answer, in any order. Each request of a [`crate::Sandbox`] becomes one or a few of them here; requests
//! without a form in the dialect are refused with a typed error, never dropped silently.
//!
//! ```text
//!  handle ─ Command ─► Driver ─ spawns ─► Job ── Calls ──┐        one job a request of ours
//!                        │  ◄─── text to send, its id ───┘
//!                        │  ─── the answer of that id ───►  Job ── events ─► handle
//!                        └─ text, ping ─► socket ─ text, pong ─► Driver
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `driver` | the task that owns the socket, the keepalive and the pending calls |
//! | `calls` | requests on their way, by id |
//! | `wire` | the bodies of requests and answers, error codes |
//! | `convert` | file modes and times as Go writes them |
//! | `path` | paths that stay lexically in the workspace |
//! | `job` | serves one request of a handle |
//! | `exec`, `files` | the translation of such requests |
//!
//! The limits of an xbot runner: nothing there is confined, its guard against escapes from the workspace is a comparison of strings, nothing resumes,
//! output only arrives when a command has ended, a running command cannot be ended from here, and text that is not UTF-8 arrives with replacement
//! characters.

mod calls;
mod convert;
mod driver;
mod exec;
mod files;
mod job;
mod path;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use driver::{Peer, driver};
