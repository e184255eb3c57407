//! The store as its callers use it, one module per area.

#![allow(clippy::unwrap_used)]

mod chats;
mod database;
mod enrolment;
mod execs;
mod runners;
mod sub_agents;
mod support;
mod users;
