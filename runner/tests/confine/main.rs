//! The lower half of the runner against the real kernel: real processes, real layers.
//!
//! Where a test depends on a layer that the machine may lack, it asserts that the report mentions this.
#![allow(clippy::unwrap_used)]

mod developer;
mod git;
mod guardian;
mod intruder;
mod kill;
mod limits;
mod network;
mod profile;
mod signals;
mod socket_files;
mod spawn;
mod support;
mod terminal;
mod user;
