//! The place where commands start: a confined thread's own view of the workspace.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pathguard::Root;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::birth::Birth;
use super::program::{Defaults, Program, refusal};
use super::{Child, Ends, Facts, Resolver, SpawnError, SpawnRequest};
use super::{memory_points, resource_limits};
use crate::account::Account;
use crate::confine::{self, ConfinePolicy};
use crate::layers::{Profile, layer_name};
use crate::sys::{self, Common, DirectoryClosed, MarkKey, SpawnPlan, Started, UserIds};
use crate::{group, kill};

/// The place where commands start: opened inside the thread's own view, so that nothing leads out of it.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    workspace: Root,
    /// The workspace itself, where most commands run.
    top: Arc<OwnedFd>,
    null: OwnedFd,
    defaults: Defaults,
    common: Arc<Common>,
    group: Option<(BorrowedFd<'static>, MarkKey)>,
}

impl Place {
    /// Confines the calling thread permanently, and opens the workspace from inside.
    pub(super) fn new(profile: Profile, policy: &ConfinePolicy) -> Result<(Self, Facts), SpawnError> {
        // Checked before anything is built around it, where the error would be less clear.
        Root::open(&policy.workspace).map_err(SpawnError::Directory)?;
        let confined = confine::apply(profile, policy, kill::mark_key()).map_err(SpawnError::confinement)?;
        let place = Self::inside(profile, policy, &confined.home, &confined.path)?;
        let mut report = confined.report;
        let limits = format!(
            "{}; {}",
            group::describe(policy.run_as.as_ref()),
            resource_limits::describe(&place.common.limits)
        );
        report.add(layer_name::LIMITS, group::holds(policy.run_as.as_ref()), limits);
        let (resolver, ground) = (Resolver::new(confined.etc), Arc::new(confined.ground));
        Ok((place, Facts { profile, report, resolver, ground }))
    }

    /// The place of a thread that is already confined.
    pub(super) fn inside(
        profile: Profile,
        policy: &ConfinePolicy,
        home: &Path,
        path: &[PathBuf],
    ) -> Result<Self, SpawnError> {
        let workspace = Root::open(&policy.workspace).map_err(SpawnError::Directory)?;
        let top = Arc::new(workspace.open_dir(".").map_err(SpawnError::Directory)?);
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let null = null.map_err(io::Error::from).map_err(SpawnError::system("open /dev/null"))?;
        let defaults = Defaults::new(profile, policy, home, path)?;
        let limits = resource_limits::of_commands(&policy.bounds.limits, policy.run_as.as_ref());
        let common = Arc::new(Common { user: policy.run_as.as_ref().map(Account::ids), limits });
        let group = group::birthplace().map(|group| (group, kill::mark_key()));
        Ok(Self { path: policy.workspace.clone(), workspace, top, null, defaults, common, group })
    }

    /// Starts one command, and waits until its program runs; call this from the thread that created the place.
    pub(super) fn start(&self, request: &SpawnRequest, ends: &Ends) -> Result<Child, SpawnError> {
        let mut child = self.begin(request, ends)?;
        child.wait_begun().map_err(|error| self.refusal(request, error))?;
        Ok(child)
    }

    /// Like [`Self::start`] without waiting: [`Child::start_failure`] reports if its program does not run.
    pub(super) fn begin(&self, request: &SpawnRequest, ends: &Ends) -> Result<Child, SpawnError> {
        let (directory, program) = self.program(request)?;
        if let Some(user) = &self.common.user {
            give(ends, user).map_err(SpawnError::system("give the command its input and output"))?;
        }
        let plan = SpawnPlan {
            program: program.path,
            arguments: program.arguments,
            environment: program.environment,
            stdin: ends.stdin.as_ref().unwrap_or(&self.null).as_fd(),
            stdout: ends.stdout.as_fd(),
            stderr: ends.stderr.as_ref().unwrap_or(&ends.stdout).as_fd(),
            directory: directory.as_fd(),
            is_terminal: ends.is_terminal,
            common: Arc::clone(&self.common),
            group: self.group,
        };
        let raised = memory_points::raise();
        let (pid, Started { handle, birth }, mark) =
            kill::spawn_marked(|| sys::spawn(plan)).map_err(|error| self.refusal(request, error))?;
        Ok(Child::new(pid, mark, handle, Birth::new(birth, raised)))
    }

    /// The reason why a command could not be started.
    pub(super) fn refusal(&self, request: &SpawnRequest, error: io::Error) -> SpawnError {
        if error.get_ref().is_some_and(|cause| cause.is::<DirectoryClosed>()) {
            return SpawnError::Directory(pathguard::Error::PermissionDenied);
        }
        match self.program(request) {
            Ok((directory, program)) => {
                program.refusal(request, directory.as_fd()).unwrap_or_else(|| spawn_error(request, error))
            }
            Err(refused) => refused,
        }
    }

    /// The command in the kernel's form, and its open working directory.
    fn program(&self, request: &SpawnRequest) -> Result<(Arc<OwnedFd>, Program), SpawnError> {
        let cwd = Path::new(OsStr::from_bytes(&request.cwd));
        let directory = match request.cwd.is_empty() {
            true => Arc::clone(&self.top),
            false => Arc::new(self.workspace.open_dir(cwd).map_err(SpawnError::Directory)?),
        };
        let shown: PathBuf = self.path.join(cwd).components().collect();
        let program = Program::new(request, &self.defaults, directory.as_fd(), &shown)?;
        Ok((directory, program))
    }
}

/// Makes a user the owner of a command's pipes, or terminal: by their names in `/dev` only their owner can reopen them.
fn give(ends: &Ends, user: &UserIds) -> io::Result<()> {
    let owner = (Uid::from_raw(user.user_id), Gid::from_raw(user.group_id));
    let ends = [ends.stdin.as_ref(), Some(&ends.stdout), ends.stderr.as_ref()];
    let give = |end| Ok(rustix::fs::fchown(end, Some(owner.0), Some(owner.1))?);
    ends.into_iter().flatten().try_for_each(give)
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
        // The kernel's message, "temporarily unavailable", names neither the resource nor the reason.
        Some(Errno::AGAIN) => SpawnError::System {
            action: "start the command: the limit of processes is reached (see --pids); end some",
            source: error,
        },
        _ => SpawnError::System { action: "start the command", source: error },
    }
}
