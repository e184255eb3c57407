//! Tests of the store through its public interface, one module per area.

#![allow(clippy::unwrap_used)]

mod asks;
mod authors;
mod background;
mod chats;
mod claims;
mod database;
mod enrolment;
mod execs;
mod keys;
mod login_addresses;
mod memory_items;
mod message_index;
mod nodes;
mod one_time;
mod postgres;
mod runners;
mod search;
mod sub_agents;
mod support;
mod todos;
mod undo;
mod users;
