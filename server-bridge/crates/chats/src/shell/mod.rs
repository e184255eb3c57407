//! A `!command` from its start to its end.
//!
//! ```text
//!   Run ─ again ─ follow ─ events ─► Output ─┬─ utf8        decodes the bytes, once
//!    │                                       ├─ transcript  the head and tail that the message will show
//!    │                                       ├─ live        sent while it runs, at a readable pace
//!    └─ Ending ──► store, audit, clients     └─ keeper      the whole output in a file next to the command
//!                                                 └─ tidy  hides those files from version control, removes old ones
//! ```
//! `run` begins a command and records its end; `again` continues a command that began in an earlier run of the server, from the beginning
//! of its output. Both `follow` it.

mod again;
mod follow;
mod keeper;
mod output;
mod run;
mod tidy;

pub(crate) use run::{Begin, Run, Shown, conclude};
