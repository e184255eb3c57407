//! The Sandbridge server and its client CLI: only the wiring of the other crates.
//!
//! The sandboxes are in crate `sandbox`, the agent in `agent`, accounts in `accounts`, the database in `store`. This crate
//! joins them: a request arrives over HTTP, its sender is authenticated, and the work is sent to the place that the routing
//! rules name. It is a library as well as a binary, so that tests can run a whole server in their own process.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | every option of the server, and the sources of its value |
//! | [`serve`] | start, signals, clean shutdown |
//! | [`extended`] | everything that people add to agents, put together |
//! | [`web`] | the HTTP API, the WebSockets, the embedded page; what every request shares |
//! | [`tls`] | certificates |
//! | [`admin`], [`backup`] | `sandbridge user …` and `sandbridge backup`, on the store itself |
//! | `here/` | `sandbridge here`: server, runner and chat for one directory |
//! | [`commands`] | the commands on this machine, in addition to those of crate `client` |
//! | `failure` | a failed command on this machine, in words and with a kind |
//! | `log_ring` | the last lines of the process's log, in memory |
//! | [`limits`] | every limit and timeout |
//!
//! A new HTTP route: see [`web`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod admin;
pub mod backup;
pub mod commands;
pub mod config;
pub mod extended;
mod failure;
mod here;
pub mod limits;
mod log_ring;
pub mod serve;
mod store_copy;
pub mod tls;
pub mod web;
