//! What the exec socket's text frames look like, for the description of the API.

use serde::Serialize;
use utoipa::ToSchema;

pub use super::commands::ClientFrame;

/// A text frame of the server. Its binary frames are output behind a byte 1 (standard output) or 2 (standard error).
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ExecServerFrame)]
pub enum ServerFrame {
    /// The first one: the command runs, and its output goes on at `offset`.
    Started {
        /// 32 hex digits.
        exec_id: String,
        /// Where it runs.
        runner: String,
        /// How many bytes of output the client has.
        offset: u64,
        /// How many bytes of input the command has.
        stdin_offset: u64,
    },
    /// The only one where `detach` was asked for.
    Detached {
        /// 32 hex digits.
        exec_id: String,
        /// Where it runs.
        runner: String,
    },
    /// For a client that acknowledges: how much of its input was taken, in bytes.
    Input {
        /// Up to where.
        offset: u64,
    },
    /// Output that is not there any more.
    Gap {
        /// So much of it.
        bytes: u64,
    },
    /// The runner is away.
    Interrupted,
    /// It is back.
    Resumed,
    /// The last one: how the command ended.
    Exit {
        /// Its exit code, if it exited.
        #[schema(required)]
        code: Option<i32>,
        /// The number of the signal that ended it.
        #[schema(required)]
        signal: Option<i32>,
        /// Whether its time limit ended it.
        timed_out: bool,
        /// Whether it was cancelled.
        cancelled: bool,
        /// Whether the sandbox denied it something.
        sandbox_denied: bool,
        /// Whether some of its output was not kept anywhere.
        truncated: bool,
        /// How long it ran.
        #[schema(required)]
        duration_ms: Option<u64>,
        /// Where it ran.
        #[schema(required)]
        runner: Option<String>,
    },
    /// The last one: why its end is not told.
    Error {
        /// For programs.
        kind: String,
        /// What happened, and what to do.
        message: String,
    },
}
