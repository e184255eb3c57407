//! Search in messages, memories and documents, without any I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`chunks`] | passages of a text, with their headings |
//! | [`bm25`] | texts ranked by the words of a question |
//! | [`fuse`] | combines several rankings into one |
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
