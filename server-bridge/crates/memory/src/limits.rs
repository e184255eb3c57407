//! The limits of memories.

use std::time::Duration;

/// The share of a memory's words that must be in the message that asks for it.
pub const ASKED_SHARE: f64 = 0.5;
/// Limit on the memories that are recalled for one message, in estimated tokens.
pub const RECALL_TOKENS: usize = 1_500;
/// Limit on the number of memories that are recalled for one message.
pub const RECALL_ITEMS: usize = 8;
/// The longest core block, in characters: 2,000 as in Letta.
pub const CORE_MAX_CHARS: usize = 2_000;
/// Limit on a user's notes in each prompt in the mode `flat`, in bytes; the latest notes are kept.
pub const NOTES_MAX_BYTES: usize = 16 * 1024;
/// Limit on the number of kept memories that the writer of a new one is shown, to decide which of them the new one makes untrue.
pub const CANDIDATES: usize = 5;
/// Limit on how much of the text of a kept memory is shown to the writer of a new one, in bytes.
pub const CANDIDATE_MAX_BYTES: usize = 300;
/// Words count as one if at least this share of the texts with either of them have both.
pub const TOGETHER_SHARE: f64 = 0.5;
/// The factor by which a text counts less for each better one that shares the same words with the new text.
pub const REPEATED: f64 = 0.7;
/// The number of best items that are ranked again so that each part of a message finds the items for it.
pub const SPREAD_ITEMS: usize = 64;
/// Limit on the number of items that one search returns.
pub const SEARCH_ITEMS: usize = 20;
/// How far the likeness of a memory to a question has to be above the mean of all memories, as a share of the distance from that mean
/// to 1. Measured with the built-in embedder on 22 questions and 12 memories: the right memory is 0.10 to 0.49 above the mean (median 0.2),
/// and the best of those that have nothing to do with the question 0.06 to 0.11.
pub const ABOVE_MEAN: f32 = 0.12;
/// The fewest memories with vectors whose mean is meaningful.
pub const COMPARED_MEMORIES: usize = 5;
/// The number of memories that are embedded in one step.
pub const EMBED_BATCH: u32 = 16;
/// The interval at which the server looks for memories without a vector.
pub const EMBED_PAUSE: Duration = Duration::from_secs(5);
