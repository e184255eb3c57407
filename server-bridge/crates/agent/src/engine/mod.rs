//! The turn: a model is asked and its calls are run until it is done. A turn reaches everything around it through ports, and depends on
//! neither the database nor the clients' documents.
//!
//! ```text
//! turn: [ ask the model ─▶ keep and show the answer ─▶ run its tools ─▶ keep the results ]* ─▶ end
//! ```
//! Everything is recorded before the next step begins, so that a killed server loses nothing and repeats nothing: the next run of the
//! server resumes the turn from its record (`turn/go_on`).
//!
//! | module | holds |
//! |---|---|
//! | `ports` | the turn's interface to the server around it |
//! | `turn` | the loop, the choice of the model, and the wait to begin |
//! | `tools_of_reply` | which calls of one answer run side by side |
//! | `pipeline/` | the system prompt, and the notes within the conversation |
//! | `agents/` | sub-agents: turns below a turn |

mod agents;
mod pipeline;
mod ports;
#[cfg(test)]
pub mod tests;
mod tools_of_reply;
mod turn;

pub use agents::{AtWork, Background, CalledFrom, Name, Named, TurnAncestry};
pub use pipeline::{Made, PromptContext, PromptPart, PromptParts};
pub use ports::{
    Asked, BackgroundAgents, BackgroundMessage, BackgroundTask, Begins, CallState, CallStatus, Called,
    CalledAgent, Card, Change, Display, Entry, Journal, Left, ModelPool, NewSubAgent, Permissions, Ports,
    ReplyState, Stream, SubAgentEnd, SubAgentTask, SubAgents, TurnEnd, Workplace,
};
pub use turn::Turn;
