//! The exec socket: its request, the frames of both sides, and the views of an exec on record.
//!
//! ```text
//!  client                                                  server
//!    | ExecAsk (text)                                        |
//!    | ----------------------------------------------------> |
//!    |   ServerFrame (text); STDOUT or STDERR + output       |
//!    | <---------------------------------------------------- |
//!    |   ClientFrame (text); STDIN + input                   |
//!    | ----------------------------------------------------> |
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::ExecStatus;

/// The longest time limit of an exec, in seconds (30 days).
pub const TIMEOUT_MAX_S: f64 = 30.0 * 24.0 * 3600.0;

/// The first byte of the client's binary frames: standard input. Alone, it ends the input.
pub const STDIN: u8 = 0;
/// The first byte of a binary frame of the server: standard output.
pub const STDOUT: u8 = 1;
/// The first byte of a binary frame of the server: standard error.
pub const STDERR: u8 = 2;

/// The first frame: `argv` or `shell`, and how to run it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecAsk {
    /// A program and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// A command line for the sandbox's shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A place to use instead of the active one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Working directory; the workspace if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the clean environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The time limit in seconds, after which the whole process tree is ended; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// Whether standard input follows as binary frames; it is empty otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stdin: bool,
    /// Whether standard error is merged into standard output.
    #[serde(default, skip_serializing_if = "is_false")]
    pub merge_stderr: bool,
    /// 32 hex digits chosen by the client; each id runs at most once. Random if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_id: Option<String>,
    /// Whether it continues without its client, and its output is kept for clients that attach.
    #[serde(default, skip_serializing_if = "is_false")]
    pub detach: bool,
    /// For a repeated request: how many bytes of output the client has, including those that were reported as missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// Whether the client acknowledges what it has with `{"type":"ack","offset"}`; otherwise output counts as received when
    /// it is sent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub acks: bool,
    /// A random text of at most 64 bytes by which a client that reconnects is recognised; needed for `connection` to have an effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// How many connections to this exec the same client made before. A request that arrives late does not take the exec from a newer one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connection: u64,
    /// A terminal in place of pipes; then `argv` and `shell` may both be absent, for an interactive shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyAsk>,
    /// How long a terminal continues without a client, in seconds: 1 to 604,800; 86,400 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linger_s: Option<u32>,
    /// The user on the runner's machine to run as; the machine's default user if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    /// Whether the person who makes the request was shown `run_as` and agreed; needed for the runner's privileged user.
    #[serde(default, skip_serializing_if = "is_false")]
    pub approved: bool,
}

/// A terminal for the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PtyAsk {
    /// Height in character cells.
    pub rows: u16,
    /// Width in character cells.
    pub columns: u16,
    /// The type of the client's terminal; `xterm-256color` if absent.
    #[serde(default = "usual_terminal")]
    pub term: String,
}

/// The default terminal type, for a client that does not name its own.
pub fn usual_terminal() -> String {
    "xterm-256color".to_owned()
}

/// A text frame of the client after the first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ExecClientFrame)]
pub enum ClientFrame {
    /// End the command.
    Cancel,
    /// The part of the output that the client has.
    Ack {
        /// The number of bytes of output that the client has.
        offset: u64,
    },
    /// Send the command a signal.
    Signal {
        /// The number of the signal.
        signal: i32,
    },
    /// The client's terminal has another size.
    Resize {
        /// Height in character cells.
        rows: u16,
        /// Width in character cells.
        columns: u16,
    },
}

/// A text frame of the server. Its binary frames are output after a byte 1 (standard output) or 2 (standard error).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ExecServerFrame)]
pub enum ServerFrame {
    /// The first frame: the command runs, and its output continues at `offset`.
    Started {
        /// The id of the exec: 32 hex digits.
        #[serde(default)]
        #[schema(required)]
        exec_id: String,
        /// The place it runs on.
        #[serde(default)]
        #[schema(required)]
        runner: String,
        /// How many bytes of output the client has received.
        #[serde(default)]
        #[schema(required)]
        offset: u64,
        /// How many bytes of input the command has received.
        #[serde(default)]
        #[schema(required)]
        stdin_offset: u64,
    },
    /// The only frame, if `detach` was requested.
    Detached {
        /// The id of the exec: 32 hex digits.
        exec_id: String,
        /// The place it runs on.
        #[serde(default)]
        #[schema(required)]
        runner: String,
    },
    /// For a client that acknowledges: some of its input was accepted.
    Input {
        /// The number of bytes of input that were accepted so far.
        offset: u64,
    },
    /// For a client that acknowledges: another client has attached, and from now on only that client's input is accepted.
    Watching,
    /// Output that is no longer available.
    Gap {
        /// The gap's length in bytes.
        bytes: u64,
    },
    /// The runner is disconnected.
    Interrupted,
    /// The runner is connected again.
    Resumed,
    /// The last frame: how the command ended.
    Exit(ExecExit),
    /// The last frame: the command did not start, or how it ended is unknown.
    Error {
        /// The kind of error, for programs.
        kind: String,
        /// What happened, and what to do.
        message: String,
    },
    /// A frame of a newer server, which its reader ignores. It cannot be sent.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The end of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecExit {
    /// The command's exit code, if it exited.
    #[schema(required)]
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    #[schema(required)]
    pub signal: Option<i32>,
    /// Whether its time limit ended it.
    #[serde(default)]
    #[schema(required)]
    pub timed_out: bool,
    /// Whether it was cancelled.
    #[serde(default)]
    #[schema(required)]
    pub cancelled: bool,
    /// Whether the sandbox denied the command access to something.
    #[serde(default)]
    #[schema(required)]
    pub sandbox_denied: bool,
    /// Whether some of its output was discarded.
    #[serde(default)]
    #[schema(required)]
    pub truncated: bool,
    /// How long it ran, in milliseconds.
    #[schema(required)]
    pub duration_ms: Option<u64>,
    /// The place it ran on.
    #[schema(required)]
    pub runner: Option<String>,
}

/// An exec on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecView {
    /// The id of the exec: 32 hex digits.
    pub exec_id: String,
    /// The command, as a person reads it.
    pub command: String,
    /// The place it was sent to.
    #[schema(required)]
    pub runner: Option<String>,
    /// The state of the exec.
    pub status: ExecStatus,
    /// Whether it continues without a client.
    #[serde(default)]
    #[schema(required)]
    pub detached: bool,
    /// Whether a message of its chat shows it, as for a `!command`; then it is not a background task.
    #[serde(default)]
    #[schema(required)]
    pub in_chat: bool,
    /// Whether it is a terminal, to which clients can reconnect.
    #[serde(default)]
    #[schema(required)]
    pub terminal: bool,
    /// The chat it belongs to, if any.
    #[schema(required)]
    pub chat_id: Option<String>,
    /// The command's exit code, if it exited.
    #[schema(required)]
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    #[schema(required)]
    pub signal: Option<i32>,
    /// Whether the sandbox denied the command access to something.
    #[serde(default)]
    #[schema(required)]
    pub sandbox_denied: bool,
    /// Whether some of its output was discarded.
    #[serde(default)]
    #[schema(required)]
    pub truncated: bool,
    /// The number of bytes that it wrote to standard output.
    #[serde(default)]
    #[schema(required)]
    pub stdout_bytes: u64,
    /// The number of bytes that it wrote to standard error.
    #[serde(default)]
    #[schema(required)]
    pub stderr_bytes: u64,
    /// What went wrong, if anything did.
    #[serde(serialize_with = "crate::language::text")]
    #[schema(required)]
    pub error: Option<String>,
    /// When it was started, in Unix milliseconds.
    pub started_at: i64,
    /// When it ended, in Unix milliseconds.
    #[schema(required)]
    pub finished_at: Option<i64>,
}

/// An exec that was ended by a cancellation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelledExec {
    /// The id of the exec: 32 hex digits.
    pub exec_id: String,
}

/// The state of an exec on its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportView {
    /// The id of the exec: 32 hex digits.
    pub exec_id: String,
    /// Whether it is still running.
    pub running: bool,
    /// How long ago it was started, in milliseconds.
    pub age_ms: u64,
    /// The length of its whole output, in bytes.
    pub output_bytes: u64,
    /// The beginning of the output.
    pub head: String,
    /// The end of the output, without what the beginning contains.
    pub tail: String,
}

/// The question that a person answers before a command runs as another user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunAsQuestion {
    /// The place it would run on.
    pub runner: String,
    /// The user it would run as.
    pub run_as: String,
    /// Whether the request must set `approved` once the person has agreed.
    pub needs_approval: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(frame: &ServerFrame) -> Value {
        serde_json::to_value(frame).unwrap()
    }

    #[test]
    fn a_frame_is_an_object_with_a_type() {
        assert_eq!(written(&ServerFrame::Watching), json!({"type": "watching"}));
        assert_eq!(written(&ServerFrame::Gap { bytes: 7 }), json!({"type": "gap", "bytes": 7}));
        let exit = ServerFrame::Exit(ExecExit { code: Some(3), ..ExecExit::default() });
        let expected = json!({"type": "exit", "code": 3, "signal": null, "timed_out": false, "cancelled": false,
                              "sandbox_denied": false, "truncated": false, "duration_ms": null, "runner": null});
        assert_eq!(written(&exit), expected);
        assert_eq!(serde_json::from_value::<ServerFrame>(expected).unwrap(), exit);
        let ack = serde_json::to_value(ClientFrame::Ack { offset: 4 }).unwrap();
        assert_eq!(ack, json!({"type": "ack", "offset": 4}));
    }

    #[test]
    fn another_servers_frame_is_read_as_far_as_it_is_known() {
        let read = |text| serde_json::from_str::<ServerFrame>(text);
        assert_eq!(read(r#"{"type":"weather","is":"fine"}"#).unwrap(), ServerFrame::Unknown);
        assert_eq!(read(r#"{"type":"gap","bytes":1,"why":"x"}"#).unwrap(), ServerFrame::Gap { bytes: 1 });
        let exec_id = "0".to_owned();
        let started = ServerFrame::Started { exec_id, runner: String::new(), offset: 0, stdin_offset: 0 };
        assert_eq!(read(r#"{"type":"started","exec_id":"0"}"#).unwrap(), started);
        assert!(read(r#"{"type":"gap"}"#).is_err());
        assert!(serde_json::to_string(&ServerFrame::Unknown).is_err());
    }

    #[test]
    fn a_request_says_only_what_was_chosen() {
        let ask = ExecAsk { shell: Some("ls".to_owned()), acks: true, ..ExecAsk::default() };
        assert_eq!(serde_json::to_value(&ask).unwrap(), json!({"shell": "ls", "acks": true}));
        assert_eq!(serde_json::from_value::<ExecAsk>(json!({"shell": "ls", "acks": true})).unwrap(), ask);
        assert!(serde_json::from_value::<ExecAsk>(json!({"shell": "ls", "unknown": 1})).is_err());
    }
}
