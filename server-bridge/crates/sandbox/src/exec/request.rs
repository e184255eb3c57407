//! A command to run, and the options for attaching to it.

use std::time::Duration;

use proto::request::{self, Command, Overflow, Profile, Pty, Stdin};
use proto::{ExecId, WirePath};

use super::approval::{Approval, RunAs};
use crate::driver::AckMode;

/// A request to run a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRequest {
    /// Identifies this exec permanently; the same id with the same request never runs twice.
    pub exec_id: ExecId,
    /// The command line, or the program with its arguments.
    pub command: Command,
    /// Working directory; the workspace when absent.
    pub cwd: Option<Vec<u8>>,
    /// Variables added to the clean environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// True if standard input is written through [`crate::ExecControl::write_stdin`]; it is empty otherwise.
    pub stdin: bool,
    /// True if standard error is merged into standard output, in the order in which it was written.
    pub merge_stderr: bool,
    /// The whole tree is ended after this long; no limit when absent.
    pub timeout: Option<Duration>,
    /// Output beyond this many bytes is counted and not sent; no cap when absent.
    pub output_cap_bytes: Option<u64>,
    /// The treatment of unread output; by default the command waits.
    pub overflow: Overflow,
    /// See [`ExecRequest::run_as`].
    pub(crate) run_as: Option<RunAs>,
    /// A profile narrower than the runner's.
    pub profile: Option<Profile>,
    /// A terminal instead of pipes; `stdin` and `merge_stderr` have no effect then, and input may be written.
    pub pty: Option<Pty>,
    /// True if the runner keeps all of the output for later clients, as far as it has room, and not only what its reader did
    /// not drain.
    pub retain: bool,
    /// How long ago the id was chosen. A runner refuses one that is older than what it remembers.
    pub age: Duration,
    /// Determines who reports that output was drained and the result arrived.
    pub acks: AckMode,
}

/// Options for attaching to a running exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachOptions {
    /// True if its output is wanted; otherwise only its start and its end arrive, and its current reader keeps the output.
    pub output: bool,
    /// Determines who reports that output was drained and the result arrived.
    pub acks: AckMode,
}

impl Default for AttachOptions {
    fn default() -> Self {
        Self { output: true, acks: AckMode::Auto }
    }
}

impl ExecRequest {
    /// A line for the runner's shell, with a random id.
    pub fn shell(line: impl Into<Vec<u8>>) -> Self {
        Self::new(Command::Shell(line.into()))
    }

    /// A program and its arguments, with a random id.
    pub fn argv<A: Into<Vec<u8>>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self::new(Command::Argv(arguments.into_iter().map(Into::into).collect()))
    }

    /// A command with a random id.
    pub fn new(command: Command) -> Self {
        Self {
            exec_id: ExecId(rand::random()),
            command,
            cwd: None,
            env: Vec::new(),
            stdin: false,
            merge_stderr: false,
            timeout: None,
            output_cap_bytes: None,
            overflow: Overflow::Block,
            run_as: None,
            profile: None,
            pty: None,
            retain: false,
            age: Duration::ZERO,
            acks: AckMode::Auto,
        }
    }

    /// Runs the command as this user of the runner's machine instead of as the default one. The privileged user requires an approval.
    #[must_use]
    pub fn run_as(self, user: impl Into<String>, approval: Option<Approval>) -> Self {
        Self { run_as: Some(RunAs { user: user.into(), approval }), ..self }
    }

    /// The user the command names, if any.
    pub fn named_user(&self) -> Option<&str> {
        self.run_as.as_ref().map(|run_as| run_as.user.as_str())
    }

    pub(super) fn into_wire(self) -> request::Exec {
        request::Exec {
            cwd: self.cwd.map(WirePath),
            env: self.env,
            stdin: if self.stdin { Stdin::Stream } else { Stdin::Empty },
            merge_stderr: self.merge_stderr,
            timeout_ms: self.timeout.map(milliseconds),
            output_cap_bytes: self.output_cap_bytes,
            overflow: self.overflow,
            run_as: self.run_as.map(|run_as| run_as.user),
            profile: self.profile,
            pty: self.pty,
            retain: self.retain,
            age_ms: milliseconds(self.age),
            ..request::Exec::new(self.exec_id, self.command)
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
