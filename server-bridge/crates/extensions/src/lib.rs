//! Extensions that people add to agents. They run on the user's own machine, confined, or through the guarded client; never on
//! the server.
//!
//! ```text
//!   engine: a place in a turn ─▶ hooks::HookRunner ─▶ crate `hooks` decides which handlers run, and what their results mean
//!                                       ├─ command: an exec on the user's machine, recorded
//!                                       └─ http: one request by crate `guard`
//!   engine: a turn's tools ─▶ search::DeferredTools ─▶ what each source offers, and one search over all of it
//!                          │            ├─ mcp::McpServers ─▶ crate `rmcp` speaks the protocol
//!                          │            │     ├─ a program: an exec on the user's machine, recorded
//!                          │            │     └─ an address: requests by crate `guard`, or by a runner in its network (`via`)
//!                          │            ├─ http_tools::HttpTools ─▶ crate `http_tools` renders; requests as for MCP
//!                          │            └─ service_logins::ServiceLogins ─▶ the same, with the token of the user's own login
//!                          └▶ custom_tools::CustomTools: an executable of the workspace, an exec on the user's machine, recorded
//!   engine: a prompt ─▶ skills::AlwaysSkills: skills whose text is in every prompt
//!   plugins::Plugins ─▶ skills and roles for the library, hooks for HookRunner, servers for McpServers
//! ```
//! Nothing that a workspace defines runs before its user has approved the hash of what would run.
//!
//! | module | holds |
//! |---|---|
//! | [`hooks`] | hooks at the places of turns |
//! | `on_record`, `to_the_end` | recorded execs of extensions; a command followed to its end |
//! | `machine` | the machine that an extension works on |
//! | `via` | requests from the network of one of the user's machines |
//! | `documents` | the documents that define extensions |
//! | `approvals` | what users approve of a workspace, and the audit trail |
//! | `schema` | schemas of third-party tools, as models get them |
//! | `covered` | the files that an approval of a command covers |
//! | `condition` | the grammar of rules, for the conditions of hooks |
//! | `error` | [`Error`]: the errors for clients |
//! | [`mcp`] | MCP servers and their tools |
//! | [`custom_tools`] | executables of a workspace that are tools |
//! | [`commands`] | slash commands defined by text files of workspaces and plugins |
//! | [`plugins`] | skills, roles, commands, hooks and servers that a user installed together |
//! | [`skills`] | skills whose text is in every prompt |
//! | [`needs`] | the programs and variables that skills need and a machine lacks |
//! | [`trust`] | everything that needs approval, in one list |
//! | [`http_tools`] | HTTP tools without code |
//! | [`service_logins`] | users' logins to services, and the services' tools, which use each user's own token |
//! | `way_back` | the address to which a login's provider sends the browser back |
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
pub mod service_logins;
pub mod skills;
mod to_the_end;
pub mod trust;
mod via;
mod way_back;

pub use error::{Error, Result};

use std::sync::Arc;

use futures_util::future::BoxFuture;
use store::{ChatId, UserId};

/// Shows a notice in a user's chat.
pub type Notice = Arc<dyn Fn(UserId, ChatId, String) -> BoxFuture<'static, ()> + Send + Sync>;
