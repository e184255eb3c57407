//! Search in texts, without any I/O: what messages, memories and documents are found by.
//!
//! | module | holds |
//! |---|---|
//! | [`chunks`] | passages of a text, with their headings |
//! | [`bm25`] | texts ranked by the words of a question |
//! | [`fuse`] | one ranking of several |
//! | [`tokens`] | the words of texts and queries, for SQLite and PostgreSQL |
//! | [`vectors`] | vectors, and the nearest of many |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bm25;
pub mod chunks;
pub mod fuse;
pub mod limits;
pub mod tokens;
pub mod vectors;
