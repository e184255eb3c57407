//! Search in texts, without any I/O: what messages, memories and documents are found by.
//!
//! | module | holds |
//! |---|---|
//! | [`fuse`] | one ranking of several |
//! | [`limits`] | every limit |
//! | [`tokens`] | the words of texts and queries, for SQLite and PostgreSQL |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod fuse;
pub mod limits;
pub mod tokens;
