//! End-to-end tests: the built programs, talked to as people and programs talk to them.
#![allow(clippy::unwrap_used, missing_docs)]

mod attacks;
mod bad_input;
mod chat;
mod confinement;
mod docker;
mod exec;
mod files;
mod panel;
mod python;
mod routing;
mod scripts;
mod survivors;
mod tidy;
mod xbot;
