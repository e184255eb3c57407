//! A running command: its handle, and its exit status exactly once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use rustix::process::{Signal, WaitId, WaitIdOptions};

use crate::blocking;
use crate::kill::{self, Mark};
use crate::limits::OUT_OF_MEMORY_POINTS;

/// The most points the kernel knows.
const OUT_OF_MEMORY_LIMIT: i32 = 1_000;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code, 0 to 255.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// An unreaped child of the runner. Its handle is readable once it has exited.
///
/// Dropping it before it was waited for leaves the process running and its remains to [`kill::reap_orphans`].
#[derive(Debug)]
pub struct Child {
    pid: u32,
    mark: Mark,
    handle: OwnedFd,
    exit: Option<Exit>,
}

impl Child {
    pub(super) fn new(pid: u32, mark: Mark, handle: OwnedFd) -> Self {
        Self { pid, mark, handle, exit: None }
    }

    /// The process id; the command leads a session of the same number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Names the command with everything it starts.
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
    /// The kernel does not know the child, which no correct program sees.
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

    /// Lets the kernel kill the command rather than the runner when memory runs out; happens soon after.
    ///
    /// What the command starts before that is not included. Where it is refused, nothing is lost but the preference.
    pub(crate) fn goes_first_out_of_memory(&self) {
        // A confined thread may not write there.
        if let Ok(handle) = self.handle.try_clone() {
            let pid = self.pid;
            blocking::post(move || raise_points(pid, &handle));
        }
    }

    /// Signals the first process of the command only.
    ///
    /// # Errors
    /// Not a signal's number, or the process is gone.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(rustix::process::pidfd_send_signal(&self.handle, signal)?)
    }
}

/// Raises the out-of-memory points of the process that `handle` is of.
fn raise_points(pid: u32, handle: &OwnedFd) {
    static POINTS: OnceLock<String> = OnceLock::new();
    let points = POINTS.get_or_init(|| {
        let own = fs::read_to_string("/proc/self/oom_score_adj").ok();
        let own: i32 = own.and_then(|points| points.trim().parse().ok()).unwrap_or(0);
        (own + OUT_OF_MEMORY_POINTS).min(OUT_OF_MEMORY_LIMIT).to_string()
    });
    let file = OpenOptions::new().write(true).open(format!("/proc/{pid}/oom_score_adj"));
    // As long as the handle's process is not reaped, its pid cannot mean anything else: so it meant that when it was opened.
    if kill::exists(handle) {
        let _ = file.and_then(|mut file| file.write_all(points.as_bytes()));
    }
}

impl Drop for Child {
    fn drop(&mut self) {
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
