//! End-to-end tests: the built programs, talked to as people and programs talk to them.
#![allow(clippy::unwrap_used, missing_docs)]

mod attacks;
mod bad_input;
mod bombs;
mod chat;
mod confinement;
mod docker;
mod exec;
mod files;
mod life;
mod load;
mod mcp;
mod network;
mod panel;
mod python;
mod resume;
mod routing;
mod scripts;
mod shell;
mod survivors;
#[path = "../../pathguard/tests/support/tar.rs"]
#[allow(dead_code)]
mod tar;
mod tidy;
mod xbot;
