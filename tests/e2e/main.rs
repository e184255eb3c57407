//! End-to-end tests: the built programs, talked to as people and programs talk to them.
#![allow(clippy::unwrap_used, missing_docs)]

mod attacks;
mod bad_input;
mod chat;
mod confinement;
mod docker;
mod docker_engine;
mod docker_inside;
mod docker_limits;
mod docker_own;
mod docker_runner;
mod docker_trouble;
mod exec;
mod files;
mod life;
mod load;
mod mcp;
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
