//! Confines the process that reads a document: it gives up its rights before it reads the first byte.
//!
//! The process may read standard input, write to standard output, and use memory and processor time within limits. A system call filter
//! lists the calls that are allowed. Landlock also refuses every file and port, in case the filter has a gap.

use std::collections::BTreeMap;
use std::io;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use crate::limits::{ADDRESS_SPACE_BYTES, CPU_SECONDS};

/// The newest version of Landlock that is used; older kernels enforce the part that they support.
const NEWEST: ABI = ABI::V9;

/// The system calls of a program that computes, allocates, reads a pipe and writes to another.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Limits memory, processor time and core files, and gives up access to every file and port, also for threads that start later.
///
/// # Errors
/// The kernel refused one of the limits.
pub(crate) fn limit() -> io::Result<()> {
    let limit = |resource, value| setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
    limit(Resource::As, ADDRESS_SPACE_BYTES)?;
    limit(Resource::Cpu, CPU_SECONDS)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    // The process ends with the server, even if the server is killed.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST));
    let ruleset = ruleset.and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEWEST)));
    let ruleset = ruleset.and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)));
    let restricted = ruleset.and_then(|ruleset| ruleset.create()?.restrict_self());
    restricted.map(drop).map_err(io::Error::other)
}

/// Refuses every system call that reading a document does not need, for all threads of this process.
///
/// # Errors
/// The kernel does not support filters of system calls, or refused this filter.
pub(crate) fn filter() -> io::Result<()> {
    limit_processes()?;
    let allowed: BTreeMap<i64, Vec<_>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(allowed, refused, SeccompAction::Allow, architecture);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

/// Forbids further processes and threads. This limit does not apply to root, for whom the filter forbids them.
fn limit_processes() -> io::Result<()> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    Ok(setrlimit(Resource::Nproc, none)?)
}
