//! The turn: a model is asked, its calls are run, until it has said all. It asks ports for everything around it, and knows
//! neither the database nor what clients read.
//!
//! ```text
//! turn: [ ask the model ─▶ keep and show the answer ─▶ run its tools ─▶ keep the results ]* ─▶ end
//! ```
//! Everything is kept before the next step begins, so that a killed server loses nothing and does nothing twice: after a crash
//! the server reports what was in progress.
//!
//! | module | holds |
//! |---|---|
//! | `ports` | what a turn asks of the house around it |
//! | `turn` | the loop; which model it asks, and when it may begin |
//! | `tools_of_reply` | which calls of one answer run side by side |
//! | `pipeline/` | what the model is told before and beside the conversation |
//! | `agents/` | sub-agents: turns below a turn |

mod agents;
mod pipeline;
mod ports;
#[cfg(test)]
pub mod tests;
mod tools_of_reply;
mod turn;

pub use agents::{AtWork, Name, Named, TurnAncestry};
pub use pipeline::{Made, PromptContext, PromptPart, PromptParts};
pub use ports::{
    Asked, CallState, CallStatus, Card, Change, Display, Entry, Journal, ModelPool, NewSubAgent, Permissions,
    Ports, ReplyState, Stream, SubAgentTask, SubAgents, TurnEnd, Workplace,
};
pub use turn::{INTERRUPTED, Turn};
