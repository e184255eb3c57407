//! Every limit of this crate.

/// The size of a passage unless a caller sets another, in estimated tokens: three or four paragraphs. The built-in embedder reads 512 tokens
/// at once, and an estimate may be exceeded by half (source code, numbers, rare words).
pub const PASSAGE_TOKENS: usize = 256;

/// The smallest passage size that a caller may set, in estimated tokens. Smaller ones are raised to it.
pub const PASSAGE_TOKENS_MIN: usize = 16;

/// The longest heading that is kept, in characters; the rest is cut off.
pub const HEADING_CHARACTERS: usize = 160;

/// The most numbers of a vector: twice the largest model's of today.
pub const DIMENSIONS: usize = 8192;
