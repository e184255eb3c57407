//! Tests of every platform with a stand-in for its servers: nothing is lost, duplicated or refused.
#![allow(clippy::unwrap_used, missing_docs)]

mod discord;
mod long;
mod matrix;
mod slack;
mod support;
mod telegram;
