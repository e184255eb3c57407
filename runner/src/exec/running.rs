//! One exec from its process to its last message.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use proto::message::{ExecExited, ExecStarted, ExecStreamsClosed, ExitStatus};
use proto::request::Exec;
use proto::{Channel, WireError};
use tokio::net::unix::pipe;
use tokio::time::Instant;

use super::input::Input;
use super::output::{Account, Output, Turn};
use super::registry::Claim;
use super::stop::{Cause, Stop};
use super::tree::Tree;
use crate::executor::Executor;
use crate::limits::{CANCELLED_OUTPUT_MS, DRAIN_IDLE_MS, DRAIN_LIMIT_MS, STARTED_DELAY_MS};
use crate::spawn::{Child, Exit, Spawned, Terminal};
use crate::stream::StreamHandle;

/// A command that was started.
pub(super) struct Running {
    executor: Rc<Executor>,
    claim: Claim,
    child: Child,
    /// A second handle of the process, watched by the reactor; readable once it has ended.
    end: pipe::Receiver,
    input: Input,
    terminal: Option<Rc<Terminal>>,
    stdout: Output,
    stderr: Option<Output>,
    account: Account,
    stop: Stop,
    confined: bool,
    started: Instant,
    /// Until when the news of the start may wait to travel with the first output or the exit; `None` once it was told.
    announce_at: Option<Instant>,
    /// When the time limit is over.
    due: Option<Instant>,
    drain: Option<Drain>,
}

/// The time between the command's end and the exec's completion.
struct Drain {
    ended: Instant,
    /// When something last came, or could not be sent.
    stirred: Instant,
    /// Since when there is no credit.
    blocked: Option<Instant>,
}

impl Running {
    pub(super) fn new(
        executor: &Rc<Executor>,
        claim: Claim,
        request: &Exec,
        spawned: Spawned,
        confined: bool,
    ) -> io::Result<Self> {
        let started = Instant::now();
        let output =
            |pipe, channel, keep_tail| Output::new(pipe, channel, request.overflow, keep_tail && confined);
        let merged = spawned.stderr.is_none();
        let terminal = spawned.terminal.map(Rc::new);
        if let Some(terminal) = &terminal {
            executor.terminals.add(request.exec_id, terminal);
        }
        Ok(Self {
            executor: Rc::clone(executor),
            claim,
            // Nothing is ever read from it: the reactor treats every descriptor alike.
            end: pipe::Receiver::from_owned_fd_unchecked(spawned.child.pidfd().try_clone_to_owned()?)?,
            child: spawned.child,
            input: Input::new(spawned.stdin, terminal.is_some())?,
            stdout: output(spawned.stdout, Channel::Stdout, merged)?,
            stderr: spawned.stderr.map(|pipe| output(pipe, Channel::Stderr, true)).transpose()?,
            account: Account { allowance: request.output_cap_bytes, dropped_bytes: 0, discards: false },
            stop: Stop::new(terminal.is_some()),
            terminal,
            confined,
            started,
            announce_at: Some(started + Duration::from_millis(STARTED_DELAY_MS)),
            due: request.timeout_ms.and_then(|timeout| started.checked_add(Duration::from_millis(timeout))),
            drain: None,
        })
    }

    /// Runs the exec to its end, and what it left behind too.
    pub(super) async fn run(mut self, stream: StreamHandle) {
        let mut has_ended = self.wait(&stream).await;
        self.announce(&stream, has_ended);
        loop {
            if has_ended && let Err(error) = self.take_exit(&stream) {
                tracing::error!("an exec's status cannot be read: {error}");
                self.stop.begin(Cause::Cancelled, self.child.mark());
                return stream
                    .finish(Err::<ExecStreamsClosed, _>(WireError::new(proto::ErrorKind::Internal, error)));
            }
            self.pump(&stream);
            if self.is_complete() {
                break;
            }
            has_ended = self.wait(&stream).await;
        }
        self.finish(stream).await;
    }

    /// Tells of the start. Most commands have something to say, or end, within a moment: the news then costs no frame
    /// and no wake-up of its own.
    fn announce(&mut self, stream: &StreamHandle, has_ended: bool) {
        self.announce_at = None;
        stream.send(ExecStarted { pid: self.child.pid() });
        if !has_ended {
            self.child.goes_first_out_of_memory();
        }
    }

    /// Moves what can be moved without waiting, and notes the causes to end the command.
    fn pump(&mut self, stream: &StreamHandle) {
        let now = Instant::now();
        if stream.is_stopped() {
            self.stop.begin(Cause::Cancelled, self.child.mark());
        } else if self.drain.is_none() && self.due.is_some_and(|due| now >= due) {
            self.stop.begin(Cause::TimedOut, self.child.mark());
        }
        self.account.discards |= stream.is_lost();
        self.input.pump(stream);
        let scratch = &self.executor.scratch;
        let stdout = self.stdout.pump(stream, &mut self.account, scratch);
        let stderr = self.stderr.as_mut().map(|stderr| stderr.pump(stream, &mut self.account, scratch));
        let stderr = stderr.unwrap_or_default();
        let turn = Turn { moved: stdout.moved || stderr.moved, blocked: stdout.blocked || stderr.blocked };
        let Some(drain) = &mut self.drain else { return };
        drain.note(turn, now);
        let gave_up =
            drain.blocked.is_some_and(|since| now >= since + Duration::from_millis(CANCELLED_OUTPUT_MS));
        if gave_up && self.stop.cause() == Some(Cause::Cancelled) {
            self.account.discards = true;
            drain.blocked = None;
        }
    }

    /// Waits for the next thing to do; `true` when the command has ended.
    async fn wait(&mut self, stream: &StreamHandle) -> bool {
        let due = self.next_due();
        let timer = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let stderr = async {
            match &self.stderr {
                Some(stderr) => stderr.readable().await,
                None => std::future::pending().await,
            }
        };
        let reads_stdout = self.stdout.may_read(stream, &self.account);
        let reads_stderr = self.stderr.as_ref().is_some_and(|stderr| stderr.may_read(stream, &self.account));
        tokio::select! {
            biased;
            _ = self.end.readable(), if self.drain.is_none() => return true,
            () = self.stdout.readable(), if reads_stdout => {}
            () = stderr, if reads_stderr => {}
            () = stream.changed() => {}
            () = self.input.writable() => {}
            () = self.stop.progress(), if self.stop.is_under_way() => {}
            () = timer => {}
        }
        false
    }

    fn next_due(&self) -> Option<Instant> {
        if self.announce_at.is_some() {
            return self.announce_at.into_iter().chain(self.due).min();
        }
        let Some(drain) = &self.drain else { return self.due.filter(|_| self.stop.cause().is_none()) };
        let give_up_at = drain.blocked.filter(|_| self.stop.cause() == Some(Cause::Cancelled));
        let give_up_at = give_up_at.map(|since| since + Duration::from_millis(CANCELLED_OUTPUT_MS));
        let silent_at = drain.blocked.is_none().then(|| drain.silent_at());
        // What is past has been acted on, or waits for something else.
        let now = Instant::now();
        let dues = [give_up_at, silent_at, Some(drain.over_at())];
        dues.into_iter().flatten().filter(|due| *due > now).min()
    }

    /// The command's process ended: tells how, after what it wrote last.
    fn take_exit(&mut self, stream: &StreamHandle) -> io::Result<()> {
        let child = &mut self.child;
        let waited = self.end.try_io(|| child.try_wait()?.ok_or_else(|| io::ErrorKind::WouldBlock.into()));
        let exit = match waited {
            Ok(exit) => exit,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let ended = Instant::now();
        if let Some(terminal) = &self.terminal {
            terminal.release();
        }
        let scratch = &self.executor.scratch;
        self.stdout.command_ended(stream, &mut self.account, scratch);
        if let Some(stderr) = &mut self.stderr {
            stderr.command_ended(stream, &mut self.account, scratch);
        }
        let failed = exit != Exit::Code(0);
        let denied = self.stderr.as_ref().unwrap_or(&self.stdout).tells_a_denial();
        stream.send(ExecExited {
            status: match exit {
                Exit::Code(code) => ExitStatus::Code(code),
                Exit::Signal(signal) => ExitStatus::Signal(signal),
            },
            timed_out: self.stop.cause() == Some(Cause::TimedOut),
            cancelled: self.stop.cause() == Some(Cause::Cancelled),
            sandbox_denied: self.confined && failed && denied,
            duration_us: u64::try_from((ended - self.started).as_micros()).unwrap_or(u64::MAX),
        });
        self.drain = Some(Drain { ended, stirred: ended, blocked: None });
        Ok(())
    }

    /// Whether nothing of what the command wrote can still come.
    fn is_complete(&self) -> bool {
        let Some(drain) = &self.drain else { return false };
        if self.stop.is_under_way() {
            return false;
        }
        let mut outputs = std::iter::once(&self.stdout).chain(&self.stderr);
        if !outputs.clone().all(Output::is_settled) {
            return false;
        }
        let now = Instant::now();
        let over = drain.blocked.is_none() && now >= drain.silent_at() || now >= drain.over_at();
        over || !outputs.any(Output::is_open)
    }

    /// Completes the exec, then looks after what it left behind.
    async fn finish(mut self, stream: StreamHandle) {
        for output in std::iter::once(&self.stdout).chain(&self.stderr) {
            stream.end(output.channel());
        }
        let written = |output: &Output| output.written_bytes();
        let stderr_open = self.stderr.as_ref().is_some_and(Output::is_open);
        stream.finish(Ok(ExecStreamsClosed {
            stdout_bytes: written(&self.stdout),
            stderr_bytes: self.stderr.as_ref().map_or(0, written),
            dropped_bytes: self.account.dropped_bytes,
            still_open: self.stdout.is_open() || stderr_open,
        }));
        // The answer goes out before this side tidies up.
        tokio::task::yield_now().await;
        let connection = Rc::clone(stream.connection());
        drop(stream);
        drop(self.input);
        self.executor.trees.add(Tree { claim: self.claim, mark: self.child.mark(), connection });
        drop((self.child, self.end));
        let scratch = &self.executor.scratch;
        let stderr = async {
            if let Some(stderr) = &mut self.stderr {
                stderr.discard(scratch).await;
            }
        };
        tokio::join!(self.stdout.discard(scratch), stderr);
    }
}

impl Drain {
    fn note(&mut self, turn: Turn, now: Instant) {
        if turn.moved || turn.blocked || self.blocked.is_some() {
            self.stirred = now;
        }
        self.blocked = turn.blocked.then(|| self.blocked.unwrap_or(now));
    }

    /// When the output counts as silent.
    fn silent_at(&self) -> Instant {
        self.stirred + Duration::from_millis(DRAIN_IDLE_MS)
    }

    /// When even a talkative descendant is waited for no longer.
    fn over_at(&self) -> Instant {
        self.ended + Duration::from_millis(DRAIN_LIMIT_MS)
    }
}
