//! Handles a start that does not complete.
//!
//! From its birth until its program runs, a child borrows the runner's memory, and a command that guesses its PID can stop it.
//! So the child is sent SIGCONT, and killed if that does not help.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::memory_points::Raised;
use crate::limits::{START_LIMIT_MS, START_LOOK_MS};
use crate::{kill, sys};

/// A start that may be in progress.
#[derive(Debug)]
pub(super) struct Birth {
    loan: sys::Birth,
    since: Instant,
    /// The runner's own points are restored once the child no longer shares its memory.
    _raised: Raised,
}

/// Starts that continued after their caller had given up.
static LEFT: Mutex<Vec<Birth>> = Mutex::new(Vec::new());

impl Birth {
    /// Takes over a start at its first moment.
    pub(super) fn new(loan: sys::Birth, raised: Raised) -> Self {
        left().retain(|birth| !birth.loan.is_over());
        Self { loan, since: Instant::now(), _raised: raised }
    }

    /// Makes sure that the start ends; returns when to check again, or nothing once it has ended.
    pub(super) fn look_after(&self, child: BorrowedFd<'_>) -> Option<Duration> {
        if self.loan.is_over() {
            return None;
        }
        let (look, time) = (Duration::from_millis(START_LOOK_MS), self.since.elapsed());
        if time < look {
            return Some(look - time);
        }
        let is_late = time >= Duration::from_millis(START_LIMIT_MS);
        let signal = if is_late { libc::SIGKILL } else { libc::SIGCONT };
        // It may have begun, or ended, at this moment.
        let _ = sys::signal_process(child.as_raw_fd(), signal, kill::mark_key());
        tracing::warn!(signal, "a command has not started after {} ms", time.as_millis());
        Some(look)
    }

    /// Waits for the end of the start; fails if no program runs.
    pub(super) fn wait(&self, child: BorrowedFd<'_>) -> io::Result<()> {
        while let Some(look) = self.look_after(child) {
            self.loan.wait(look);
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// The reason why no program runs; `None` as long as that is unknown.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.loan.failure()
    }

    /// Lets the start continue without its caller, who has given up.
    pub(super) fn leave(self) {
        if !self.loan.is_over() {
            left().push(self);
        }
    }
}

fn left() -> MutexGuard<'static, Vec<Birth>> {
    // Every change is complete in one step.
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::process::{Child, Command};

    use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal};

    use super::*;
    use crate::spawn::memory_points;

    fn sleeper() -> (Child, OwnedFd) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        (child, handle)
    }

    fn wait(child: &Child, what: WaitIdOptions) {
        let status =
            rustix::process::waitid(WaitId::Pid(Pid::from_child(child)), what | WaitIdOptions::NOWAIT);
        assert!(status.unwrap().is_some());
    }

    #[test]
    fn a_child_that_somebody_stopped_goes_on_and_one_that_never_begins_is_killed() {
        let (mut child, handle) = sleeper();
        let birth = Birth::new(sys::Birth::endless(), memory_points::raise());
        std::thread::scope(|scope| {
            scope.spawn(|| birth.wait(handle.as_fd()).unwrap());
            pidfd_send_signal(&handle, Signal::STOP).unwrap();
            wait(&child, WaitIdOptions::STOPPED);
            wait(&child, WaitIdOptions::CONTINUED);
            wait(&child, WaitIdOptions::EXITED);
            // The kernel does the same for a child that has ended.
            birth.loan.never_began();
        });
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn what_a_child_still_borrows_is_kept_when_nobody_wants_it_any_more() {
        let birth = Birth::new(sys::Birth::endless(), memory_points::raise());
        birth.leave();
        let kept = left().pop().unwrap();
        assert!(!kept.loan.is_over());
        kept.loan.never_began();
        kept.leave();
        assert!(left().is_empty());
    }
}
