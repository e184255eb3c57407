//! Groups: people and agents in one append-only log, and chains of agents.
//!
//! ```text
//!   a message ─▶ entry + a call for each asked agent ─▶ posted to the agent's chat, once ─▶ the answer: entry + end of the call
//!   a chain   ─▶ run ─▶ a call for each step ───────────────┘        │
//!                 └─▶ gates: stored questions            on its owner's machine, in its owner's name
//! ```
//! A call is a row that is written in the same transaction as the message or step that asks. If the server dies between two steps, the next
//! server continues from the rows: each call is posted once and answered once. Chats belong to their owners: each agent works in a chat of
//! its owner, where the owner sees and approves its work. The author of an entry in the log is information for agents, never a permission: a
//! call is checked against the rights of the person who asked when it is made, and again when it is posted.
//!
//! | module | holds |
//! |---|---|
//! | `house` | the state that the modules share |
//! | `service` | [`Groups`]: groups, people, agents, grants |
//! | `log` | reading the log and posting to it |
//! | `shown` | the logs that are shown on a messenger |
//! | `mentions` | the agents that a text asks |
//! | `rights` | who may do what |
//! | `worker` | the task that carries out calls and runs of chains |
//! | `calls` | one call, from asking the agent to its answer |
//! | `ask` | the text that asks an agent |
//! | `runs` | chains and their runs |
//! | `budget` | the room in the budgets of runs, beside the requests to models that are under way |
//! | `spending` | the requests of turns that work for a run, held against its budget |
//! | `chain_text` | chains that are being written |
//! | `files` | the files of a call: those from the previous step, and those for the next one |
//! | `handing` | hands files over from one machine to another |
//! | `chain_templates` | templates of chains |
//! | `known` | the records of a run |
//! | `talk` | messages between agents |
//! | `discussion` | runs that agents begin: discussions, chains |
//! | `going_on` | the question to a person when agents reach the limit on messages |
//! | `tools` | the tools of agents, one file each |
//! | `workspace` | workspaces of agents, for their owners |
//! | `templates` | templates of the documents in workspaces |
//! | `documents` | the folder of an agent on its machine, and the documents in it |
//! | `folder` | the path of that folder |
//! | `obstacle` | the reasons why the machine of an agent cannot be used |
//! | `persona` | the part of the prompt that describes an agent's role in its group |
//! | `views` | groups as clients see them |
//! | [`limits`] | limits, with their units |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod ask;
mod budget;
mod calls;
mod chain_file;
mod chain_templates;
mod chain_text;
mod discussion;
mod documents;
mod error;
mod files;
mod folder;
mod going_on;
mod handing;
mod house;
mod known;
pub mod limits;
mod log;
mod mentions;
mod obstacle;
mod persona;
mod rights;
mod runs;
mod service;
mod shown;
mod spending;
mod talk;
mod templates;
mod tools;
mod views;
mod worker;
mod workspace;

#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use service::Groups;
