//! A `!command` from its start to its end.
//!
//! ```text
//!   Run ── events of the sandbox ──► Output ─┬─ utf8        bytes become text, once
//!    │                                       ├─ transcript  head and tail: what the message will show
//!    │                                       ├─ live        what is told while it runs, at a readable pace
//!    └─ ending ──► store, audit, clients     └─ keeper      the whole output in a file beside the command
//! ```

mod ending;
mod keeper;
mod live;
mod output;
mod run;
mod transcript;
mod utf8;

pub(crate) use ending::failed_at_the_start;
pub(crate) use run::{Run, Shown, conclude};
pub(crate) use transcript::{LeftOut, Transcript};
