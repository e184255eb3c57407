//! Every limit of this crate.

/// The size of a passage unless a caller sets another, in estimated tokens: three or four paragraphs. The built-in embedder reads 512 tokens
/// at once, and an estimate may be exceeded by half (source code, numbers, rare words).
pub const PASSAGE_TOKENS: usize = 256;

/// The smallest passage size that a caller may set, in estimated tokens. Smaller ones are raised to it.
pub const PASSAGE_TOKENS_MIN: usize = 16;

/// The longest heading that is kept, in characters; the rest is cut off.
pub const HEADING_CHARACTERS: usize = 160;

/// The maximum number of dimensions of a vector: twice as many as the largest models had in 2026.
pub const DIMENSIONS: usize = 8192;

/// The longest word that is indexed, in bytes; of a longer word, only the beginning of this size is indexed.
pub const TOKEN_MAX_BYTES: usize = 96;
/// The maximum number of words of one tsvector. PostgreSQL numbers at most 16,383 positions, keeps 256 of one word, and
/// limits a tsvector to 1 MiB: 2,000 words of 96 bytes, each with a stem and as part of a longer one, stay below that.
pub const PART_WORDS: usize = 2_000;
/// The number of words that a tsvector repeats from the one before it, so that every phrase is complete in one of them: the maximum length of a term.
pub const PART_OVERLAP: usize = TERM_MAX_WORDS;
/// How much of a query is read, in bytes.
pub const QUERY_MAX_BYTES: usize = 4 * 1024;
/// The maximum number of terms of a query; the rest is ignored.
pub const QUERY_MAX_TERMS: usize = 32;
/// The maximum number of words of one term of a query, which are a phrase; the rest is ignored.
pub const TERM_MAX_WORDS: usize = 200;
/// The maximum number of different words of a query for texts with any of its words.
pub const QUERY_MAX_WORDS: usize = 64;

/// The version of the words that passages are found by. A change of [`with_titles`](crate::chunks::with_titles) or of the
/// analyzer raises it, and servers then recreate the words of older passages. 1: with the titles of documents.
pub const ANALYSIS: i64 = 1;
