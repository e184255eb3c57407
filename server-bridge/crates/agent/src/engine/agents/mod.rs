//! Sub-agents: turns below a turn.
//!
//! ```text
//!   turn of the chat ─ SubAgent ─▶ a chat below it, a turn of the same loop ─▶ its last message is the result
//!        ▲    ▲                          │    │
//!        │    └── its progress: its card ┘    └─ its questions: a separate card in the user's chat
//!        └─ cancel, approval mode, place, tools: all of them the parent's, or less
//! ```
//! A call of the tool runs the sub-agent's whole turn within itself, so whatever ends the one ends the other. When a restarted server
//! resumes an interrupted turn, the call finds its sub-agent by the card that shows it, and resumes that sub-agent's turn.
//! A sub-agent with a name keeps its conversation for the next call. A sub-agent in the background outlives its call: see `background`.
//!
//! | module | holds |
//! |---|---|
//! | `ancestry` | the turns above a turn, and the permissions it inherits |
//! | `delegation` | a sub-agent's task, and the card that shows its work |
//! | `call` | one call, from its arguments to its result |
//! | `background` | sub-agents whose calls do not wait for them |
//! | `result` | the result that its parent gets |
//! | `at_work` | the running sub-agents |

mod ancestry;
mod at_work;
mod background;
mod call;
mod delegation;
mod result;

pub use ancestry::TurnAncestry;
pub use at_work::{AtWork, Name};
pub use background::{Background, CalledFrom};
pub(super) use call::call;
pub(super) use delegation::Delegation;

use records::SubAgent;

/// The result of looking up an agent by name.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// The agent that can be called.
    Open(Box<SubAgent>),
    /// An agent of this name that has not been called for too long.
    Closed,
    /// No agent has this name.
    Nobody,
}
