//! A child from its birth until its program runs: the memory that it borrows from this process, and its own steps.
//!
//! Meanwhile the thread that started it continues to run. So the child may do less than a signal handler may: system calls, none of them by way of
//! the C library, whose `errno` is that thread's; and it writes only to its stack and the few numbers reserved for it. Every signal is blocked until
//! those that have a handler are reset, so no handler can run in it.
//!
//! The kernel clears [`Loan::borrowed`] when the child has its own memory, or has ended.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;

use super::raw::call;
use super::spawn::{Common, DirectoryClosed};
use super::user;
use crate::limits::CHILD_STACK_BYTES;

/// The memory that the child borrows, its orders, and its answers.
pub(super) struct Loan {
    pub(super) program: CString,
    /// Addresses of the strings below with a 0 at the end, as `execve` takes them.
    pub(super) arguments: Vec<usize>,
    pub(super) environment: Vec<usize>,
    pub(super) _strings: (Vec<CString>, Vec<Arc<CStr>>),
    /// The files that become descriptors 0, 1 and 2; none of them already has one of these numbers.
    pub(super) streams: [RawFd; 3],
    pub(super) directory: RawFd,
    pub(super) is_terminal: bool,
    pub(super) common: Arc<Common>,
    /// Signals that must be reset.
    pub(super) handled: &'static [c_int],
    pub(super) stack: Box<[MaybeUninit<u128>]>,
    /// Not 0 as long as the child uses any of this.
    pub(super) borrowed: AtomicU32,
    /// The number of the error that keeps the program from running; 0 if there is none.
    pub(super) error: AtomicI32,
    /// Set if the working directory is the reason.
    pub(super) is_directory: AtomicBool,
}

/// Space for a child's stack.
pub(super) fn stack() -> Box<[MaybeUninit<u128>]> {
    Box::new_uninit_slice(CHILD_STACK_BYTES / size_of::<u128>())
}

/// A start that may be in progress. The memory that the child borrows stays in place until it is no longer needed.
///
/// All that changes in it while it is shared is atomic, or the child's stack, which no other thread reads.
pub(crate) struct Birth(Arc<Loan>);

impl Birth {
    pub(super) fn new(loan: Loan) -> Self {
        Self(Arc::new(loan))
    }

    /// A start whose child never finishes by itself.
    #[cfg(test)]
    pub(crate) fn endless() -> Self {
        Self::new(Loan {
            program: CString::default(),
            arguments: Vec::new(),
            environment: Vec::new(),
            _strings: Default::default(),
            streams: [0; 3],
            directory: 0,
            is_terminal: false,
            common: Arc::default(),
            handled: &[],
            stack: Box::default(),
            borrowed: AtomicU32::new(1),
            error: AtomicI32::new(0),
            is_directory: AtomicBool::new(false),
        })
    }

    /// The argument of [`child`].
    pub(super) fn argument(&self) -> *mut c_void {
        Arc::as_ptr(&self.0).cast_mut().cast()
    }

    pub(super) fn loan(&self) -> &Loan {
        &self.0
    }

    /// The lowest address of the stack; its content belongs to the child.
    pub(super) fn stack(&self) -> *mut [MaybeUninit<u128>] {
        let stack = &self.loan().stack;
        ptr::slice_from_raw_parts_mut(stack.as_ptr().cast_mut(), stack.len())
    }

    /// True if no child was born, so that nothing borrows the memory.
    pub(crate) fn never_began(&self) {
        self.loan().borrowed.store(0, Ordering::Release);
    }

    /// True if the program runs, or the child has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.loan().borrowed.load(Ordering::Acquire) == 0
    }

    /// Waits until the start is over, for at most this long; sometimes returns early.
    pub(crate) fn wait(&self, timeout: Duration) {
        let Ok(timeout) = timeout.try_into() else { return };
        let borrowed = &self.loan().borrowed;
        let now = borrowed.load(Ordering::Acquire);
        if now != 0 {
            // It changed, the time is over, or a signal came: the waiter checks again. The kernel wakes waiters of every
            // process, so this is not a private futex.
            let _ = futex::wait(borrowed, futex::Flags::empty(), now, Some(&timeout));
        }
    }

    /// The reason why the program does not run, once the start is over; `None` if it does, or did.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        let loan = self.loan();
        let error = if self.is_over() { loan.error.load(Ordering::Acquire) } else { 0 };
        if error == libc::EACCES && loan.is_directory.load(Ordering::Acquire) {
            return Some(io::Error::new(io::ErrorKind::PermissionDenied, DirectoryClosed));
        }
        (error != 0).then(|| io::Error::from_raw_os_error(error))
    }
}

impl Drop for Birth {
    fn drop(&mut self) {
        // Memory that a child still uses stays forever: this owner is never dropped.
        if !self.is_over() {
            std::mem::forget(Arc::clone(&self.0));
        }
    }
}

impl fmt::Debug for Birth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Birth").field("is_over", &self.is_over()).finish_non_exhaustive()
    }
}

/// The child's whole life as a borrower. Its return value becomes its exit code.
pub(super) extern "C" fn child(argument: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a loan that stays until this process has its own memory, or has ended.
    let loan = unsafe { &*argument.cast::<Loan>() };
    if let Err(error) = become_program(loan) {
        loan.error.store(error, Ordering::Release);
    }
    127
}

/// Returns only if that fails, with the error.
fn become_program(loan: &Loan) -> Result<(), c_int> {
    // In the kernel's layout: the default action, with no flags, and no signal blocked.
    let (default, nobody) = ([0_u64; 4], 0_u64);
    // SAFETY: each call takes numbers, or memory that `loan` or this function keeps alive and the kernel only reads.
    unsafe {
        for signal in loan.handled {
            let action = ptr::from_ref(&default).addr();
            // A signal whose action cannot change has the default one.
            let _ = call(libc::SYS_rt_sigaction, [number(*signal), action, 0, size_of::<u64>(), 0]);
        }
        call(libc::SYS_setsid, [0; 5])?;
        for (target, source) in (0..).zip(loan.streams) {
            call(libc::SYS_dup3, [number(source), target, 0, 0, 0])?;
        }
        if loan.is_terminal {
            call(libc::SYS_ioctl, [0, libc::TIOCSCTTY as usize, 0, 0, 0])?;
        }
        if let Some(user) = &loan.common.user {
            user::become_for_good(user)?;
        }
        call(libc::SYS_fchdir, [number(loan.directory), 0, 0, 0, 0]).inspect_err(|_| {
            loan.is_directory.store(true, Ordering::Release);
        })?;
        close_others();
        for limit in &loan.common.limits {
            let new = [limit.usual, limit.most];
            let kind = usize::try_from(limit.number).unwrap_or(usize::MAX);
            call(libc::SYS_prlimit64, [0, kind, new.as_ptr().addr(), 0, 0])?;
        }
        let mask = ptr::from_ref(&nobody).addr();
        call(libc::SYS_rt_sigprocmask, [number(libc::SIG_SETMASK), mask, 0, size_of::<u64>(), 0])?;
        let (arguments, environment) = (loan.arguments.as_ptr().addr(), loan.environment.as_ptr().addr());
        call(libc::SYS_execve, [loan.program.as_ptr().addr(), arguments, environment, 0, 0])?;
    }
    Ok(())
}

/// Closes every descriptor but 0, 1 and 2.
fn close_others() {
    const FIRST: usize = libc::STDERR_FILENO as usize + 1;
    // SAFETY: these are the child's own descriptors, and it does not use any of them any more; `own` has space for two
    // limits.
    unsafe {
        if call(libc::SYS_close_range, [FIRST, c_int::MAX as usize, 0, 0, 0]).is_ok() {
            return;
        }
        // Kernels before 5.9: one by one.
        let mut own = [0_u64; 2];
        let kind = usize::try_from(libc::RLIMIT_NOFILE).unwrap_or(usize::MAX);
        let _ = call(libc::SYS_prlimit64, [0, kind, 0, ptr::from_mut(&mut own).addr(), 0]);
        for descriptor in FIRST..usize::try_from(own[1]).unwrap_or(usize::MAX).min(c_int::MAX as usize) {
            let _ = call(libc::SYS_close, [descriptor, 0, 0, 0, 0]);
        }
    }
}

/// A value in the form of a register.
fn number(value: c_int) -> usize {
    isize::try_from(value).map_or(usize::MAX, isize::cast_unsigned)
}
