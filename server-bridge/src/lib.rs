//! The Sandbridge server and its client CLI: wiring, and nothing else.
//!
//! What a sandbox is stands in crate `sandbox`, what answers in a chat in `agent`, who may use
//! it in `accounts`, what is remembered in `store`. Here
//! they are joined: a request comes in by HTTP, its sender is authenticated, and their work goes to the place that the
//! routing rules name. A library as well as a binary, so that tests run a whole server inside their own process.
//!
//! | module | what is in it |
//! |---|---|
//! | [`config`] | every option of the server, and where its value comes from |
//! | [`serve`] | start, signals, clean shutdown |
//! | [`web`] | the HTTP API, the WebSockets, the embedded page; what every request shares |
//! | [`tls`] | certificates |
//! | [`admin`], [`backup`] | `sandbridge user …` and `sandbridge backup`, on the store itself |
//! | `here/` | `sandbridge here`: server, runner and chat for one directory |
//! | [`commands`] | what a person types: the commands on this machine, beside those of crate `client` |
//! | `failure` | a failed command on this machine, in words and with a kind |
//! | [`limits`] | every limit and timeout |
//!
//! A new HTTP route: see [`web`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod admin;
pub mod backup;
pub mod commands;
pub mod config;
mod failure;
mod here;
pub mod limits;
pub mod serve;
mod store_copy;
pub mod tls;
pub mod web;
