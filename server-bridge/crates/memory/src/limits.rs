//! The limits of memories.

/// A text that is more similar than this to a memory is the same, and is not kept again. The number is Xiajiao's, for cosines.
pub const SAME_ABOVE: f64 = 0.85;
/// A text that is more similar than this to a memory replaces that memory's text. The number is Xiajiao's too.
pub const UPDATE_ABOVE: f64 = 0.7;
/// The share of a memory's words that have to be in the message that asks for it.
pub const ASKED_SHARE: f64 = 0.5;
/// The most tokens, estimated, of the memories that are recalled for one message.
pub const RECALL_TOKENS: usize = 1_500;
/// The most memories that are recalled for one message.
pub const RECALL_ITEMS: usize = 8;
/// The longest core block, in characters: 2,000 as in Letta.
pub const CORE_MAX_CHARS: usize = 2_000;
/// The most bytes of a user's notes in each prompt in the mode `flat`; the latest notes come first.
pub const NOTES_MAX_BYTES: usize = 16 * 1024;
/// The most items of one search.
pub const SEARCH_ITEMS: usize = 20;
