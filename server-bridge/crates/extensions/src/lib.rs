//! What people add to agents, and where it runs: on the user's own machine, confined, or through the guarded client; never on the
//! server.
//!
//! ```text
//!   engine: a place in a turn ─▶ hooks::HookRunner ─▶ crate `hooks` decides which handlers run, and what their results mean
//!                                       ├─ command: an exec on the user's machine, on record
//!                                       └─ http: one request by crate `guard`
//!   engine: a turn's tools ─▶ search::DeferredTools ─▶ what each source offers, and one search over all of it
//!                                       ├─ mcp::McpServers ─▶ crate `rmcp` speaks the protocol
//!                                       │     ├─ a program: an exec on the user's machine, on record
//!                                       │     └─ an address: requests by crate `guard`
//!                                       └─ http_tools::HttpTools ─▶ crate `http_tools` renders; requests by crate `guard`
//! ```
//! Nothing of a workspace runs before its user approved the hash of what runs.
//!
//! | module | holds |
//! |---|---|
//! | [`hooks`] | hooks at the places of turns |
//! | `on_record`, `documents` | execs of extensions on record; the documents that define extensions |
//! | `approvals` | what users approve of a workspace, and the audit trail |
//! | `schema` | schemas of tools of others, as models get them |
//! | `condition` | the grammar of rules, for the conditions of hooks |
//! | `error` | [`Error`]: the errors for clients |
//! | [`mcp`] | MCP servers and their tools |
//! | [`http_tools`] | HTTP tools without code |
//! | [`search`] | the deferred tools of all sources, and the tool that finds them |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod approvals;
mod condition;
mod documents;
mod error;
pub mod hooks;
pub mod http_tools;
pub mod limits;
pub mod mcp;
mod on_record;
mod schema;
pub mod search;

pub use error::{Error, Result};
