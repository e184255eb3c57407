//! A whole server in this process, asked from the outside: HTTP, WebSockets and runners that follow a script.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod audit;
mod chat_search;
mod chats;
mod confirm;
mod contract;
mod enrolment;
mod events;
mod exec;
mod files;
mod framing;
mod herd;
mod install;
mod isolation;
mod keys;
mod metrics;
mod page;
mod providers;
mod proxied;
mod require;
mod runner_socket;
mod runners;
mod sealed_keys;
mod sends;
mod session;
mod settings;
mod setup;
mod sign_ins;
mod start;
mod strangers;
mod support;
mod tasks;
mod typing;
mod users;
mod welcome;
mod xbot;
