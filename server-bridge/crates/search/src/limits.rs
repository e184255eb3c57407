//! The limits of searching.

/// The longest word that is indexed, in bytes; a longer one is found by this beginning.
pub const TOKEN_MAX_BYTES: usize = 96;
/// The most words of one tsvector. PostgreSQL numbers at most 16,383 positions, keeps 256 of one word, and limits a tsvector to 1 MiB: 2,000 words of
/// 96 bytes, each with a stem and as part of a longer one, stay below that.
pub const PART_WORDS: usize = 2_000;
/// The words that a tsvector repeats from the one before, so that no phrase is between two: the most words of a term.
pub const PART_OVERLAP: usize = TERM_MAX_WORDS;
/// How much of a query is read, in bytes.
pub const QUERY_MAX_BYTES: usize = 4 * 1024;
/// The most terms of a query; the rest is ignored.
pub const QUERY_MAX_TERMS: usize = 32;
/// The most words of one term of a query, which are a phrase; the rest is ignored.
pub const TERM_MAX_WORDS: usize = 200;
/// The most different words of a query that is to find any of them.
pub const QUERY_MAX_WORDS: usize = 64;
