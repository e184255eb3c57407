//! What people add to agents, and where it runs: on the user's own machine, confined, or through the guarded client; never on the
//! server.
//!
//! ```text
//!   engine: a place in a turn ─▶ hooks::HookRunner ─▶ crate `hooks` decides which handlers run, and what their results mean
//!                                       ├─ command: an exec on the user's machine, on record
//!                                       └─ http: one request by crate `guard`
//!   engine: a turn's tools ─▶ search::DeferredTools ─▶ what each source offers, and one search over all of it
//!                          │            ├─ mcp::McpServers ─▶ crate `rmcp` speaks the protocol
//!                          │            │     ├─ a program: an exec on the user's machine, on record
//!                          │            │     └─ an address: requests by crate `guard`
//!                          │            └─ http_tools::HttpTools ─▶ crate `http_tools` renders; requests by crate `guard`
//!                          └▶ custom_tools::CustomTools: an executable of the workspace, an exec on the user's machine, on record
//!   engine: a prompt ─▶ skills::AlwaysSkills: skills whose text stands in every prompt
//!   plugins::Plugins ─▶ skills and roles for the library, hooks for HookRunner, servers for McpServers
//! ```
//! Nothing of a workspace runs before its user approved the hash of what runs.
//!
//! | module | holds |
//! |---|---|
//! | [`hooks`] | hooks at the places of turns |
//! | `on_record`, `to_the_end` | execs of extensions on record; a command followed to its end |
//! | `machine` | the machine that an extension works on |
//! | `documents` | the documents that define extensions |
//! | `approvals` | what users approve of a workspace, and the audit trail |
//! | `schema` | schemas of tools of others, as models get them |
//! | `covered` | the files that an approval of a command covers |
//! | `condition` | the grammar of rules, for the conditions of hooks |
//! | `error` | [`Error`]: the errors for clients |
//! | [`mcp`] | MCP servers and their tools |
//! | [`custom_tools`] | executables of a workspace that are tools |
//! | [`commands`] | slash commands that are texts, of workspaces and plugins |
//! | [`plugins`] | skills, roles, commands, hooks and servers that a user installed as one thing |
//! | [`skills`] | skills whose text stands in every prompt |
//! | [`needs`] | what a machine lacks of what skills need |
//! | [`trust`] | everything that needs approval, in one list |
//! | [`http_tools`] | HTTP tools without code |
//! | [`manage_tools`] | a model's changes of the user's own servers and HTTP tools, each confirmed |
//! | [`logs`] | the server's log, for administrators |
//! | [`search`] | the deferred tools of all sources, and the tool that finds them |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod approvals;
pub mod commands;
mod condition;
mod covered;
pub mod custom_tools;
mod documents;
mod error;
pub mod hooks;
pub mod http_tools;
pub mod limits;
pub mod logs;
mod machine;
pub mod manage_tools;
pub mod mcp;
pub mod needs;
mod on_record;
pub mod plugins;
mod schema;
pub mod search;
pub mod skills;
mod to_the_end;
pub mod trust;

pub use error::{Error, Result};

use std::sync::Arc;

use futures_util::future::BoxFuture;
use store::{ChatId, UserId};

/// Shows a notice in a user's chat.
pub type Notice = Arc<dyn Fn(UserId, ChatId, String) -> BoxFuture<'static, ()> + Send + Sync>;
