//! Knowledge with a real store: what is found by its meaning, and documents that cannot be indexed now.
#![allow(clippy::unwrap_used)]

mod meaning;
mod room;
