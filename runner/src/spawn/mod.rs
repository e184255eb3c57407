//! Starting commands: one dedicated, confined thread per profile that only spawns.
//!
//! ```text
//! caller ── SpawnRequest ──▶ Spawner ──▶ its thread: confine::apply once, then per request
//!                                        find the program ▶ mark ▶ posix_spawn ▶ pidfd
//! caller ◀── Spawned (pidfd, pipe ends) ◀────────────────┘
//! ```
//!
//! `posix_spawn` does not copy the runner's memory maps, and the child inherits the thread's confinement, so an exec costs
//! what a bare spawn costs. The thread never touches what commands print: pipes are made by the caller, which keeps its ends.

mod child;
mod error;
mod program;
mod terminal;
mod thread;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use tokio::sync::{mpsc, oneshot};

pub use child::{Child, Exit};
pub use error::SpawnError;
pub use terminal::Terminal;
pub(crate) use terminal::start_on_terminal;

pub use crate::confine::TerminalSize;
use crate::confine::{ConfinePolicy, Ground, LayerReport, Profile};
use crate::limits::{SPAWN_QUEUE_REQUESTS, SPAWNER_STACK_BYTES};
use thread::{Order, Ready};

/// The name under which a new `resolv.conf` is written before it takes the old one's place.
const NEW_RESOLVER: &str = ".resolv.conf.new";

/// One command to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnRequest {
    /// The program, looked up on PATH unless it has a slash, and its arguments; at least one, without NUL bytes.
    pub argv: Vec<Vec<u8>>,
    /// Working directory beneath the workspace, relative or absolute; empty is the workspace.
    pub cwd: Vec<u8>,
    /// Variables that are added to the clean environment, or replace what it has.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether to open a pipe to the command's standard input; otherwise it reads `/dev/null`.
    pub stdin: bool,
    /// Whether standard error goes into the same pipe as standard output, in the order written.
    pub merge_stderr: bool,
}

/// A command that runs, with this side's ends of its pipes: close-on-exec and non-blocking.
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
}

/// Starts commands under one profile. Dropping it ends its thread; commands that run are not touched.
#[derive(Debug)]
pub struct Spawner {
    profile: Profile,
    report: LayerReport,
    etc: Option<OwnedFd>,
    ground: Arc<Ground>,
    orders: Option<mpsc::Sender<Order>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Spawner {
    /// Starts the thread and confines it; blocks for some milliseconds.
    ///
    /// # Errors
    /// The thread could not be started, the workspace cannot be opened, or a layer of confinement that this machine has could
    /// not be set up. A layer the machine lacks is no error: see [`Self::report`].
    pub fn start(profile: Profile, policy: &ConfinePolicy) -> Result<Self, SpawnError> {
        let (orders, queue) = mpsc::channel(SPAWN_QUEUE_REQUESTS);
        let (ready, answer) = std::sync::mpsc::sync_channel(1);
        let policy = policy.clone();
        let thread = std::thread::Builder::new()
            .name(format!("spawn-{profile}"))
            .stack_size(SPAWNER_STACK_BYTES)
            .spawn(move || thread::run(profile, &policy, &ready, queue))
            .map_err(SpawnError::system("start the spawner thread"))?;
        let Ready { report, etc, ground } = answer.recv().map_err(|_| SpawnError::Stopped)??;
        let (ground, thread) = (Arc::new(ground), Mutex::new(Some(thread)));
        Ok(Self { profile, report, etc, ground, orders: Some(orders), thread })
    }

    /// Which layers of confinement hold for this spawner's commands.
    pub fn report(&self) -> &LayerReport {
        &self.report
    }

    /// The profile this spawner's commands run under.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// What a command with a terminal needs of this spawner.
    pub(crate) fn ground(&self) -> Arc<Ground> {
        Arc::clone(&self.ground)
    }

    /// Starts a command whose standard streams are a terminal that no other command reaches; blocks for some milliseconds.
    ///
    /// `policy` is the one this spawner was started with; what `request` says of standard input and error means nothing. To be
    /// called from a thread that is not confined.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    pub fn spawn_on_terminal(
        &self,
        policy: &ConfinePolicy,
        request: SpawnRequest,
        size: TerminalSize,
    ) -> Result<Spawned, SpawnError> {
        start_on_terminal(&self.ground, policy, request, size)
    }

    /// Brings the commands' copy of `/etc/resolv.conf` up to date; call it when the network may have changed.
    ///
    /// # Errors
    /// The machine's file cannot be read, or the copy not be written; the old copy stays.
    pub fn refresh_resolver(&self) -> io::Result<()> {
        let Some(etc) = &self.etc else { return Ok(()) };
        let content = std::fs::read("/etc/resolv.conf")?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(etc, NEW_RESOLVER, flags, Mode::from_raw_mode(0o644))?;
        std::fs::File::from(file).write_all(&content)?;
        Ok(rustix::fs::renameat(etc, NEW_RESOLVER, etc, "resolv.conf")?)
    }

    /// Starts a command; waits its turn when many are being started.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    pub async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, SpawnError> {
        let (order, pipes, answer) = prepare(request)?;
        self.orders().ok_or(SpawnError::Stopped)?.send(order).await.map_err(|_| SpawnError::Stopped)?;
        Ok(pipes.with(answer.await.map_err(|_| SpawnError::Stopped)??))
    }

    /// Like [`Self::spawn`] for callers outside an asynchronous runtime.
    ///
    /// # Errors
    /// See [`SpawnError`].
    pub fn spawn_blocking(&self, request: SpawnRequest) -> Result<Spawned, SpawnError> {
        let (order, pipes, answer) = prepare(request)?;
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
            // Its panic was reported when it happened; there is nothing left to do about it.
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
        Spawned { child, stdin: self.stdin, stdout: self.stdout, stderr: self.stderr, terminal: None }
    }
}

type Prepared = (Order, Pipes, oneshot::Receiver<Result<Child, SpawnError>>);

fn prepare(request: SpawnRequest) -> Result<Prepared, SpawnError> {
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| pipe_error(error.into()));
    let (stdout, child_stdout) = pipe()?;
    let (stderr, child_stderr) = if request.merge_stderr { (None, None) } else { both(pipe()?) };
    let (child_stdin, stdin) = if request.stdin { both(pipe()?) } else { (None, None) };
    for end in [Some(&stdout), stderr.as_ref(), stdin.as_ref()].into_iter().flatten() {
        rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK).map_err(|error| pipe_error(error.into()))?;
    }
    let (reply, answer) = oneshot::channel();
    let order = Order { request, stdin: child_stdin, stdout: child_stdout, stderr: child_stderr, reply };
    Ok((order, Pipes { stdin, stdout, stderr }, answer))
}

fn both<A, B>((first, second): (A, B)) -> (Option<A>, Option<B>) {
    (Some(first), Some(second))
}

fn pipe_error(source: io::Error) -> SpawnError {
    SpawnError::System { action: "make a pipe", source }
}
