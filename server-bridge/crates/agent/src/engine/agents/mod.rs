//! Sub-agents: turns below a turn.
//!
//! ```text
//!   turn of the chat ─ SubAgent ─▶ a chat of its own below it, a turn of the same loop ─▶ its last words are the result
//!        ▲    ▲                          │    │
//!        │    └── what it does: its card ┘    └─ what it asks: a card of its own in the user's chat
//!        └─ cancel, approval mode, place, tools: all of them the parent's, or less
//! ```
//! A call of the tool runs the sub-agent's whole turn within itself, so whatever ends the one ends the other. A sub-agent with
//! a name keeps its conversation for the next call.
//!
//! | module | holds |
//! |---|---|
//! | `ancestry` | the turns above a turn, and what they allow it |
//! | `delegation` | what a sub-agent is called for, and the card that shows it |
//! | `call` | one call, from its arguments to its result |
//! | `result` | what its parent is told of it |
//! | `at_work` | which sub-agents are at work |

mod ancestry;
mod at_work;
mod call;
mod delegation;
mod result;

pub use ancestry::TurnAncestry;
pub use at_work::{AtWork, Name};
pub(super) use call::call;
pub(super) use delegation::Delegation;

use records::SubAgent;

/// The agent that has a name.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// One that waits.
    Open(SubAgent),
    /// One that waited too long.
    Closed,
    /// There is none.
    Nobody,
}
