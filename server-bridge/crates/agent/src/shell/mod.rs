//! A `!command` from its start to its end.
//!
//! ```text
//!   Run ── events of the sandbox ──► Output ─┬─ utf8        bytes become text, once
//!    │                                       ├─ transcript  head and tail: what the message will show
//!    │                                       ├─ live        what is told while it runs, at a readable pace
//!    └─ Ending ──► store, audit, clients     └─ keeper      the whole output in a file beside the command
//!                                                 └─ tidy  hides those files from version control, removes old ones
//! ```

mod keeper;
mod live;
mod output;
mod run;
mod tidy;
mod transcript;
mod utf8;

pub(crate) use run::{Run, Shown, conclude};
pub(crate) use transcript::{LeftOut, Transcript};
