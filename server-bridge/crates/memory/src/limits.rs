//! The limits of memories.

/// Two texts that are more alike than this are the same: the second is not kept. The number is Xiajiao's, for cosines.
pub const SAME_ABOVE: f64 = 0.85;
/// A text that is more alike than this to one that is kept replaces it. The number is Xiajiao's too.
pub const UPDATE_ABOVE: f64 = 0.7;
/// The share of a memory's words that have to be in the message that asks for it.
pub const ASKED_SHARE: f64 = 0.5;
/// The most tokens of the memories that are recalled for one message, estimated.
pub const RECALL_TOKENS: usize = 1_500;
/// The most of them.
pub const RECALL_ITEMS: usize = 8;
/// The longest core block, in characters: 2,000 as in Letta.
pub const CORE_MAX_CHARS: usize = 2_000;
/// How much of a user's notes stands in each prompt in the mode `flat`, in bytes; the latest come first.
pub const NOTES_MAX_BYTES: usize = 16 * 1024;
/// The most items of one search.
pub const SEARCH_ITEMS: usize = 20;
