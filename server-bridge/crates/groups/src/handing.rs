//! Files that go from the agent of one step to the agent of the next one, machine to machine, through the server.
//!
//! ```text
//!   a step ends ─▶ are its outputs there? ─▶ … ─▶ the next step's call ─▶ row on record
//!        ─▶ read on one machine ─┬─▶ written on the other one, beside its place ─▶ read back, the same hash? ─▶ renamed into place ─▶ row ended
//!                                └─▶ listing, hash
//! ```
//! Nothing is held as a whole: pieces of at most 64 KiB pass. What dies in between is done again from the row on: what was written beside
//! its place is removed, and a directory that is in its place already is recognized by its hash.
//!
//! | module | holds |
//! |---|---|
//! | `listing` | the canonical listing of a tree, and its hash |
//! | `relay` | a tree as it passes: from the archives of its outputs to one archive |
//! | `find` | the outputs that are on a machine |
//! | `pass` | one hand-over, from reading to renaming |
//! | `carrier` | the tasks that do this beside the worker |
//! | `fault` | why something of it did not work |

mod carrier;
mod fault;
mod find;
mod listing;
mod pass;
mod relay;
#[cfg(test)]
mod tests;

pub(crate) use carrier::{Carrier, Checked, Pass, Passed};
