//! Starting commands from a confined thread, whose confinement they inherit.
//!
//! ```text
//! Here::spawn ──────────────────────────┐
//!                                       ▼
//! Spawner::spawn ── order ──▶ thread ─▶ find the program ▶ mark ▶ start a child ▶ pidfd ──▶ Spawned (pidfd, pipe ends)
//! ```
//!
//! The child borrows the runner's memory until its program runs, so no memory maps are copied, and it inherits the thread's
//! confinement: an exec costs what a bare spawn costs. The runner's own thread starts most commands itself (`Here`): handing
//! them to another thread and back would wake two idle cores. It does not wait until the program runs either, so many
//! commands start at once; a failed start shows when its process has ended. A [`Spawner`] has its own thread, for a profile
//! that only some commands use.
//!
//! Pipes are made by the caller, which keeps its ends; a spawner's thread never touches the output of commands.

mod birth;
mod child;
mod here;
pub(crate) mod memory_points;
mod place;
mod program;
mod resolver;
mod resource_limits;
pub(crate) mod spawners;
mod terminal;
mod thread;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::OFlags;
use rustix::pipe::PipeFlags;
use tokio::sync::{mpsc, oneshot};

pub use crate::error::SpawnError;
pub use child::{Child, Exit};
pub(crate) use here::Here;
pub(crate) use resolver::Resolver;
pub(crate) use resource_limits::raise_own as raise_own_limits;
pub(crate) use spawners::Spawners;
pub use terminal::Terminal;
pub(crate) use terminal::start_on_terminal;

use crate::blocking;
pub use crate::confine::TerminalSize;
use crate::confine::{ConfinePolicy, Ground};
use crate::layers::{LayerReport, Profile};
use crate::limits::{SPAWN_QUEUE_REQUESTS, SPAWNER_STACK_BYTES};
use thread::Order;

/// One command to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnRequest {
    /// The program, looked up on PATH unless it has a slash, and its arguments; at least one, without NUL bytes.
    pub argv: Vec<Vec<u8>>,
    /// Working directory below the workspace, relative or absolute; empty is the workspace.
    pub cwd: Vec<u8>,
    /// Variables that are added to the clean environment, or replace its own.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// True to open a pipe to the command's standard input; otherwise it reads `/dev/null`.
    pub stdin: bool,
    /// True if standard error goes into the same pipe as standard output, in the order written.
    pub merge_stderr: bool,
}

/// A running command, with this side's ends of its pipes: close-on-exec and non-blocking.
#[derive(Debug)]
pub struct Spawned {
    /// The process itself.
    pub child: Child,
    /// Writes to the command's standard input, if asked for; drop it to end the input.
    pub stdin: Option<OwnedFd>,
    /// Reads the command's standard output, and its standard error when merged.
    pub stdout: OwnedFd,
    /// Reads the command's standard error, unless merged.
    pub stderr: Option<OwnedFd>,
    /// The command's terminal, of which the descriptors here are this side.
    pub terminal: Option<Terminal>,
    /// The ends that the command writes to, held to keep its output from ending; drop them when the command has ended. Otherwise an
    /// ending command wakes this side once for each pipe before that.
    pub(crate) held: Vec<OwnedFd>,
}

/// The results of confining a thread.
#[derive(Debug)]
struct Facts {
    profile: Profile,
    report: LayerReport,
    resolver: Resolver,
    /// The base for commands with a terminal.
    ground: Arc<Ground>,
}

/// Starts commands under one profile, on a separate thread. Dropping it ends the thread; running commands are not touched.
#[derive(Debug)]
pub struct Spawner {
    facts: Facts,
    orders: Option<mpsc::Sender<Order>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Spawner {
    /// Starts the thread and confines it; blocks for some milliseconds. Call this from an unconfined thread.
    ///
    /// # Errors
    /// The thread could not be started, the workspace cannot be opened, or a layer of confinement that this machine has could
    /// not be set up. A layer the machine lacks is not an error: see [`Self::report`].
    pub fn start(profile: Profile, policy: &ConfinePolicy) -> Result<Self, SpawnError> {
        start_helpers()?;
        let (orders, queue) = mpsc::channel(SPAWN_QUEUE_REQUESTS);
        let (ready, answer) = std::sync::mpsc::sync_channel(1);
        let policy = policy.clone();
        let thread = std::thread::Builder::new()
            .name(format!("spawn-{profile}"))
            .stack_size(SPAWNER_STACK_BYTES)
            .spawn(move || thread::run(profile, &policy, &ready, queue))
            .map_err(SpawnError::system("start the spawner thread"))?;
        let facts = answer.recv().map_err(|_| SpawnError::Stopped)??;
        Ok(Self { facts, orders: Some(orders), thread: Mutex::new(Some(thread)) })
    }

    /// The layers of confinement that are in effect for this spawner's commands.
    pub fn report(&self) -> &LayerReport {
        &self.facts.report
    }

    /// The profile this spawner's commands run under.
    pub fn profile(&self) -> Profile {
        self.facts.profile
    }

    /// The base for commands with a terminal.
    pub(crate) fn ground(&self) -> &Arc<Ground> {
        &self.facts.ground
    }

    /// Starts a command whose standard streams are a terminal that no other command reaches; blocks for some milliseconds.
    ///
    /// `policy` is the one this spawner was started with; the request's settings for standard input and error are ignored.
    /// Call this from an unconfined thread.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    pub fn spawn_on_terminal(
        &self,
        policy: &ConfinePolicy,
        request: SpawnRequest,
        size: TerminalSize,
    ) -> Result<Spawned, SpawnError> {
        start_on_terminal(&self.facts.ground, policy, request, size)
    }

    /// Updates the commands' copy of `/etc/resolv.conf`; call it when the network may have changed.
    ///
    /// # Errors
    /// The machine's file cannot be read, or the copy cannot be written; the old copy stays.
    pub fn refresh_resolver(&self) -> io::Result<()> {
        self.facts.resolver.refresh()
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.facts.resolver
    }

    /// Starts a command; waits its turn when many are being started.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    pub async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, SpawnError> {
        let (order, pipes, answer) = order(request)?;
        self.orders().ok_or(SpawnError::Stopped)?.send(order).await.map_err(|_| SpawnError::Stopped)?;
        Ok(pipes.with(answer.await.map_err(|_| SpawnError::Stopped)??))
    }

    /// Like [`Self::spawn`] for callers outside an asynchronous runtime.
    ///
    /// # Errors
    /// See [`SpawnError`].
    pub fn spawn_blocking(&self, request: SpawnRequest) -> Result<Spawned, SpawnError> {
        let (order, pipes, answer) = order(request)?;
        self.orders().ok_or(SpawnError::Stopped)?.blocking_send(order).map_err(|_| SpawnError::Stopped)?;
        Ok(pipes.with(answer.blocking_recv().map_err(|_| SpawnError::Stopped)??))
    }

    fn orders(&self) -> Option<&mpsc::Sender<Order>> {
        self.orders.as_ref()
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // Without a sender the thread's queue ends, and with it the thread.
        self.orders = None;
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // Its panic was reported when it happened; there is nothing left to do.
            let _ = thread.join();
        }
    }
}

/// This side's ends of a command's pipes.
struct Pipes {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: Option<OwnedFd>,
}

impl Pipes {
    fn with(self, child: Child) -> Spawned {
        Spawned {
            child,
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr,
            terminal: None,
            held: Vec::new(),
        }
    }
}

/// The command's ends of its pipes.
struct Ends {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: Option<OwnedFd>,
    /// True if they are a terminal.
    is_terminal: bool,
}

type Ordered = (Order, Pipes, oneshot::Receiver<Result<Child, SpawnError>>);

fn order(request: SpawnRequest) -> Result<Ordered, SpawnError> {
    let (pipes, ends) = prepare(&request)?;
    let (reply, answer) = oneshot::channel();
    Ok((Order { request, ends, reply }, pipes, answer))
}

fn prepare(request: &SpawnRequest) -> Result<(Pipes, Ends), SpawnError> {
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| pipe_error(error.into()));
    let (stdout, child_stdout) = pipe()?;
    let (stderr, child_stderr) = if request.merge_stderr { (None, None) } else { both(pipe()?) };
    let (child_stdin, stdin) = if request.stdin { both(pipe()?) } else { (None, None) };
    for end in [Some(&stdout), stderr.as_ref(), stdin.as_ref()].into_iter().flatten() {
        rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK).map_err(|error| pipe_error(error.into()))?;
    }
    let ends = Ends { stdin: child_stdin, stdout: child_stdout, stderr: child_stderr, is_terminal: false };
    Ok((Pipes { stdin, stdout, stderr }, ends))
}

/// Starts what a confined thread needs and could not start itself.
fn start_helpers() -> Result<(), SpawnError> {
    memory_points::prepare();
    blocking::start().map_err(SpawnError::system("start a thread"))
}

fn both<A, B>((first, second): (A, B)) -> (Option<A>, Option<B>) {
    (Some(first), Some(second))
}

fn pipe_error(source: io::Error) -> SpawnError {
    SpawnError::System { action: "make a pipe", source }
}
