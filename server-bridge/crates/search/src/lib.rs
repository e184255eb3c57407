//! Search in texts, without any I/O: what messages, memories and documents are found by.
//!
//! | module | holds |
//! |---|---|
//! | [`fuse`] | one ranking of several |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod fuse;
