//! Starts one command on a terminal, from a separate thread, so that no other command reaches the terminal.
//!
//! ```text
//! caller ── request, size ──▶ thread: copy of the profile's view ▶ own terminals ▶ open one ▶ confine itself ▶ spawn
//! caller ◀── Spawned (terminal's side, pidfd) ◀──────────────────────────────────────────────────────────┘
//!        ── drops Terminal ─▶ thread ends; the kernel hangs up what still uses the terminal
//! ```
//! The thread lives as long as the terminal: its number must not be reused while commands that may not signal it run.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::place::Place;
use super::{Child, Ends, SpawnError, SpawnRequest, Spawned};
use crate::confine::{self, ConfinePolicy, Ground, OpenTerminal, TerminalSize};
use crate::kill;
use crate::limits::SPAWNER_STACK_BYTES;

/// This side of a command's terminal. Dropping it, and its other open handles, hangs up the processes that use it.
pub struct Terminal {
    master: OwnedFd,
    /// The command's side, kept open so that a command that closes it for a while does not look like one that ended.
    slave: RefCell<Option<OwnedFd>>,
    alive: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Changes the size; the programs in it get SIGWINCH.
    ///
    /// # Errors
    /// The terminal accepts no size, which cannot happen in a correct program.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        confine::resize(&self.master, size)
    }

    /// Records that the command ended: from now on the terminal's output ends when no other process has the terminal open.
    pub fn release(&self) {
        *self.slave.borrow_mut() = None;
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Terminal").field("master", &self.master).finish_non_exhaustive()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Without its sender the thread ends, at once.
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was reported when it happened; there is nothing left to do.
            let _ = thread.join();
        }
    }
}

/// Starts a command on a terminal; see [`super::Spawner::spawn_on_terminal`].
pub(crate) fn start_on_terminal(
    ground: &Arc<Ground>,
    policy: &ConfinePolicy,
    request: SpawnRequest,
    size: TerminalSize,
) -> Result<Spawned, SpawnError> {
    let (reply, answer) = sync_channel(1);
    let (alive, ended) = channel();
    let (ground, policy) = (Arc::clone(ground), policy.clone());
    let thread = std::thread::Builder::new()
        .name("terminal".to_owned())
        .stack_size(SPAWNER_STACK_BYTES)
        .spawn(move || run(&ground, &policy, &request, size, &reply, &ended))
        .map_err(SpawnError::system("start the terminal's thread"))?;
    let (child, OpenTerminal { master, slave, .. }) = answer.recv().map_err(|_| SpawnError::Stopped)??;
    let again = |descriptor: &OwnedFd| {
        let again = descriptor.try_clone();
        again.map_err(SpawnError::system("use the terminal for input and output")).inspect_err(|_| {
            kill::kill_tree(child.mark());
        })
    };
    let (stdin, stdout) = (Some(again(&master)?), again(&master)?);
    let slave = RefCell::new(Some(slave));
    let terminal = Terminal { master, slave, alive: Some(alive), thread: Some(thread) };
    Ok(Spawned { child, stdin, stdout, stderr: None, terminal: Some(terminal), held: Vec::new() })
}

type Started = Result<(Child, OpenTerminal), SpawnError>;

/// The thread's body: answers once, then waits for the terminal's end.
fn run(
    ground: &Ground,
    policy: &ConfinePolicy,
    request: &SpawnRequest,
    size: TerminalSize,
    reply: &SyncSender<Started>,
    ended: &Receiver<Infallible>,
) {
    let started = start(ground, policy, request, size);
    // Nothing is ever sent to this thread: it waits for the sender's end. The starter waits for exactly one message.
    if reply.send(started).is_ok() {
        let _ = ended.recv();
    }
}

fn start(ground: &Ground, policy: &ConfinePolicy, request: &SpawnRequest, size: TerminalSize) -> Started {
    let terminal = confine::apply_on_terminal(policy, kill::mark_key(), ground, size)
        .map_err(SpawnError::system("set up a terminal"))?;
    let place = Place::inside(ground.profile(), policy, ground.home(), ground.path())?;
    let side =
        || terminal.slave.try_clone().map_err(SpawnError::system("duplicate the terminal's descriptor"));
    let ends = Ends { stdin: Some(side()?), stdout: side()?, stderr: Some(side()?), is_terminal: true };
    let child = place.start(request, &ends)?;
    Ok((child, terminal))
}
