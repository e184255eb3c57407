//! What a model is shown of its conversation, and how that stays within its window.
//!
//! What was said is kept as it was said. What is shown lies over it in the store, so that a prompt is the same bytes after the
//! server was started again, and grows at its end alone:
//!
//! | from | what is done | module |
//! |---|---|---|
//! | one long result | it is put aside; a summary and an id stay | `offload`, `summary` |
//! | 60 % of the window | lines take the place of old results | `mask` |
//! | 75 % of the window, or when the provider says that it is full | a summary takes the place of all but the end | `compress` |
//! | when the model wants it | messages are deleted, cut, changed | `edit` |
//!
//! | module | holds |
//! |---|---|
//! | `mode` | [`ContextMode`]: which of these layers work |
//! | `conversation` | [`Conversation`]: the request that grows, and how much of the window it takes |
//! | `history` | items as they are kept; every call with one result |
//! | `groups` | an answer that calls tools, and what they came to: what is never cut apart |
//! | `tokens` | about how many tokens something is |
//! | `meter` | what fills the window, for people |
//!
//! Nothing here asks a model or knows of turns: `engine` does.

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

pub use conversation::Conversation;
pub use mode::{ContextMode, UnknownContextMode};
