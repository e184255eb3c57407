//! Looks after a start that does not come to an end.
//!
//! From its birth until its program runs, a child can be stopped by a command that guesses its number, and the thread that
//! starts it stands still all the while, with all it serves. So a thread that is not confined lets the child go on, and kills
//! it when that does not help. It sleeps as long as nothing is started.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::limits::{START_LIMIT_MS, START_LOOK_MS, WATCHER_STACK_BYTES};
use crate::sys;

/// What a start that has no handle yet shows.
const NO_HANDLE: RawFd = -1;

/// The start that is under way: at most one in a process, as each is marked.
struct State {
    has_thread: bool,
    since: Option<Instant>,
    /// How many there were.
    starts: u64,
    is_watched: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { has_thread: false, since: None, starts: 0, is_watched: false });
static WAKE: Condvar = Condvar::new();
/// Written by the kernel before the child can run.
static HANDLE: AtomicI32 = AtomicI32::new(NO_HANDLE);

fn state() -> MutexGuard<'static, State> {
    // Every change is a single assignment.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread, once in the life of a process; to be called from a thread that is not confined.
///
/// # Errors
/// The system starts no more threads.
pub(super) fn start() -> io::Result<()> {
    let mut state = state();
    if !state.has_thread {
        Builder::new().name("spawn-watch".to_owned()).stack_size(WATCHER_STACK_BYTES).spawn(watch)?;
        state.has_thread = true;
    }
    Ok(())
}

/// Runs `work`, which starts a child and puts its handle where it is told, under watch.
pub(super) fn during<T>(work: impl FnOnce(&'static AtomicI32) -> T) -> T {
    let mut before = state();
    HANDLE.store(NO_HANDLE, Ordering::Relaxed);
    before.since = Some(Instant::now());
    before.starts += 1;
    if !before.is_watched {
        before.is_watched = true;
        WAKE.notify_one();
    }
    drop(before);
    let outcome = work(&HANDLE);
    // The watcher signals with the lock held: from here on the handle may become another's.
    state().since = None;
    outcome
}

fn watch() {
    let look = Duration::from_millis(START_LOOK_MS);
    let mut state = state();
    loop {
        state = WAKE.wait_while(state, |state| !state.is_watched).unwrap_or_else(PoisonError::into_inner);
        let seen = state.starts;
        drop(state);
        std::thread::sleep(look);
        state = self::state();
        let handle = HANDLE.load(Ordering::Relaxed);
        match state.since.map(|since| since.elapsed()) {
            Some(time) if time >= look && handle != NO_HANDLE => {
                let is_over = time >= Duration::from_millis(START_LIMIT_MS);
                let signal = if is_over { libc::SIGKILL } else { libc::SIGCONT };
                // It may have begun, or ended, in this moment.
                let _ = sys::signal_process(handle, signal, [0, 0]);
                // Who reads that may be slow.
                drop(state);
                tracing::warn!(signal, "a command has not begun to run for {} ms", time.as_millis());
                state = self::state();
            }
            Some(_) => {}
            None => state.is_watched = state.starts != seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::process::{Child, Command};

    use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal};

    use super::*;

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
        start().unwrap();
        let (mut child, handle) = sleeper();
        during(|slot| {
            slot.store(handle.as_raw_fd(), Ordering::Relaxed);
            pidfd_send_signal(&handle, Signal::STOP).unwrap();
            wait(&child, WaitIdOptions::STOPPED);
            wait(&child, WaitIdOptions::CONTINUED);
            wait(&child, WaitIdOptions::EXITED);
        });
        assert!(!child.wait().unwrap().success());
    }
}
