//! Running a command: what to ask for, what comes back while it runs, how to reach it meanwhile.

use std::time::Duration;

use bytes::Bytes;
use proto::message::{ExecExited, ExecStreamsClosed, ExitStatus};
use proto::request::{self, Command, Overflow, Profile, Pty, Stdin};
use proto::{Channel, ExecId, Message, WirePath};

use crate::driver::{LinkHandle, OpenStream, StreamEvent, StreamWriter};
use crate::error::SandboxError;
use crate::limits::REDRAW_PAUSE;

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRequest {
    /// Names this exec for ever; the same id with the same request never runs twice.
    pub exec_id: ExecId,
    /// What to run.
    pub command: Command,
    /// Working directory; the workspace when absent.
    pub cwd: Option<Vec<u8>>,
    /// Variables added to the clean environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether standard input is written through [`ExecControl::write_stdin`]; it is empty otherwise.
    pub stdin: bool,
    /// Whether standard error goes into standard output, in the order it was written.
    pub merge_stderr: bool,
    /// The whole tree is ended after this long; no limit when absent.
    pub timeout: Option<Duration>,
    /// Output beyond this many bytes is counted and not sent; no cap when absent.
    pub output_cap_bytes: Option<u64>,
    /// What happens to output that nobody reads; the command waits by default.
    pub overflow: Overflow,
    /// Operating-system user to run as; the runner's when absent.
    pub run_as: Option<String>,
    /// A profile narrower than the runner's.
    pub profile: Option<Profile>,
    /// A terminal in the place of pipes: input is always written through [`ExecControl::write_stdin`], all output comes as
    /// standard output, and the runner keeps it for whoever attaches later.
    pub pty: Option<Pty>,
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
        }
    }

    fn into_wire(self) -> request::Exec {
        request::Exec {
            cwd: self.cwd.map(WirePath),
            env: self.env,
            stdin: if self.stdin { Stdin::Stream } else { Stdin::Empty },
            merge_stderr: self.merge_stderr,
            timeout_ms: self.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            output_cap_bytes: self.output_cap_bytes,
            overflow: self.overflow,
            run_as: self.run_as,
            profile: self.profile,
            retain: self.pty.is_some(),
            pty: self.pty,
            ..request::Exec::new(self.exec_id, self.command)
        }
    }
}

/// What happens while a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecEvent {
    /// The process exists.
    Started {
        /// Its id on the runner's machine; informative.
        pid: u32,
    },
    /// Standard output, and standard error where they are merged.
    Stdout(Bytes),
    /// Standard error.
    Stderr(Bytes),
    /// Output was dropped here.
    Gap {
        /// Whether it is standard error's.
        stderr: bool,
        /// How much.
        bytes: u64,
    },
    /// The command's own process ended; output of it or its descendants may follow.
    Exited(ExitStatus),
    /// All output was delivered. The last event.
    Finished(ExecOutcome),
    /// It did not start, or what became of it is not known. The last event.
    Failed(SandboxError),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutcome {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether a cancel ended it.
    pub cancelled: bool,
    /// Whether confinement is why it failed, as far as that can be told.
    pub sandbox_denied: bool,
    /// Whether output is missing.
    pub truncated: bool,
    /// Whether a descendant still holds the output open.
    pub still_open: bool,
    /// Bytes it wrote to standard output, delivered or not.
    pub stdout_bytes: u64,
    /// Bytes it wrote to standard error, delivered or not.
    pub stderr_bytes: u64,
    /// From its start to the exit of its own process.
    pub duration: Duration,
}

/// A finished command and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Standard output, up to the cap.
    pub stdout: Vec<u8>,
    /// Standard error, up to the cap.
    pub stderr: Vec<u8>,
    /// How it ended; `truncated` also where the cap cut something off.
    pub outcome: ExecOutcome,
}

/// A running command. Dropped before its last event, it is cancelled.
#[derive(Debug)]
pub struct Exec {
    exec_id: ExecId,
    stream: OpenStream,
    exited: Option<ExecExited>,
    delivered_bytes: u64,
}

impl Exec {
    pub(crate) fn start(link: &LinkHandle, request: ExecRequest) -> Result<Self, SandboxError> {
        let exec_id = request.exec_id;
        let stream = link.open(request.into_wire())?;
        Ok(Self { exec_id, stream, exited: None, delivered_bytes: 0 })
    }

    /// The exec's name.
    pub fn exec_id(&self) -> ExecId {
        self.exec_id
    }

    /// The side that signals, cancels and writes input; it may be used from other tasks.
    pub fn control(&self) -> ExecControl {
        ExecControl { exec_id: self.exec_id, writer: self.stream.writer() }
    }

    /// The next event; `None` behind the last one. Safe to be dropped while it waits.
    ///
    /// Output that is not taken makes the command wait once 256 KiB are under way.
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
    /// Fails where the exec did, so output is lost with it; use [`Exec::next`] where it matters.
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
            }
        }
        Err(self.stream.link().broken("no result"))
    }

    fn translate(&mut self, event: StreamEvent) -> Option<ExecEvent> {
        match event {
            StreamEvent::Data(channel, bytes) => {
                self.delivered_bytes += bytes.len() as u64;
                match channel {
                    Channel::Stdout => Some(ExecEvent::Stdout(bytes)),
                    Channel::Stderr => Some(ExecEvent::Stderr(bytes)),
                    Channel::Main => None,
                }
            }
            StreamEvent::Gap(channel, bytes) => {
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
            StreamEvent::Message(_) => None,
            StreamEvent::Answer(Message::ExecStreamsClosed(closed)) => Some(self.finish(&closed)),
            StreamEvent::Answer(_) => {
                Some(ExecEvent::Failed(self.stream.link().broken("a message of another request")))
            }
            StreamEvent::Failed(error) => Some(ExecEvent::Failed(error)),
        }
    }

    fn finish(&self, closed: &ExecStreamsClosed) -> ExecEvent {
        // An exit code is never made up: without the runner's word on it there is no outcome.
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
            truncated: closed.dropped_bytes > 0 || self.delivered_bytes < written_bytes,
            still_open: closed.still_open,
            stdout_bytes: closed.stdout_bytes,
            stderr_bytes: closed.stderr_bytes,
            duration: Duration::from_micros(exited.duration_us),
        })
    }
}

/// Keeps what fits; whether something did not.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], cap: usize) -> bool {
    let fits = bytes.len().min(cap.saturating_sub(kept.len()));
    kept.extend_from_slice(&bytes[..fits]);
    fits < bytes.len()
}

/// Reaches a running command. Outlives its [`Exec`]; what it does then has no effect.
#[derive(Debug, Clone)]
pub struct ExecControl {
    exec_id: ExecId,
    writer: StreamWriter,
}

impl ExecControl {
    /// Ends the whole tree: TERM, grace, KILL. The result comes as an event, with the output so far.
    pub fn cancel(&self) {
        self.writer.cancel();
    }

    /// Sends a signal, 1 to 64, to the whole tree.
    pub async fn signal(&self, signal: i32) -> Result<(), SandboxError> {
        self.writer.link().call(request::Signal { exec_id: self.exec_id, signal }).await?;
        Ok(())
    }

    /// Changes the size of the exec's terminal, in character cells; what runs in it is told by SIGWINCH.
    ///
    /// Fails with `no_such_exec` where it has no terminal, or has ended.
    pub async fn resize(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        self.writer.link().call(request::Resize { exec_id: self.exec_id, rows, columns }).await?;
        Ok(())
    }

    /// Makes what fills the screen of the exec's terminal draw it again, for somebody who just attached: changes the size
    /// for a moment, since many programs do nothing when they are told of the size they know.
    ///
    /// Ends with the size given here. Fails as [`ExecControl::resize`] does.
    pub async fn redraw(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        let other = if rows > 1 { rows - 1 } else { rows.saturating_add(1) };
        self.resize(other, columns).await?;
        tokio::time::sleep(REDRAW_PAUSE).await;
        self.resize(rows, columns).await
    }

    /// Writes to standard input; waits while the command does not read. Nothing is lost by dropping it before it waits.
    ///
    /// Fails with [`SandboxError::InputClosed`] once the exec or its input has ended.
    pub async fn write_stdin(&self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.writer.write_all(bytes).await.map_err(|_| SandboxError::InputClosed)
    }

    /// Ends standard input.
    pub fn close_stdin(&self) {
        self.writer.end();
    }
}
