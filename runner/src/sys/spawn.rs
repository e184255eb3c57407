//! Starting a program the way `posix_spawn` does, without what that repeats each time: a new stack to map and to unmap, and
//! a call for each signal there is. Together they cost as much as all else that happens before the program is loaded.
//!
//! The child borrows this process's memory until its program runs; the calling thread stands still meanwhile. So the child may
//! do what a signal handler may: system calls, and nothing that allocates or locks. Every signal is blocked until those that
//! have a handler are reset, so no handler can run in it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use super::clone::into_group;
use super::user;
use super::{MarkKey, posix};
use crate::account::Account;
use crate::limits::CHILD_STACK_BYTES;

/// What [`spawn`] needs to start one program.
pub(crate) struct SpawnPlan<'a> {
    pub(crate) program: &'a CStr,
    pub(crate) arguments: &'a [CString],
    pub(crate) environment: &'a [CString],
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    pub(crate) directory: BorrowedFd<'a>,
    /// Whether the three are a terminal, which becomes the controlling one.
    pub(crate) is_terminal: bool,
    /// Whom the child becomes; nobody else when absent.
    pub(crate) user: Option<&'a Account>,
    pub(crate) limits: &'a [ResourceLimit],
    /// The control group to be born into, with the key that the filter wants to see.
    pub(crate) group: Option<(BorrowedFd<'a>, MarkKey)>,
}

/// One limit that a process has to itself, and hands down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceLimit {
    /// `RLIMIT_*`.
    pub(crate) number: libc::__rlimit_resource_t,
    /// The limit in force, which the process may change.
    pub(crate) usual: u64,
    /// What it may raise that to.
    pub(crate) most: u64,
}

/// The child may not enter its working directory, as the user it has become.
#[derive(Debug, thiserror::Error)]
#[error("its user may not enter the working directory")]
pub(crate) struct DirectoryClosed;

/// What children of one thread run on until their program does, one after the other.
#[derive(Debug)]
pub(crate) struct Stack(Box<[MaybeUninit<u128>]>);

impl Stack {
    pub(crate) fn new() -> Self {
        Self(Box::new_uninit_slice(CHILD_STACK_BYTES / size_of::<u128>()))
    }
}

/// What the child is told, and what it tells.
struct Handover {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    /// What becomes descriptors 0, 1 and 2; none of them is one of these.
    streams: [RawFd; 3],
    directory: RawFd,
    is_terminal: bool,
    /// Whom to become, alive as long as the child borrows.
    user: *const Account,
    limits: *const ResourceLimit,
    limits_count: usize,
    /// Signals that must be reset.
    handled: &'static [c_int],
    /// Why the program does not run; 0 when it does.
    error: c_int,
    /// Whether that is because of the working directory.
    is_directory: bool,
}

/// Starts a program in a new session with default signals and descriptors 0, 1 and 2 only; returns its pid and its handle.
///
/// The number of the handle is in `handle` before the program runs.
pub(crate) fn spawn(
    plan: &SpawnPlan<'_>,
    stack: &mut Stack,
    handle: &'static AtomicI32,
) -> io::Result<(u32, OwnedFd)> {
    let (arguments, environment) = (pointers(plan.arguments), pointers(plan.environment));
    let streams = [plan.stdin, plan.stdout, plan.stderr].map(|end| end.as_raw_fd());
    if streams.iter().any(|number| *number <= libc::STDERR_FILENO) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut handover = Handover {
        program: plan.program.as_ptr(),
        arguments: arguments.as_ptr(),
        environment: environment.as_ptr(),
        streams,
        directory: plan.directory.as_raw_fd(),
        is_terminal: plan.is_terminal,
        user: plan.user.map_or(ptr::null(), ptr::from_ref),
        limits: plan.limits.as_ptr(),
        limits_count: plan.limits.len(),
        handled: handled_signals(),
        error: 0,
        is_directory: false,
    };
    let before = block_signals()?;
    let started = start_child(&mut handover, stack, handle, plan.group);
    // SAFETY: `before` is the mask this thread had; the present one is not asked for.
    posix(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) })?;
    let (pid, handle) = started?;
    if handover.error != 0 {
        // SAFETY: the child is ours, has ended, and nobody else waits for it; its status is not asked for.
        unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
        if handover.is_directory && handover.error == libc::EACCES {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, DirectoryClosed));
        }
        return Err(io::Error::from_raw_os_error(handover.error));
    }
    Ok((u32::try_from(pid).map_err(io::Error::other)?, handle))
}

fn start_child(
    handover: &mut Handover,
    stack: &mut Stack,
    handle: &'static AtomicI32,
    group: Option<(BorrowedFd<'_>, MarkKey)>,
) -> io::Result<(libc::pid_t, OwnedFd)> {
    if let Some((group, key)) = group {
        // SAFETY: as below.
        let pid =
            unsafe { into_group(child, &mut stack.0, (&raw mut *handover).cast(), handle, group, key)? };
        // SAFETY: as below.
        return Ok((pid, unsafe { OwnedFd::from_raw_fd(handle.load(Ordering::Relaxed)) }));
    }
    let top = stack.0.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: `top` is the aligned end of a stack that nobody else uses, large enough for what `child` does. With CLONE_VFORK
    // this call returns once the child has its own memory or is gone, so all it was lent outlives its use, `handover`
    // included, which only the child touches meanwhile. The kernel puts the number into `handle` before the child runs.
    let pid = unsafe {
        libc::clone(child, top.cast(), flags, (&raw mut *handover).cast::<c_void>(), handle.as_ptr())
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the kernel put a new descriptor there, which is nobody else's.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(handle.load(Ordering::Relaxed)) }))
}

/// The child's whole life as a borrower. What it returns becomes its exit code.
extern "C" fn child(argument: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a live Handover and stands still.
    let handover = unsafe { &mut *argument.cast::<Handover>() };
    handover.error = become_program(handover);
    127
}

/// Returns only when that fails, and why.
fn become_program(handover: &mut Handover) -> c_int {
    // SAFETY: only system calls, each on numbers, or on memory that `spawn` keeps alive and the kernel reads.
    unsafe {
        let mut default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in handover.handled {
            libc::sigaction(*signal, &raw const default, ptr::null_mut());
        }
        let [stdin, stdout, stderr] = handover.streams;
        let failed = libc::setsid() < 0
            || libc::dup2(stdin, libc::STDIN_FILENO) < 0
            || libc::dup2(stdout, libc::STDOUT_FILENO) < 0
            || libc::dup2(stderr, libc::STDERR_FILENO) < 0
            || (handover.is_terminal && libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) < 0)
            || handover.user.as_ref().is_some_and(|user| !user::become_for_good(user));
        if !failed {
            handover.is_directory = libc::fchdir(handover.directory) < 0;
        }
        if !failed && !handover.is_directory {
            close_others();
            if !limit(handover) {
                return *libc::__errno_location();
            }
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
            libc::execve(handover.program, handover.arguments, handover.environment);
        }
        *libc::__errno_location()
    }
}

/// Sets the child's own limits; false when the kernel refuses one.
fn limit(handover: &Handover) -> bool {
    // SAFETY: `spawn` keeps that many limits alive, and nobody changes them.
    let limits = unsafe { std::slice::from_raw_parts(handover.limits, handover.limits_count) };
    limits.iter().all(|limit| {
        let new = libc::rlimit { rlim_cur: limit.usual, rlim_max: limit.most };
        // SAFETY: `new` lives through the call, which only reads it.
        unsafe { libc::setrlimit(limit.number, &raw const new) == 0 }
    })
}

/// Closes every descriptor but 0, 1 and 2.
fn close_others() {
    let first = libc::STDERR_FILENO + 1;
    // SAFETY: these are the child's own descriptors, and it uses none of them any more.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, c_int::MAX, 0) == 0 {
            return;
        }
        // Kernels before 5.9: one by one.
        let mut limit: libc::rlimit = MaybeUninit::zeroed().assume_init();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        for number in first..c_int::try_from(limit.rlim_max).unwrap_or(c_int::MAX) {
            libc::close(number);
        }
    }
}

/// The signals that this process handles or ignores. Looked up once: no handler is installed after the first command.
fn handled_signals() -> &'static [c_int] {
    static HANDLED: OnceLock<Vec<c_int>> = OnceLock::new();
    HANDLED.get_or_init(|| (1..=libc::SIGRTMAX()).filter(|signal| is_handled(*signal)).collect())
}

fn is_handled(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only looks; the structure is large enough, and all zeroes when the call fails, which is the default action.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction != libc::SIG_DFL
    }
}

/// Blocks every signal for the calling thread; returns the mask it had.
fn block_signals() -> io::Result<libc::sigset_t> {
    let mut every = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first set is filled before it is read, and the second written by a call that is checked before it is read.
    unsafe {
        libc::sigfillset(every.as_mut_ptr());
        posix(libc::pthread_sigmask(libc::SIG_SETMASK, every.as_ptr(), before.as_mut_ptr()))?;
        Ok(before.assume_init())
    }
}

/// NULL-terminated, as `execve` takes them.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}
