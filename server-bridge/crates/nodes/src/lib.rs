//! Nodes: servers that share one PostgreSQL database. Each user has one home, the node that works for them.
//!
//! The database decides who is alive and whose home a user has (`store`, modules `nodes` and `homes`); this crate is the part that runs in each
//! server: it renews the lease, claims homes when they are needed, and takes over the work of dead nodes.
//!
//! ```text
//!  a change for a user ──► refused: no home here ──► claim ──► settle the last home's work ──► the change, again
//!  each 2 s ──► sweep: users with unfinished work whose node is dead ──► settle
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`lease`] | what the responses to renewals mean; no I/O |
//! | [`service`] | the tasks: renewing, claiming, sweeping, draining, leaving |
//! | [`limits`] | every limit and time |
//!
//! A node without a key of its own cannot forward requests, so it works alongside no other live node. Crate `peers` does
//! the forwarding.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod lease;
pub mod limits;
pub mod service;

pub use service::{CLAIMS, EndWork, Home, Nodes, Settle};
pub use store::REFUSED_FENCES;
