//! Starting a program as `posix_spawn` does, without its repeated work: mapping and unmapping a new stack, and a call for
//! each signal. Together these cost as much as everything else before the program is loaded. It also does not wait until the
//! program runs: see [`Birth`].

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32};
use std::sync::{Arc, OnceLock};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::birth::{self, Birth, Loan, child};
use super::clone::into_group;
use super::user::UserIds;
use super::{MarkKey, raw};

/// The plan by which [`spawn`] starts one program.
pub(crate) struct SpawnPlan<'a> {
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<Arc<CStr>>,
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    pub(crate) directory: BorrowedFd<'a>,
    /// True if the three are a terminal, which becomes the controlling one.
    pub(crate) is_terminal: bool,
    pub(crate) common: Arc<Common>,
    /// The control group to be born into, with the key for the filter.
    pub(crate) group: Option<(BorrowedFd<'a>, MarkKey)>,
}

/// Settings that all commands of one place share.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// The user that the child becomes; unchanged when absent.
    pub(crate) user: Option<UserIds>,
    pub(crate) limits: Vec<ResourceLimit>,
}

/// One limit of a single process, which its children inherit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceLimit {
    /// The number of the limit, `RLIMIT_*`.
    pub(crate) number: libc::__rlimit_resource_t,
    /// The limit in force, which the process may change.
    pub(crate) usual: u64,
    /// The highest value that it may set.
    pub(crate) most: u64,
}

/// The error for a child that has no permission to enter its working directory as the user it has become.
#[derive(Debug, thiserror::Error)]
#[error("its user has no permission to enter the working directory")]
pub(crate) struct DirectoryClosed;

/// A child that was started.
pub(crate) struct Started {
    /// The child's pidfd.
    pub(crate) handle: OwnedFd,
    /// Reports when its program runs, or why it does not.
    pub(crate) birth: Birth,
}

/// Starts a program in a new session with default signals and descriptors 0, 1 and 2 only; returns its pid at once.
///
/// If the program cannot be run, the child's [`Birth`] reports that; such a child ends, and has to be waited for like any
/// other.
pub(crate) fn spawn(plan: SpawnPlan<'_>) -> io::Result<(u32, Started)> {
    let streams = [plan.stdin, plan.stdout, plan.stderr].map(|end| end.as_raw_fd());
    if streams.iter().any(|number| *number <= libc::STDERR_FILENO) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let birth = Birth::new(Loan {
        program: plan.program,
        arguments: pointers(&plan.arguments),
        environment: pointers(&plan.environment),
        _strings: (plan.arguments, plan.environment),
        streams,
        directory: plan.directory.as_raw_fd(),
        is_terminal: plan.is_terminal,
        common: plan.common,
        handled: handled_signals(),
        stack: birth::stack(),
        borrowed: AtomicU32::new(1),
        error: AtomicI32::new(0),
        is_directory: AtomicBool::new(false),
    });
    let before = match SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK) {
        Ok(before) => before,
        Err(error) => {
            birth.never_began();
            return Err(error.into());
        }
    };
    let started = start_child(&birth, plan.group).inspect_err(|_| birth.never_began());
    let restored = before.thread_set_mask();
    let (pid, handle) = started?;
    if let Err(error) = restored {
        tracing::error!("a thread continues with its signals blocked: {error}");
    }
    Ok((pid.cast_unsigned(), Started { handle, birth }))
}

/// The kernel stores the number of the handle before this returns.
fn start_child(
    birth: &Birth,
    group: Option<(BorrowedFd<'_>, MarkKey)>,
) -> io::Result<(libc::pid_t, OwnedFd)> {
    let mut handle: RawFd = -1;
    let (stack, borrowed) = (birth.stack(), birth.loan().borrowed.as_ptr());
    // If memory is limited, it may run out just now. The kernel spares a newborn that its parent waits for; any other one
    // counts as large as the runner, and takes the runner with it.
    let is_awaited = !raw::LEAVES_ERRNO || group.is_some();
    let wait = if is_awaited { libc::CLONE_VFORK } else { 0 };
    let flags = libc::CLONE_VM | libc::CLONE_PIDFD | libc::CLONE_CHILD_CLEARTID | wait;
    let argument = birth.argument();
    // SAFETY: `stack` is memory without another user, large enough for `child`, and its end is aligned. Everything lent to the
    // child stays until the kernel has cleared `borrowed`: see `Birth`. If the call succeeded, the kernel put a new descriptor
    // into `handle`, which has no other owner.
    unsafe {
        let pid = if let Some((group, key)) = group {
            into_group(child, stack, argument, flags, &raw mut handle, borrowed, group, key)?
        } else {
            let top = stack.cast::<MaybeUninit<u128>>().add(stack.len());
            let (flags, no_storage) = (flags | libc::SIGCHLD, ptr::null_mut::<libc::c_void>());
            libc::clone(child, top.cast(), flags, argument, &raw mut handle, no_storage, borrowed)
        };
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((pid, OwnedFd::from_raw_fd(handle)))
    }
}

/// The signals that this process handles or ignores. Looked up once: no handler is installed after the first command.
fn handled_signals() -> &'static [c_int] {
    static HANDLED: OnceLock<Vec<c_int>> = OnceLock::new();
    HANDLED.get_or_init(|| (1..=libc::SIGRTMAX()).filter(|signal| is_handled(*signal)).collect())
}

fn is_handled(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: this only reads; the structure is large enough, and stays all zeroes if the call fails, which is the default
    // action.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction != libc::SIG_DFL
    }
}

/// The addresses of strings, with a 0 at the end, as `execve` takes them.
fn pointers<S: AsRef<CStr>>(strings: &[S]) -> Vec<usize> {
    strings.iter().map(|string| string.as_ref().as_ptr().expose_provenance()).chain([0]).collect()
}
