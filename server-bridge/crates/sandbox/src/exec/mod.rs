//! Running a command: the request, the events while it runs, and its control.

pub(crate) mod approval;
mod control;
mod request;

use std::time::Duration;

use bytes::Bytes;
use proto::message::{ExecExited, ExecStreamsClosed, ExitStatus};
use proto::{Channel, ExecId, Message};

pub use approval::Approval;
pub use control::ExecControl;
pub use request::{AttachOptions, ExecRequest};

use crate::driver::{Command, LinkHandle, OpenStream, StreamEvent};
use crate::error::SandboxError;

/// An event of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecEvent {
    /// The command's process was started.
    Started {
        /// The process's id on the runner's machine; informative.
        pid: u32,
    },
    /// Standard output, including standard error if they are merged.
    Stdout(Bytes),
    /// Standard error.
    Stderr(Bytes),
    /// Output was dropped here.
    Gap {
        /// True if it was standard error; unknown for output that was not kept for a later client.
        stderr: bool,
        /// The number of bytes that were dropped.
        bytes: u64,
    },
    /// The command's own process ended; output of it or its descendants may follow.
    Exited(ExitStatus),
    /// All output was delivered. The last event.
    Finished(ExecOutcome),
    /// The runner has been without a connection for a while; the command continues there.
    Interrupted,
    /// The connection is back, after [`ExecEvent::Interrupted`]; nothing is missing.
    Resumed,
    /// The command did not start, or its outcome is unknown. The last event.
    Failed(SandboxError),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutcome {
    /// The command's exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// True if the time limit ended it.
    pub timed_out: bool,
    /// True if a cancel ended it.
    pub cancelled: bool,
    /// True if confinement made it fail, as far as that can be known.
    pub sandbox_denied: bool,
    /// True if output is missing.
    pub truncated: bool,
    /// True if a descendant still has the output open.
    pub still_open: bool,
    /// Bytes it wrote to standard output, delivered or not.
    pub stdout_bytes: u64,
    /// Bytes it wrote to standard error, delivered or not.
    pub stderr_bytes: u64,
    /// The time from the command's start to the exit of its own process.
    pub duration: Duration,
}

/// A finished command and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Standard output, up to the cap.
    pub stdout: Vec<u8>,
    /// Standard error, up to the cap.
    pub stderr: Vec<u8>,
    /// How it ended; `truncated` is also set if the cap cut something off.
    pub outcome: ExecOutcome,
}

/// A running command. Dropping this before its last event cancels the command if this started it, and leaves it if this
/// attached to it; see [`Exec::leave`].
///
/// A lost connection does not end it: the command continues, and so does this handle if the runner is back within 10
/// min.
#[derive(Debug)]
pub struct Exec {
    exec_id: ExecId,
    stream: OpenStream,
    exited: Option<ExecExited>,
    offset: u64,
    has_gap: bool,
    has_output: bool,
    input_bytes: Option<u64>,
}

impl Exec {
    pub(crate) fn start(link: &LinkHandle, request: ExecRequest) -> Result<Self, SandboxError> {
        let (exec_id, acks) = (request.exec_id, request.acks);
        let stream = link.open_with(request.into_wire(), acks)?;
        Ok(Self::new(exec_id, stream, 0, true))
    }

    pub(crate) fn attach(
        link: &LinkHandle,
        exec_id: ExecId,
        offset: u64,
        options: AttachOptions,
    ) -> Result<Self, SandboxError> {
        let AttachOptions { output, acks } = options;
        let stream = link.open_with(proto::request::Attach { id: exec_id, offset, output }, acks)?;
        Ok(Self::new(exec_id, stream, offset, output))
    }

    fn new(exec_id: ExecId, stream: OpenStream, offset: u64, has_output: bool) -> Self {
        Self { exec_id, stream, exited: None, offset, has_gap: false, has_output, input_bytes: None }
    }

    /// The exec's name.
    pub fn exec_id(&self) -> ExecId {
        self.exec_id
    }

    /// The side that signals, cancels and writes input; it may be used from other tasks.
    pub fn control(&self) -> ExecControl {
        ExecControl { exec_id: self.exec_id, writer: self.stream.writer() }
    }

    /// How much of its output was delivered: all channels and gaps together, in bytes from the exec's start.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The offset at which standard input continued when this attached to the exec, in bytes; `None` before that is known,
    /// and if this did not attach.
    pub fn input_bytes(&self) -> Option<u64> {
        self.input_bytes
    }

    /// With `AckMode::Manual`: reports that this much more of the output reached its destination, so that as much may
    /// follow.
    pub fn consumed(&self, bytes: usize) {
        self.stream.drained(bytes);
    }

    /// With `AckMode::Manual`: reports that the result reached its destination, so that the runner may discard it.
    pub fn acknowledge(&self) {
        self.stream.link().send(Command::Acknowledge(self.exec_id));
    }

    /// Lets the command continue without a reader, until a client attaches: it waits once 1 MiB of its output is in
    /// flight, unless the runner retains it.
    pub fn leave(self) {
        self.stream.leave();
    }

    /// The next event; `None` after the last one. The future may be dropped while it waits.
    ///
    /// If output is not taken, the command waits once 1 MiB is in flight, or less if there are many streams.
    pub async fn next(&mut self) -> Option<ExecEvent> {
        loop {
            let event = self.stream.next().await?;
            if let Some(event) = self.translate(event) {
                return Some(event);
            }
        }
    }

    /// Waits for the end and keeps at most `cap` bytes each of standard output and error.
    ///
    /// Fails if the exec did, and output is lost with it; use [`Exec::next`] if that matters.
    pub async fn collect(mut self, cap: usize) -> Result<Collected, SandboxError> {
        let (mut stdout, mut stderr, mut is_cut) = (Vec::new(), Vec::new(), false);
        while let Some(event) = self.next().await {
            match event {
                ExecEvent::Stdout(bytes) => is_cut |= keep(&mut stdout, &bytes, cap),
                ExecEvent::Stderr(bytes) => is_cut |= keep(&mut stderr, &bytes, cap),
                ExecEvent::Finished(mut outcome) => {
                    outcome.truncated |= is_cut;
                    return Ok(Collected { stdout, stderr, outcome });
                }
                ExecEvent::Failed(error) => return Err(error),
                ExecEvent::Started { .. } | ExecEvent::Gap { .. } | ExecEvent::Exited(_) => {}
                ExecEvent::Interrupted | ExecEvent::Resumed => {}
            }
        }
        Err(self.stream.link().broken("no result"))
    }

    fn translate(&mut self, event: StreamEvent) -> Option<ExecEvent> {
        match event {
            StreamEvent::Data(channel, bytes) => {
                self.offset += bytes.len() as u64;
                match channel {
                    Channel::Stdout => Some(ExecEvent::Stdout(bytes)),
                    Channel::Stderr => Some(ExecEvent::Stderr(bytes)),
                    Channel::Main => None,
                }
            }
            StreamEvent::Gap(channel, bytes) => {
                self.offset = self.offset.saturating_add(bytes);
                self.has_gap = true;
                Some(ExecEvent::Gap { stderr: channel == Channel::Stderr, bytes })
            }
            StreamEvent::Message(Message::ExecStarted(started)) => {
                Some(ExecEvent::Started { pid: started.pid })
            }
            StreamEvent::Message(Message::ExecExited(exited)) => {
                let status = exited.status;
                self.exited = Some(exited);
                Some(ExecEvent::Exited(status))
            }
            StreamEvent::Message(Message::Attached(attached)) => {
                self.input_bytes = Some(attached.input_bytes);
                None
            }
            StreamEvent::Message(_) => None,
            StreamEvent::Interrupted => Some(ExecEvent::Interrupted),
            StreamEvent::Resumed => Some(ExecEvent::Resumed),
            StreamEvent::Answer(Message::ExecStreamsClosed(closed)) => Some(self.finish(&closed)),
            StreamEvent::Answer(_) => {
                Some(ExecEvent::Failed(self.stream.link().broken("a message of another request")))
            }
            StreamEvent::Failed(error) => Some(ExecEvent::Failed(error)),
        }
    }

    fn finish(&self, closed: &ExecStreamsClosed) -> ExecEvent {
        // An exit code is never made up: without the runner's report there is no outcome.
        let Some(exited) = &self.exited else {
            return ExecEvent::Failed(self.stream.link().broken("a result without an exit status"));
        };
        let (code, signal) = match exited.status {
            ExitStatus::Code(code) => (Some(code), None),
            ExitStatus::Signal(signal) => (None, Some(signal)),
        };
        let written_bytes = closed.stdout_bytes.saturating_add(closed.stderr_bytes);
        ExecEvent::Finished(ExecOutcome {
            code,
            signal,
            timed_out: exited.timed_out,
            cancelled: exited.cancelled,
            sandbox_denied: exited.sandbox_denied,
            truncated: closed.dropped_bytes > 0
                || self.has_output && (self.has_gap || self.offset < written_bytes),
            still_open: closed.still_open,
            stdout_bytes: closed.stdout_bytes,
            stderr_bytes: closed.stderr_bytes,
            duration: Duration::from_micros(exited.duration_us),
        })
    }
}

/// Keeps what fits; returns true if something did not.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], cap: usize) -> bool {
    let fits = bytes.len().min(cap.saturating_sub(kept.len()));
    kept.extend_from_slice(&bytes[..fits]);
    fits < bytes.len()
}
