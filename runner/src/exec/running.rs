//! One exec from its process to its last message.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use proto::message::{ExecExited, ExecStarted, ExecStreamsClosed, ExitStatus};
use proto::request::Exec;
use proto::{Channel, ExecId, WireError};
use tokio::net::unix::pipe;
use tokio::time::Instant;

use super::execs::Execs;
use super::input::Input;
use super::met_limit::MetLimit;
use super::outlet::Outlet;
use super::output::{Account, Output, Turn};
use super::shortage;
use super::stop::{Cause, Stop};
use super::tree::Tree;
use crate::group::{self, Met};
use crate::layers::Profile;
use crate::limits::{DRAIN_IDLE_MS, DRAIN_LIMIT_MS, GIT_LOOK_MS, STARTED_DELAY_MS};
use crate::spawn::{Child, Exit, Spawned, Terminal};

/// The exit code of a shell when the program it waited for was killed.
const KILLED_IN_SHELL: i32 = 128 + libc::SIGKILL;

/// A command that was started.
pub(super) struct Running {
    execs: Rc<Execs>,
    exec_id: ExecId,
    outlet: Rc<Outlet>,
    child: Child,
    /// A second handle of the process, watched by the reactor; readable once it has ended.
    end: pipe::Receiver,
    input: Input,
    terminal: Option<Rc<Terminal>>,
    /// Keeps the output from ending before the command does.
    held: Vec<OwnedFd>,
    stdout: Output,
    stderr: Option<Output>,
    account: Account,
    stop: Stop,
    confined: bool,
    /// The directory it runs in, unless under a profile narrower than the runner's.
    directory: Option<PathBuf>,
    /// The kernel's counts when this command started.
    met: Met,
    /// The limit for which the command is ended.
    met_limit: Option<MetLimit>,
    /// A line about the shortage seen when it failed; the last line of its output.
    shortage: Option<String>,
    started: Instant,
    /// The time after which a running command no longer counts as short; `None` once that was acted on, or it ended.
    settled_at: Option<Instant>,
    /// Counts the command as young until then: if many start at once, each takes longer to count as short.
    young: Option<Rc<()>>,
    /// True once the start was reported.
    is_announced: bool,
    /// The time at which the workspace's repositories are checked next.
    git_due: Instant,
    /// The time at which the time limit expires.
    due: Option<Instant>,
    drain: Option<Drain>,
}

/// The time between the command's end and the exec's completion.
struct Drain {
    ended: Instant,
    /// The time at which data last arrived, or could not be sent.
    stirred: Instant,
    /// The time since which there has been no credit.
    blocked: Option<Instant>,
}

impl Running {
    pub(super) fn new(
        execs: &Rc<Execs>,
        outlet: Rc<Outlet>,
        request: &Exec,
        spawned: Spawned,
        profile: Profile,
    ) -> io::Result<Self> {
        let confined = profile != Profile::FullControl;
        let cwd = request.cwd.as_ref().map_or(&b""[..], |cwd| cwd.as_bytes());
        let directory = execs.host.workspace().join(OsStr::from_bytes(cwd));
        let started = Instant::now();
        let output = |pipe, channel, keep_tail| Output::new(pipe, channel, keep_tail && confined);
        let merged = spawned.stderr.is_none();
        let terminal = spawned.terminal.map(Rc::new);
        let young = Rc::clone(&execs.young);
        let delay_ms = STARTED_DELAY_MS.saturating_mul(Rc::strong_count(&young) as u64 - 1);
        if let Some(terminal) = &terminal {
            execs.terminals.add(request.exec_id, terminal);
        }
        Ok(Self {
            execs: Rc::clone(execs),
            exec_id: request.exec_id,
            outlet,
            // This handle is only watched, never read: the reactor treats every descriptor alike.
            end: pipe::Receiver::from_owned_fd_unchecked(spawned.child.pidfd().try_clone_to_owned()?)?,
            child: spawned.child,
            input: Input::new(spawned.stdin, terminal.is_some())?,
            stdout: output(spawned.stdout, Channel::Stdout, merged)?,
            stderr: spawned.stderr.map(|pipe| output(pipe, Channel::Stderr, true)).transpose()?,
            account: Account { allowance: request.output_cap_bytes, dropped_bytes: 0 },
            stop: Stop::new(terminal.is_some()),
            terminal,
            held: spawned.held,
            confined,
            directory: (profile == execs.host.profile()).then_some(directory),
            met: group::met(),
            met_limit: None,
            shortage: None,
            started,
            settled_at: Some(started + Duration::from_millis(delay_ms)),
            young: Some(young),
            is_announced: false,
            git_due: started + Duration::from_millis(GIT_LOOK_MS),
            due: request.timeout_ms.and_then(|timeout| started.checked_add(Duration::from_millis(timeout))),
            drain: None,
        })
    }

    /// Runs the exec, and the processes it left, to their end.
    ///
    /// # Errors
    /// The command's program never ran; nothing was reported.
    pub(super) async fn run(mut self) -> io::Result<()> {
        self.pump();
        let mut has_ended = self.wait().await;
        loop {
            if has_ended && let Some(failure) = self.child.start_failure() {
                // The failure is all that matters: the exit status is not needed, and a process that is not reaped here
                // is reaped with the orphans.
                let _ = self.child.try_wait();
                return Err(failure);
            }
            self.announce(has_ended);
            if has_ended && let Err(error) = self.take_exit() {
                tracing::error!("an exec's status cannot be read: {error}");
                self.stop.begin(Cause::Cancelled, self.child.mark());
                self.stop.progress().await;
                self.execs.registry.completed(self.exec_id);
                self.outlet.end(Err(WireError::new(proto::ErrorKind::Internal, error)));
                self.outlet.serve().await;
                return Ok(());
            }
            self.pump();
            if self.is_complete() {
                break;
            }
            has_ended = self.wait().await;
        }
        self.finish().await;
        Ok(())
    }

    /// Reports the start. Most commands write something, or end, within a moment: the report then costs no separate frame
    /// and no wake-up.
    fn announce(&mut self, has_ended: bool) {
        let mut is_settled = self.settled_at.is_some_and(|at| Instant::now() >= at);
        // Nothing is reported for a command that may still turn out not to run.
        if is_settled
            && !has_ended
            && let Some(again) = self.child.look_after_start()
        {
            // Usually the program starts only a little late.
            self.settled_at = Some(Instant::now() + again.min(self.started.elapsed()));
            is_settled = false;
        }
        if is_settled || has_ended {
            self.settled_at = None;
            self.young = None;
        }
        let mut outputs = std::iter::once(&self.stdout).chain(&self.stderr);
        // A pipe that only ended does not matter: usually its command is about to end. Later data is not read before the
        // reactor, which runs on this thread, has reported it.
        if !self.is_announced && (is_settled || has_ended || outputs.any(Output::holds_something)) {
            self.is_announced = true;
            self.outlet.tell_started(ExecStarted { pid: self.child.pid() });
        }
    }

    /// Moves what can be moved without waiting, and records causes to end the command.
    fn pump(&mut self) {
        let now = Instant::now();
        self.outlet.pump();
        if self.outlet.is_cancelled() {
            self.stop.begin(Cause::Cancelled, self.child.mark());
        } else if self.drain.is_none() && self.due.is_some_and(|due| now >= due) {
            self.stop.begin(Cause::TimedOut, self.child.mark());
        }
        if self.drain.is_none() && now >= self.git_due {
            self.look_after_git();
        }
        self.met_limit = self.outlet.take_met_limit().or(self.met_limit);
        self.input.pump(&self.outlet);
        let scratch = &self.execs.scratch;
        let stdout = self.stdout.pump(&self.outlet, &mut self.account, scratch);
        let stderr = self.stderr.as_mut().map(|stderr| stderr.pump(&self.outlet, &mut self.account, scratch));
        let stderr = stderr.unwrap_or_default();
        if let Some(drain) = &mut self.drain {
            let turn =
                Turn { moved: stdout.moved || stderr.moved, blocked: stdout.blocked || stderr.blocked };
            drain.note(turn, now);
        }
    }

    /// Waits for the next action; `true` when the command has ended.
    async fn wait(&mut self) -> bool {
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
        let reads_stdout = self.stdout.may_read(&self.outlet, &self.account);
        let reads_stderr =
            self.stderr.as_ref().is_some_and(|stderr| stderr.may_read(&self.outlet, &self.account));
        tokio::select! {
            biased;
            _ = self.end.readable(), if self.drain.is_none() => return true,
            () = self.stdout.readable(), if reads_stdout => {}
            () = stderr, if reads_stderr => {}
            () = self.outlet.changed() => {}
            () = self.input.writable() => {}
            () = self.stop.progress(), if self.stop.is_under_way() => {}
            () = timer => {}
        }
        false
    }

    fn next_due(&self) -> Option<Instant> {
        if self.settled_at.is_some() {
            return self.settled_at.into_iter().chain(self.due).min();
        }
        let Some(drain) = &self.drain else {
            let git_due = Some(self.git_due).filter(|_| !self.execs.host.git_watch.is_empty());
            return git_due.into_iter().chain(self.due.filter(|_| self.stop.cause().is_none())).min();
        };
        let silent_at = drain.blocked.is_none().then(|| drain.silent_at());
        // A time in the past has been acted on, or waits for something else.
        let now = Instant::now();
        [silent_at, Some(drain.over_at())].into_iter().flatten().filter(|due| *due > now).min()
    }

    /// The command's process ended: reports how, after its last output.
    fn take_exit(&mut self) -> io::Result<()> {
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
        self.held.clear();
        self.stdout.command_ended(&self.outlet, &mut self.account);
        if let Some(stderr) = &mut self.stderr {
            stderr.command_ended(&self.outlet, &mut self.account);
        }
        self.look_after_git();
        let failed = exit != Exit::Code(0);
        self.shortage = self.find_shortage(exit);
        let told = self.stderr.as_ref().unwrap_or(&self.stdout);
        let denied = self.confined && failed && told.tells_a_denial(|path| self.is_open(path));
        self.outlet.tell_exited(ExecExited {
            status: match exit {
                Exit::Code(code) => ExitStatus::Code(code),
                Exit::Signal(signal) => ExitStatus::Signal(signal),
            },
            timed_out: self.stop.cause() == Some(Cause::TimedOut),
            cancelled: self.stop.cause() == Some(Cause::Cancelled),
            sandbox_denied: denied,
            duration_us: u64::try_from((ended - self.started).as_micros()).unwrap_or(u64::MAX),
        });
        self.drain = Some(Drain { ended, stirred: ended, blocked: None });
        Ok(())
    }

    /// Checks the workspace's repositories, and reports repairs in the command's output.
    fn look_after_git(&mut self) {
        self.git_due = Instant::now() + Duration::from_millis(GIT_LOOK_MS);
        for told in self.execs.host.look_after_git() {
            let output = self.stderr.as_mut().unwrap_or(&mut self.stdout);
            output.add(&format!("sandbridge: {told}\n"), &self.outlet, &mut self.account);
        }
    }

    /// True if the sandbox lets this command do everything with a path.
    fn is_open(&self, path: &Path) -> bool {
        self.directory.as_ref().is_some_and(|directory| self.execs.open_places.hold(directory, path))
    }

    /// A line about the shortage that made a command fail, based on its output so far, or that the kernel counted while it ran.
    fn find_shortage(&self, exit: Exit) -> Option<String> {
        let met = group::met();
        let (was_refused, has_killed) = (met.refused > self.met.refused, met.kills > self.met.kills);
        let failed = exit != Exit::Code(0);
        let found = if self.stop.cause().is_some() {
            // A crowd may have ended by itself, and the command waiting for it ran out of time.
            was_refused.then(shortage::processes).flatten()
        } else if has_killed && matches!(exit, Exit::Signal(libc::SIGKILL) | Exit::Code(KILLED_IN_SHELL)) {
            // The command, or a program that its shell waited for.
            Some(shortage::memory())
        } else if failed {
            let told = self.stderr.as_ref().unwrap_or(&self.stdout);
            shortage::note(told.tail(), was_refused, self.execs.host.workspace())
        } else {
            None
        };
        found.or_else(|| has_killed.then(shortage::memory_meanwhile))
    }

    /// True if no more of the command's own output can come.
    fn is_complete(&self) -> bool {
        let Some(drain) = &self.drain else { return false };
        if self.stop.is_under_way() {
            return false;
        }
        let now = Instant::now();
        let over = drain.blocked.is_none() && now >= drain.silent_at() || now >= drain.over_at();
        over || !std::iter::once(&self.stdout).chain(&self.stderr).any(Output::is_open)
    }

    /// Completes the exec, then handles the processes it left and the clients that attach for its result.
    async fn finish(mut self) {
        let met_limit = self.outlet.take_met_limit().or(self.met_limit);
        let met_limit = met_limit.map(|limit| format!("sandbridge: {limit}\n"));
        if let Some(note) = met_limit.or(self.shortage.take()) {
            // The last line: leftover processes may write hundreds about failed forks.
            let output = self.stderr.as_mut().unwrap_or(&mut self.stdout);
            output.add(&note, &self.outlet, &mut self.account);
        }
        let written = |output: &Output| output.written_bytes();
        let stderr_open = self.stderr.as_ref().is_some_and(Output::is_open);
        if !self.stdout.is_open() {
            // The terminal is closed everywhere, so it can no longer be resized once the answer reports that.
            self.terminal = None;
        }
        self.execs.registry.completed(self.exec_id);
        self.outlet.end(Ok(ExecStreamsClosed {
            stdout_bytes: written(&self.stdout),
            stderr_bytes: self.stderr.as_ref().map_or(0, written),
            dropped_bytes: self.account.dropped_bytes,
            still_open: self.stdout.is_open() || stderr_open,
        }));
        // The answer is sent before this side cleans up.
        tokio::task::yield_now().await;
        drop(self.input);
        self.execs.trees.add(Tree { exec_id: self.exec_id, mark: self.child.mark() });
        drop((self.child, self.end));
        let scratch = &self.execs.scratch;
        let stderr = async {
            if let Some(stderr) = &mut self.stderr {
                stderr.discard(scratch).await;
            }
        };
        let stdout = async {
            self.stdout.discard(scratch).await;
            self.terminal = None;
        };
        tokio::join!(stdout, stderr, self.outlet.serve());
    }
}

impl Drain {
    fn note(&mut self, turn: Turn, now: Instant) {
        if turn.moved || turn.blocked || self.blocked.is_some() {
            self.stirred = now;
        }
        self.blocked = turn.blocked.then(|| self.blocked.unwrap_or(now));
    }

    /// The time from which the output counts as silent.
    fn silent_at(&self) -> Instant {
        self.stirred + Duration::from_millis(DRAIN_IDLE_MS)
    }

    /// The time after which the runner no longer waits for descendants, even if they still write output.
    fn over_at(&self) -> Instant {
        self.ended + Duration::from_millis(DRAIN_LIMIT_MS)
    }
}
