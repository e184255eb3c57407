//! Sub-agents: turns beneath a turn.
//!
//! ```text
//!   turn of the chat ─ SubAgent ─▶ a chat of its own beneath it, a turn of the same loop ─▶ its last words are the result
//!        ▲    ▲                          │    │
//!        │    └── what it does: its card ┘    └─ what it asks: a card of its own in the user's chat
//!        └─ cancel, approval mode, place, tools: all of them the parent's, or less
//! ```
//! A call of the tool runs the sub-agent's whole turn within itself, so whatever ends the one ends the other. A sub-agent with
//! a name keeps its conversation for the next call.
//!
//! | module | holds |
//! |---|---|
//! | `lineage` | what a turn is beneath, and what that allows it |
//! | `errand` | what a sub-agent is called for, and the card that shows it |
//! | `call` | one call, from its arguments to its result |
//! | `idle` | one with a name, which waits for its next call |
//! | `result` | what its parent is told of it |
//! | `at_work` | which sub-agents are at work |

mod at_work;
mod call;
mod errand;
mod idle;
mod lineage;
mod result;

pub(crate) use at_work::AtWork;
pub(crate) use call::{Caller, call};
pub(super) use errand::Errand;
pub use errand::SubAgentDocument;
pub(crate) use lineage::Lineage;
