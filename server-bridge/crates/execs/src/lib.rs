//! The ledger of every exec's life: commands of chats, commands and tasks of models, and those of clients, terminals and MCP.
//!
//! ```text
//!   begin ──► sent ──► started ──► output ──► ended on its runner ──► Ledger::end ──► Recorded::acknowledge
//!   on record before it is sent                    exec, audit entry, message: one transaction;   the runner
//!                                                  one call ends it, later ones change nothing    may discard it
//! ```
//! A process that dies between two steps leaves an exec on record as running; [`Ledger::recover`] continues it at the next
//! start. The code that serves an exec to its end holds a [`Watch`], so that code that only looks at it does not record a
//! guess.
//!
//! | module | holds |
//! |---|---|
//! | `ledger` | [`Ledger`], [`Recorded`]: beginning and ending an exec |
//! | `request` | a client's request, from choosing its place to its record |
//! | `read` | execs on record: finding, listing, ending them |
//! | `watch` | following execs without their output, after a restart or after a client has left |
//! | [`follow`] | following one exec to its end, however often its machine becomes unreachable |
//! | [`attendance`] | the execs that have a client at the moment |
//! | `ending` | [`Ending`]: how an exec ended, in the words of the store and the audit trail |
//! | `correct` | correcting a message's document when its exec's end becomes known late |
//! | `stops` | [`Stops`]: the tokens that end work, for all users or for one |
//! | `place` | the sandbox's view of a user, and the place for their work |
//! | `error` | [`Error`]: the errors for clients of execs |
//! | `faults` | named points of an exec's life where a test kills the process; absent from release builds |
//! | `shell_word` | quoting words for a shell, and commands in the form that people read |
//! | `part` | reading a part of an exec's output |
//! | `count` | counting ends, for the metrics |
//! | `request_hash` | distinguishing a repetition from another request |
//! | `utf8` | decoding the bytes of a channel as text, piece by piece |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod attendance;
mod correct;
mod count;
mod ending;
mod error;
mod faults;
pub mod follow;
mod ledger;
pub mod limits;
mod part;
mod place;
mod read;
mod request;
mod request_hash;
mod shell_word;
mod stops;
#[cfg(test)]
mod tests;
mod utf8;
mod watch;

pub use count::{EXEC_SECONDS, EXECS, count_end};
pub use ending::Ending;
pub use error::{Error, Result};
pub use faults::{FAULT_VARIABLE, Point, fault, seen};
pub use ledger::{End, Ledger, Recorded, ShownEnd, Watch, is_open};
pub use part::Part;
pub use place::{chat_route_request, route_request, sandbox_user, user_key};
pub use request::{Begun, Request};
pub use request_hash::{document_hash, request_hash};
pub use shell_word::{command_of, quoted};
pub use stops::Stops;
pub use store::{Exec, ExecId, ExecKind, ExecStatus, patiently};
pub use utf8::Utf8Decoder;
pub use watch::time_away;
