//! The part of a conversation that its model sees, kept within the model's window.
//!
//! Items are stored unchanged. Edits, masks and summaries are stored as layers over them, so that a prompt has the same bytes
//! after a restart of the server and grows only at its end:
//!
//! | trigger | action | module |
//! |---|---|---|
//! | one long result | it is put aside; a summary and an id stay | `offload`, `summary` |
//! | at 60 % of the window | lines replace old results | `mask` |
//! | at 75 % of the window, or when the provider reports that it is full | a summary replaces all but the end | `compress` |
//! | a request of the model | messages are deleted, cut, changed | `edit` |
//!
//! | module | holds |
//! |---|---|
//! | `mode` | [`ContextMode`]: which of these layers are on |
//! | `conversation` | [`Conversation`]: the request that grows, and how much of the window it uses |
//! | `history` | stored items as the model sees them, with one result for every call |
//! | `groups` | an answer that calls tools, with their results: never split |
//! | `tokens` | token estimates |
//! | `meter` | a summary for people of what fills the window |
//!
//! Nothing in this module asks a model or depends on turns; `engine` does that.

pub mod compress;
pub mod conversation;
pub mod edit;
mod groups;
pub mod history;
pub mod mask;
pub mod meter;
mod mode;
pub mod offload;
mod summary;
pub mod tokens;

pub use conversation::{Conversation, LastAnswer};
pub(crate) use history::NO_RESULT;
pub use mode::{ContextMode, UnknownContextMode};
