//! A `!command` from its start to its end.
//!
//! ```text
//!   Run ─ again ─ follow ─ events ─► Output ─┬─ utf8        bytes become text, once
//!    │                                       ├─ transcript  head and tail: what the message will show
//!    │                                       ├─ live        sent while it runs, at a readable pace
//!    └─ Ending ──► store, audit, clients     └─ keeper      the whole output in a file beside the command
//!                                                 └─ tidy  hides those files from version control, removes old ones
//! ```
//! `run` begins a command and records its end; `again` continues one that an earlier server began, from the beginning of its
//! output; both `follow` it.

mod again;
mod follow;
mod keeper;
mod output;
mod run;
mod tidy;

pub(crate) use run::{Begin, Run, Shown, conclude};
