//! System calls: the only unsafe code of this crate, and as little of it as possible.
//!
//! Each function does one call, checks its result and hands back an `io::Result`; starting a program takes a few (`spawn`).
//! Where `nix` or `rustix` has a safe form of a call, that is used. The calls here have no safe form: calls that pass a key to
//! the filter, a clone of this process, a child between its birth and its program, and a few that no crate wraps.

mod birth;
mod clone;
mod raw;
mod spawn;
mod user;

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd;
use rustix::process::Pid;

pub(crate) use birth::Birth;
pub(crate) use spawn::{Common, DirectoryClosed, ResourceLimit, SpawnPlan, Started, spawn};
pub(crate) use user::{UserIds, act_on_files_as};

/// Two random words that unlock a change of the mark, and signals, under the seccomp filter; see `kill`.
pub(crate) type MarkKey = [u64; 2];

/// Index of the first of the two argument registers that carry the [`MarkKey`].
pub(crate) const MARK_KEY_ARGUMENT: u8 = 4;

fn check(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets the calling process's own mark (both limits of `RLIMIT_RTTIME`), passing `key` to the filter.
pub(crate) fn set_own_mark(limit: u64, key: MarkKey) -> io::Result<()> {
    let new = libc::rlimit64 { rlim_cur: limit, rlim_max: limit };
    exchange_mark(0, Some(&new), key).map(drop)
}

/// Reads the mark (hard limit of `RLIMIT_RTTIME`) of a process; 0 is the calling process.
pub(crate) fn mark_of(pid: u32) -> io::Result<u64> {
    Ok(exchange_mark(pid, None, [0, 0])?.rlim_max)
}

/// Reads the limits that carry the mark, and replaces them by `new` if given.
fn exchange_mark(pid: u32, new: Option<&libc::rlimit64>, key: MarkKey) -> io::Result<libc::rlimit64> {
    let mut old = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `new` is null or a live rlimit64 that the kernel only reads, and it writes one rlimit64 into `old`, which outlives
    // the call. The two extra words are ignored by the kernel.
    let result = unsafe {
        libc::syscall(libc::SYS_prlimit64, pid, libc::RLIMIT_RTTIME, new, &raw mut old, key[0], key[1])
    };
    check(result).map(|_| old)
}

/// Gives the calling thread its own mount namespace, root and working directory.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS)?)
}

/// Gives the calling thread its own System V IPC objects and POSIX message queues.
pub(crate) fn unshare_ipc() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWIPC)?)
}

/// Gives the calling thread its own network, in which every interface is down.
pub(crate) fn unshare_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET)?)
}

/// Brings `lo` up in the calling thread's network.
pub(crate) fn raise_loopback() -> io::Result<()> {
    let (family, kind) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM);
    let socket = rustix::net::socket_with(family, kind, rustix::net::SocketFlags::CLOEXEC, None)?;
    let flags = libc::__c_anonymous_ifr_ifru { ifru_flags: libc::IFF_UP as libc::c_short };
    let mut request = libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: flags };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = byte.cast_signed() as libc::c_char;
    }
    // SAFETY: the socket is open, and `request` lives through the call, which reads and writes no more than it.
    check(i64::from(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) }))
        .map(drop)
}

/// Signals a process through its handle, passing `key` to the filter.
pub(crate) fn signal_process(process: impl AsRawFd, signal: i32, key: MarkKey) -> io::Result<()> {
    let none = ptr::null::<libc::siginfo_t>();
    // SAFETY: a number and no memory is passed. The two extra words are ignored by the kernel.
    let result = unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, none, 0, key[0], key[1])
    };
    check(result).map(drop)
}

/// Keeps this much freed memory for reuse, instead of returning it and getting it again page by page.
pub(crate) fn keep_freed_memory(bytes: i32) {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers and no memory are passed; the allocator takes its own lock. A refusal changes nothing.
    let _ = unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, bytes) };
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}

/// Releases the pages of this process's program and libraries; those needed again are read back from the same files.
///
/// Only pages of code are released: they never differ from the file.
pub(crate) fn forget_program() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    for code in maps.lines().filter_map(code_mapping) {
        // SAFETY: the mapping is private, of a file, and cannot be written: its pages are the file's, and come back from there
        // whenever they are used, by this function too.
        let _ = unsafe {
            libc::madvise(ptr::with_exposed_provenance_mut(code.start), code.len(), libc::MADV_DONTNEED)
        };
    }
}

/// The addresses of a file's code in a line of `/proc/PID/maps`.
fn code_mapping(line: &str) -> Option<std::ops::Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()? == "r-xp" && fields.nth(3)?.starts_with('/');
    let address = |text| usize::from_str_radix(text, 16).ok();
    is_code.then_some(address(start)?..address(end)?)
}

/// Asks the system to begin to write this part of a file to its disk, without waiting.
pub(crate) fn begin_writeback(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<()> {
    let (offset, bytes) = (offset.cast_signed(), bytes.cast_signed());
    // SAFETY: numbers and no memory are passed.
    let result =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE) };
    check(i64::from(result)).map(drop)
}

/// Adds mount attributes (`MOUNT_ATTR_*`) to a detached or attached mount, and with `recursive` to all below it. The mode of
/// recording access times is one of several, and replaces the earlier one.
pub(crate) fn mount_attributes(mount: BorrowedFd<'_>, set: u64, recursive: bool) -> io::Result<()> {
    change_mount(mount, set, 0, recursive)
}

/// Adds and removes mount attributes; those that another user namespace set cannot be removed, and are an error.
pub(crate) fn change_mount(mount: BorrowedFd<'_>, set: u64, clear: u64, recursive: bool) -> io::Result<()> {
    let replaced = if set & libc::MOUNT_ATTR__ATIME == 0 { 0 } else { libc::MOUNT_ATTR__ATIME };
    let attributes =
        libc::mount_attr { attr_set: set, attr_clr: replaced | clear, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, and `attributes` lives through the call with its true size given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result).map(drop)
}

/// Namespaces for [`fork`].
pub(crate) const FORK_PLAIN: i32 = 0;
/// A new PID namespace with a mount namespace for its `/proc`.
pub(crate) const FORK_PID_NAMESPACE: i32 = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
/// A new PID namespace inside a new user namespace, for users other than root.
pub(crate) const FORK_USER_NAMESPACE: i32 = FORK_PID_NAMESPACE | libc::CLONE_NEWUSER;

/// Forks the calling process into new namespaces; `None` in the child.
///
/// Refuses if the process has more than one thread: with one thread the child can continue as if nothing had happened.
pub(crate) fn fork(namespaces: i32) -> io::Result<Option<u32>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("the guardian must be started before any thread"));
    }
    // The C library keeps the thread id at this address. Its own fork lets the kernel refresh it there; so does this.
    let thread_id = rustix::thread::get_clear_child_tid_address().ok().flatten();
    let address = thread_id.map_or(ptr::null_mut(), ptr::NonNull::as_ptr);
    let refresh = if address.is_null() { 0 } else { libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID };
    let flags = namespaces | refresh | libc::SIGCHLD;
    let none = ptr::null_mut::<libc::c_void>();
    let address = address.cast::<libc::c_void>();
    // x86-64 takes the last two arguments in the other order.
    let [fourth, fifth] = if cfg!(target_arch = "x86_64") { [address, none] } else { [none, address] };
    // SAFETY: without CLONE_VM and with a null stack this is fork: the child runs on a copy of this memory, and the
    // process has one thread, so no lock can be held by a thread that the child lacks.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, fourth, fifth) };
    let pid = check(pid)?;
    Ok(if pid == 0 { None } else { Some(u32::try_from(pid).map_err(io::Error::other)?) })
}

fn guardian_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD].into_iter().collect()
}

/// Blocks (or unblocks) the signals that [`wait_signal`] takes.
pub(crate) fn hold_signals(hold: bool) -> io::Result<()> {
    let set = guardian_signals();
    Ok(if hold { set.thread_block() } else { set.thread_unblock() }?)
}

/// While it exists, the thread that made it is notified of children that end. Otherwise the signal stays pending, if every thread of the process
/// blocks it ([`hold_child_signal`]).
#[derive(Debug)]
pub(crate) struct ChildSignal {
    _stays: PhantomData<*const ()>,
}

impl ChildSignal {
    pub(crate) fn take() -> Self {
        hold_child_signal(false);
        Self { _stays: PhantomData }
    }
}

impl Drop for ChildSignal {
    fn drop(&mut self) {
        hold_child_signal(true);
    }
}

/// Blocks SIGCHLD for the calling thread and those it starts, or unblocks it.
pub(crate) fn hold_child_signal(hold: bool) {
    let set = SigSet::from(Signal::SIGCHLD);
    // Cannot fail with a valid signal.
    let _ = if hold { set.thread_block() } else { set.thread_unblock() };
}

/// Waits for one blocked signal; `None` when `timeout` passed without one.
pub(crate) fn wait_signal(timeout: Duration) -> io::Result<Option<i32>> {
    let set = guardian_signals();
    let time =
        libc::timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: timeout.subsec_nanos().into() };
    // SAFETY: set and time live through the call; no information about the signal is asked for.
    let signal = unsafe { libc::sigtimedwait(set.as_ref(), ptr::null_mut(), &raw const time) };
    if signal > 0 {
        return Ok(Some(signal));
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(None),
        error => Err(error),
    }
}

/// The process group of a process, if it has a number in this PID namespace: the group of a namespace's first process may be
/// outside, and is 0 here (which rustix's `getpgid` considers impossible).
pub(crate) fn process_group(process: Pid) -> Option<i32> {
    let process = unistd::Pid::from_raw(process.as_raw_pid());
    let group = unistd::getpgid(Some(process)).ok()?.as_raw();
    (group > 0).then_some(group)
}

/// Signals every process this one may signal except itself. Only for the init process of a PID namespace.
pub(crate) fn signal_whole_namespace(signal: Signal) -> io::Result<()> {
    Ok(kill(unistd::Pid::from_raw(-1), signal)?)
}

/// Takes ownership of a descriptor that this process inherited across its own exec.
pub(crate) fn adopt_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: before the exec, this program made sure that the descriptor would have no other owner. If it is not open
    // after all, the call below reports it, and it is never closed.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    match rustix::io::fcntl_getfd(&descriptor) {
        Ok(_) => Ok(descriptor),
        Err(error) => {
            std::mem::forget(descriptor);
            Err(error.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_files_is_let_go_of() {
        let code = "7f0a000-7f0c000 r-xp 00001000 fe:00 1234   /usr/lib/libc.so.6";
        assert_eq!(code_mapping(code), Some(0x7f0_a000..0x7f0_c000));
        for other in [
            "7f0a000-7f0c000 r--p 00001000 fe:00 1234   /usr/lib/libc.so.6",
            "7f0a000-7f0c000 rwxp 00001000 fe:00 1234   /usr/lib/libc.so.6",
            "7f0a000-7f0c000 r-xs 00001000 fe:00 1234   /usr/lib/libc.so.6",
            "7f0a000-7f0c000 r-xp 00000000 00:00 0      [vdso]",
            "7f0a000-7f0c000 r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(code_mapping(other), None, "{other}");
        }
    }

    #[test]
    fn a_program_that_was_let_go_of_goes_on() {
        forget_program();
        assert_eq!(std::fs::read_to_string("/proc/self/comm").unwrap().lines().count(), 1);
    }
}
