//! The guardian: a small process that starts the runner, restarts it, and makes sure that no process outlives either of
//! them.
//!
//! ```text
//!   guardian (one thread, no runtime; waits for signals)
//!      │ fork, in the best tier this machine allows
//!      ▼
//!   runner ── confined threads ── commands
//!
//!   tier                  who kills the rest when the runner or the guardian is killed
//!   pid-namespace         the kernel, at once: the runner is the namespace's init, and PDEATHSIG ties it to the guardian
//!   user-pid-namespace    the same, for a runner that is not root
//!   subreaper             the guardian (orphans are handed to it), or the runner when the guardian's pipe closes
//!   container-init        the container: the runner is its PID 1 and needs no guardian
//! ```
//!
//! The child is forked without an exec, so that the token stays in memory: it is never in an argument or environment of a
//! long-lived process (see [`take_token_from_argv`] for the one that arrives there).

mod namespaces;
mod token;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process;
use std::time::{Duration, Instant};

use rustix::pipe::PipeFlags;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitIdStatus,
};

pub(crate) use token::{hidden_token, hidden_update_error, is_hidden};
pub use token::{take_token_from_argv, take_update_error};

use crate::exit_code::{EXIT_STOPPED, EXIT_UPDATE};
use crate::group;
use crate::kill::{self, KillTier};
use crate::layers::{LeftOut, layer_name};
use crate::limits::{
    GUARDIAN_IDLE_MS, RESTART_HEALTHY_MS, RESTART_PAUSE_LIMIT_MS, RESTART_PAUSE_MS, RESTARTS, RUNNER_STOP_MS,
};
use crate::spawn::memory_points;
use crate::sys;

/// The exit code of a panic, after which a restart is tried; other codes are the runner's own decision.
const PANIC_EXIT_CODE: i32 = 101;

/// The guardian's settings: what it does when the runner dies, and the layers that it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardConfig {
    /// True if a runner that was killed or panicked is started again, after a growing pause.
    pub restart: bool,
    /// Layers not to set up: among the guardian's, `pid-namespace` and `non-dumpable`.
    pub left_out: LeftOut,
}

/// The guardian's information for the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerContext {
    /// The means by which everything that the runner started is found when the runner ends.
    pub tier: KillTier,
}

/// Makes the kernel send SIGTERM to this process when its parent ends in any way.
///
/// # Errors
/// The parent has ended already, or the system refuses.
pub fn end_with(parent: i32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // A parent that ended before does not cause the signal.
    match rustix::process::getppid().map(Pid::as_raw_nonzero) {
        Some(pid) if pid.get() == parent => Ok(()),
        Some(_) | None => {
            Err(io::Error::other(format!("process {parent}, which started this one, has ended")))
        }
    }
}

/// Runs `runner_main` in a guarded child process and returns its exit code, 128+N when signal N killed it.
///
/// Must be called before any thread exists. In the child it does not return: the child exits with `runner_main`'s code.
/// SIGTERM, SIGINT, SIGHUP and SIGQUIT reach the runner as SIGTERM; a second one kills it. As the init process of a
/// container it runs `runner_main` in place.
///
/// # Errors
/// The process has threads already, or the system refuses to fork.
pub fn run_guarded(config: GuardConfig, runner_main: impl Fn(&RunnerContext) -> i32) -> io::Result<i32> {
    let left_out = config.left_out;
    // Before Linux 6.4 rustix reads the auxiliary vector from /proc, once and when it first needs it. A process that is not dumpable
    // may no longer read that file, unless it is root, and rustix panics.
    rustix::param::page_size();
    if process::id() == 1 {
        memory_points::prepare();
        harden(left_out)?;
        // An earlier program of this process may have blocked them.
        sys::hold_signals(false)?;
        kill::set_tier(KillTier::ContainerInit);
        return Ok(runner_main(&RunnerContext { tier: KillTier::ContainerInit }));
    }
    kill::become_reaper()?;
    sys::hold_signals(true)?;
    let mut pause = Duration::from_millis(RESTART_PAUSE_MS);
    let mut restarts = 0;
    loop {
        let started = Instant::now();
        let runner = start(left_out, &runner_main)?;
        harden(left_out)?;
        // From here on it sleeps: the memory used to get here need not stay mapped.
        sys::forget_program();
        let (status, stopping) = watch(&runner)?;
        kill::forget_child(runner.pid.as_raw_nonzero().get().cast_unsigned());
        // Namespaces are empty by now. Without one, all remaining processes of the runner end here.
        kill::kill_everything();
        kill::reap_orphans();
        let code = exit_code(&status);
        let died = status.killed() || status.dumped() || code == PANIC_EXIT_CODE;
        if started.elapsed() >= Duration::from_millis(RESTART_HEALTHY_MS) {
            (pause, restarts) = (Duration::from_millis(RESTART_PAUSE_MS), 0);
        }
        if stopping && code == EXIT_UPDATE {
            return Ok(EXIT_STOPPED);
        }
        if stopping || !died || !config.restart || restarts >= RESTARTS {
            return Ok(code);
        }
        if stopped_during(pause)? {
            return Ok(code);
        }
        restarts += 1;
        pause = (pause * 2).min(Duration::from_millis(RESTART_PAUSE_LIMIT_MS));
    }
}

/// A running runner. It notices the guardian's end when `alive` closes.
struct Runner {
    pid: Pid,
    pidfd: OwnedFd,
    _alive: OwnedFd,
}

/// Starts the runner in the best tier that works here.
fn start(left_out: LeftOut, runner_main: &impl Fn(&RunnerContext) -> i32) -> io::Result<Runner> {
    let best = match rustix::process::geteuid().is_root() {
        _ if left_out.contains(layer_name::PID_NAMESPACE) => KillTier::Subreaper,
        true => KillTier::PidNamespace,
        false => KillTier::UserPidNamespace,
    };
    // The files that map users belong to root while a process is not dumpable.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    match start_in(best, left_out, runner_main) {
        Ok(Some(runner)) => Ok(runner),
        Ok(None) | Err(_) => start_in(KillTier::Subreaper, left_out, runner_main)?
            .ok_or_else(|| io::Error::other("the runner could not be started in any kill tier")),
    }
}

/// Forks the runner into one tier; `None` when the child found that the tier does not work.
fn start_in(
    tier: KillTier,
    left_out: LeftOut,
    runner_main: &impl Fn(&RunnerContext) -> i32,
) -> io::Result<Option<Runner>> {
    let (ready, child_ready) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (child_alive, alive) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let ids = namespaces::Ids::current();
    let outside = if tier.makes_namespace() { group::before_namespace() } else { None };
    let Some(pid) = sys::fork(tier.fork_flags())? else {
        drop((ready, alive));
        become_runner(tier, left_out, (ids, outside), child_ready, child_alive, runner_main);
    };
    drop((child_ready, child_alive));
    kill::await_child(pid);
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    // One byte means that the child is set up; the end of the pipe, that it gave up.
    if rustix::io::retry_on_intr(|| rustix::io::read(&ready, &mut [0_u8; 1]))? == 0 {
        rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
        return Ok(None);
    }
    if let Some(Err(error)) = outside.map(group::Outside::check) {
        tracing::warn!("the runner is started again, without a limit on its PID namespace: {error}");
        rustix::process::pidfd_send_signal(&pidfd, Signal::KILL)?;
        rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
        return start_in(tier, left_out, runner_main);
    }
    Ok(Some(Runner { pid, pidfd, _alive: alive }))
}

/// The child's side: sets up its tier, reports that, and becomes the runner.
fn become_runner(
    tier: KillTier,
    left_out: LeftOut,
    (ids, outside): (namespaces::Ids, Option<group::Outside>),
    ready: OwnedFd,
    alive: OwnedFd,
    runner_main: &impl Fn(&RunnerContext) -> i32,
) -> ! {
    let set_up = namespaces::enter(tier, ids, &alive).and_then(|()| {
        group::bind_namespace(outside);
        memory_points::prepare();
        harden(left_out)?;
        sys::hold_signals(false)?;
        rustix::io::write(&ready, &[1])?;
        if tier == KillTier::Subreaper { namespaces::die_with_guardian(alive) } else { Ok(()) }
    });
    drop(ready);
    if set_up.is_err() {
        process::exit(PANIC_EXIT_CODE);
    }
    kill::set_tier(tier);
    let code = runner_main(&RunnerContext { tier });
    kill::kill_everything_for_good();
    process::exit(code)
}

/// Prevents reading this process's memory through a debugger or a core file.
fn harden(left_out: LeftOut) -> io::Result<()> {
    let behavior = match left_out.contains(layer_name::NON_DUMPABLE) {
        true => DumpableBehavior::Dumpable,
        false => DumpableBehavior::NotDumpable,
    };
    rustix::process::set_dumpable_behavior(behavior)?;
    Ok(rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// Waits for the runner to end, passing on stop requests; also returns true if there was one.
fn watch(runner: &Runner) -> io::Result<(WaitIdStatus, bool)> {
    let mut stop_by: Option<Instant> = None;
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        if let Some(status) = rustix::process::waitid(WaitId::Pid(runner.pid), options)? {
            return Ok((status, stop_by.is_some()));
        }
        let deadline = stop_by.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match sys::wait_signal(deadline.unwrap_or(Duration::from_millis(GUARDIAN_IDLE_MS)))? {
            Some(libc::SIGCHLD) => {
                kill::reap_orphans();
            }
            Some(_) => {
                let signal = if stop_by.is_some() { Signal::KILL } else { Signal::TERM };
                // A failure only means that the runner has ended meanwhile, which the next round notices.
                let _ = rustix::process::pidfd_send_signal(&runner.pidfd, signal);
                stop_by = stop_by.or(Some(Instant::now() + Duration::from_millis(RUNNER_STOP_MS)));
            }
            None => {}
        }
        if stop_by.is_some_and(|deadline| Instant::now() >= deadline) {
            let _ = rustix::process::pidfd_send_signal(&runner.pidfd, Signal::KILL);
        }
    }
}

/// Waits out a pause; true if a stop request came during it.
fn stopped_during(pause: Duration) -> io::Result<bool> {
    let until = Instant::now() + pause;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        if sys::wait_signal(left)?.is_some_and(|signal| signal != libc::SIGCHLD) {
            return Ok(true);
        }
    }
}

fn exit_code(status: &WaitIdStatus) -> i32 {
    status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        .unwrap_or(PANIC_EXIT_CODE)
}
