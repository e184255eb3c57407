//! The spawner's thread: confines itself, then starts what it is told to.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use pathguard::Root;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use tokio::sync::{mpsc, oneshot};

use super::program::{Defaults, Program, refusal};
use super::{Child, SpawnError, SpawnRequest};
use crate::confine::{self, ConfinePolicy, Ground, LayerReport, Profile};
use crate::kill;
use crate::sys::{self, SpawnPlan};

/// One request with the command's ends of its pipes.
pub(super) struct Order {
    pub(super) request: SpawnRequest,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) reply: oneshot::Sender<Result<Child, SpawnError>>,
}

/// What the starter learns about a thread that is ready.
pub(super) struct Ready {
    pub(super) report: LayerReport,
    pub(super) etc: Option<OwnedFd>,
    pub(super) ground: Ground,
}

/// The thread's body: reports once on `ready`, then serves `orders` until every sender is gone.
pub(super) fn run(
    profile: Profile,
    policy: &ConfinePolicy,
    ready: &SyncSender<Result<Ready, SpawnError>>,
    mut orders: mpsc::Receiver<Order>,
) {
    let (place, facts) = match Place::new(profile, policy) {
        Ok(made) => made,
        Err(error) => {
            // The starter waits for exactly one message; it cannot be gone.
            let _ = ready.send(Err(error));
            return;
        }
    };
    if ready.send(Ok(facts)).is_err() {
        return;
    }
    while let Some(order) = orders.blocking_recv() {
        let Order { request, stdin, stdout, stderr, reply } = order;
        let outcome = place.start(&request, stdin.as_ref(), &stdout, stderr.as_ref());
        // The command's ends must be closed here before the caller can wait for the end of its output.
        drop((stdin, stdout, stderr));
        if let Err(Ok(child)) = reply.send(outcome) {
            // The caller gave up while the command was starting: nobody would ever stop it.
            kill::kill_tree(child.mark());
        }
    }
}

/// Where commands start: opened inside the thread's own view, so that nothing leads out of it.
pub(super) struct Place<'a> {
    policy: &'a ConfinePolicy,
    workspace: Root,
    null: OwnedFd,
    defaults: Defaults,
}

impl<'a> Place<'a> {
    fn new(profile: Profile, policy: &'a ConfinePolicy) -> Result<(Self, Ready), SpawnError> {
        // Before anything is built around it, which would only say the same in other words.
        Root::open(&policy.workspace).map_err(SpawnError::Directory)?;
        let confined = confine::apply(profile, policy, kill::mark_key()).map_err(SpawnError::Confinement)?;
        let place = Self::inside(policy, &confined.home, &confined.path)?;
        Ok((place, Ready { report: confined.report, etc: confined.etc, ground: confined.ground }))
    }

    /// The place of a thread that is confined already.
    pub(super) fn inside(
        policy: &'a ConfinePolicy,
        home: &Path,
        path: &[PathBuf],
    ) -> Result<Self, SpawnError> {
        let workspace = Root::open(&policy.workspace).map_err(SpawnError::Directory)?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let null = null.map_err(io::Error::from).map_err(SpawnError::system("open /dev/null"))?;
        Ok(Self { policy, workspace, null, defaults: Defaults::new(policy, home, path) })
    }

    /// Starts a command whose standard streams are the terminal at `path`.
    pub(super) fn start_on(&self, request: &SpawnRequest, path: &CStr) -> Result<Child, SpawnError> {
        self.launch(request, None, &self.null, None, Some(path))
    }

    fn start(
        &self,
        request: &SpawnRequest,
        stdin: Option<&OwnedFd>,
        stdout: &OwnedFd,
        stderr: Option<&OwnedFd>,
    ) -> Result<Child, SpawnError> {
        self.launch(request, stdin, stdout, stderr, None)
    }

    fn launch(
        &self,
        request: &SpawnRequest,
        stdin: Option<&OwnedFd>,
        stdout: &OwnedFd,
        stderr: Option<&OwnedFd>,
        terminal: Option<&CStr>,
    ) -> Result<Child, SpawnError> {
        let cwd = if request.cwd.is_empty() { b".".as_slice() } else { &request.cwd };
        let cwd = Path::new(OsStr::from_bytes(cwd));
        let directory = self.workspace.open_dir(cwd).map_err(SpawnError::Directory)?;
        let shown: PathBuf = self.policy.workspace.join(cwd).components().collect();
        let program = Program::new(request, &self.defaults, directory.as_fd(), &shown)?;
        let plan = SpawnPlan {
            program: &program.path,
            arguments: &program.arguments,
            environment: &program.environment,
            stdin: stdin.unwrap_or(&self.null).as_fd(),
            stdout: stdout.as_fd(),
            stderr: stderr.unwrap_or(stdout).as_fd(),
            directory: directory.as_fd(),
            terminal,
        };
        let (pid, mark) =
            kill::spawn_marked(|| sys::spawn(&plan)).map_err(|error| spawn_error(request, error))?;
        match pidfd(pid) {
            Ok(handle) => Ok(Child::new(pid, mark, handle)),
            Err(source) => {
                kill::kill_tree(mark);
                kill::forget_child(pid);
                Err(SpawnError::System { action: "open the process", source })
            }
        }
    }
}

/// The child is ours and not reaped, so its pid cannot mean anything else.
fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)?)
}

fn spawn_error(request: &SpawnRequest, error: io::Error) -> SpawnError {
    let program = request.argv.first().map_or(&b""[..], Vec::as_slice);
    match Errno::from_io_error(&error) {
        // The program exists; what is missing is the interpreter it names.
        Some(Errno::NOENT) => {
            let program = String::from_utf8_lossy(program).into_owned();
            SpawnError::NotExecutable { program, reason: "its interpreter is missing".to_owned() }
        }
        Some(
            errno
            @ (Errno::ACCESS | Errno::NOEXEC | Errno::PERM | Errno::ISDIR | Errno::LIBBAD | Errno::LOOP),
        ) => refusal(program, errno),
        Some(Errno::TOOBIG) => {
            SpawnError::InvalidRequest { reason: "arguments and environment are too long" }
        }
        _ => SpawnError::System { action: "start the command", source: error },
    }
}
