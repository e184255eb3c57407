//! Hands files over from the agent of one step to the agent of the next one, from machine to machine, through the server.
//!
//! ```text
//!   a step ends ─▶ do its outputs exist? ─▶ … ─▶ the next step's call ─▶ row on record
//!        ─▶ read on one machine ─┬─▶ written on the other one, under another name ─▶ read back, the same hash? ─▶ renamed into place ─▶ row ended
//!                                └─▶ listing, hash
//! ```
//! No file is held in memory as a whole: pieces of at most 64 KiB pass through. If the server dies in between, the hand-over is repeated from its
//! row: incomplete files are removed, and a directory that is already in place is recognized by its hash.
//!
//! | module | holds |
//! |---|---|
//! | `listing` | the canonical listing of a tree, and its hash |
//! | `relay` | joins the archives of the outputs into one archive while they pass through |
//! | `find` | finds the outputs on a machine |
//! | `pass` | one hand-over, from reading to renaming |
//! | `carrier` | the tasks that do this work, in parallel with the worker |
//! | `fault` | the reasons why finding or handing over failed |

mod carrier;
mod fault;
mod find;
mod listing;
mod pass;
mod relay;
#[cfg(test)]
mod tests;

pub(crate) use carrier::{Carrier, Checked, Pass, Passed};
