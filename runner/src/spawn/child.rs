//! A running command: its handle, and its exit status exactly once.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::process::{Signal, WaitId, WaitIdOptions};

use super::birth::Birth;
use super::memory_points;
use crate::kill::{self, Mark};
use crate::limits::START_LOOK_MS;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command returned this code, 0 to 255.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// An unreaped child of the runner. Its handle is readable once it has exited.
///
/// Dropping it before it was waited for leaves the process running, to be reaped by [`kill::reap_orphans`].
#[derive(Debug)]
pub struct Child {
    pid: u32,
    mark: Mark,
    handle: OwnedFd,
    /// Present until its program is known to run.
    birth: Option<Birth>,
    exit: Option<Exit>,
}

impl Child {
    pub(super) fn new(pid: u32, mark: Mark, handle: OwnedFd, birth: Birth) -> Self {
        Self { pid, mark, handle, birth: Some(birth), exit: None }
    }

    /// Waits until its program runs; after an error the program does not run, and the process has ended.
    pub(super) fn wait_begun(&mut self) -> io::Result<()> {
        let Some(birth) = self.birth.take() else { return Ok(()) };
        let begun = birth.wait(self.handle.as_fd());
        drop(birth);
        memory_points::calm();
        begun.inspect_err(|_| {
            // Its status is not needed elsewhere.
            let _ = rustix::process::waitid(WaitId::PidFd(self.handle.as_fd()), WaitIdOptions::EXITED);
        })
    }

    /// Makes sure that its program begins to run; returns when to check again, or nothing once it does.
    pub(crate) fn look_after_start(&mut self) -> Option<Duration> {
        let birth = self.birth.as_ref()?;
        // After a failed start no program begins: only the end of the process is awaited.
        let ends = || birth.failure().map(|_| Duration::from_millis(START_LOOK_MS));
        let again = birth.look_after(self.handle.as_fd()).or_else(ends);
        if again.is_none() {
            self.birth = None;
            memory_points::calm();
        }
        again
    }

    /// The reason why its program does not run, once the process has ended because of that.
    pub(crate) fn start_failure(&self) -> Option<io::Error> {
        self.birth.as_ref()?.failure()
    }

    /// The process id; the command leads a session of the same number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Identifies the command with everything it starts.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The process's handle; readable once it has exited.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Takes the exit status if the command has ended, without waiting; the same one on every later call.
    ///
    /// # Errors
    /// The kernel does not have the child, which cannot happen in a correct program.
    pub fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let status = rustix::process::waitid(WaitId::PidFd(self.handle.as_fd()), options)?;
            self.exit = status.map(|status| match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
            });
            if self.exit.is_some() {
                kill::forget_child(self.pid);
            }
        }
        Ok(self.exit)
    }

    /// Signals the first process of the command only.
    ///
    /// # Errors
    /// The number is not a signal's, or the process has ended.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(rustix::process::pidfd_send_signal(self.handle.as_fd(), signal)?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(birth) = self.birth.take() {
            birth.leave();
        }
        if self.exit.is_none() {
            kill::forget_child(self.pid);
        }
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl AsRawFd for Child {
    fn as_raw_fd(&self) -> RawFd {
        self.handle.as_raw_fd()
    }
}
