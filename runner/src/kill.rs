//! Finding and killing everything one exec started, and everything the runner ever started.
//!
//! **Marks.** Children inherit resource limits. `RLIMIT_RTTIME` concerns real-time processes alone and at the sizes used
//! here never binds, so it can carry a number: before each spawn the runner sets its own limit to a value that is new,
//! and the child with all its descendants has it for life, through double forks, `setsid` and changes of user. A soft limit
//! cannot exceed the hard one, and raising the hard one takes CAP_SYS_RESOURCE, which commands do not keep; the seccomp filter
//! refuses every change without a key that only the runner knows. So a process cannot leave its exec in any way. The numbers
//! start at a random place and go down, as an unprivileged runner can only lower its limit.
//!
//! **Killing** never uses a bare pid: a handle is opened first, the mark is read again, then the signal goes to the handle.

mod processes;
mod tier;
mod usage;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::group;
use crate::limits::{KILL_BATCH_PROCESSES, KILL_DEADLINE_MS, KILL_PASS_MS, KILL_PRIORITY};
use crate::sys::{self, MarkKey};
use processes::{children, status};
pub use tier::KillTier;
pub(crate) use usage::{Counted, Usage, usage};

/// Marks are at least this, in the limit's unit (microseconds): 2^40 is 12 days of uninterrupted real-time work.
const MARKS_FROM: u64 = 1 << 40;

/// Marks are below this.
const MARKS_TO: u64 = 1 << 62;

/// Names one exec's whole tree of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The inherited number; `None` if the limit cannot be set, and only the session identifies the tree.
    number: Option<u64>,
    /// The session the exec's first process leads.
    session: u32,
}

#[cfg(test)]
impl Mark {
    /// A tree that is identified by its session.
    pub(crate) fn of_session(session: u32) -> Self {
        Self { number: None, session }
    }
}

/// The outcome of killing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KillOutcome {
    /// Processes that got the signal.
    pub killed: usize,
    /// Processes still alive when the time was up; 0 is success.
    pub survivors: usize,
}

/// The marks not used yet.
struct Marks {
    key: MarkKey,
    next: u64,
    enforced: bool,
    /// True if nothing new may be started.
    is_closed: bool,
}

static MARKS: OnceLock<Mutex<Marks>> = OnceLock::new();
static TIER: OnceLock<KillTier> = OnceLock::new();
/// The children of this process that are awaited, so that no other code may reap them.
static AWAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Locks a value that no panic can leave inconsistent: every change is a single assignment, insertion or removal.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn marks() -> MutexGuard<'static, Marks> {
    lock(MARKS.get_or_init(|| {
        let limit = sys::mark_of(0).unwrap_or(0).min(MARKS_TO);
        let span = limit.saturating_sub(MARKS_FROM);
        let next = MARKS_FROM + if span == 0 { 0 } else { rand::random::<u64>() % span };
        let (key, enforced) = (rand::random(), span > 0 && sys::set_own_mark(next, [0, 0]).is_ok());
        Mutex::new(Marks { key, next, enforced, is_closed: false })
    }))
}

/// The key for changing marks under the filter.
pub(crate) fn mark_key() -> MarkKey {
    marks().key
}

/// True if execs are marked; otherwise a tree is only identified by its session.
pub(crate) fn marks_enforced() -> bool {
    marks().enforced
}

pub(crate) fn set_tier(tier: KillTier) {
    // A process has one guardian for its whole life: only the first value counts.
    let _ = TIER.set(tier);
}

pub(crate) fn tier() -> KillTier {
    TIER.get().copied().unwrap_or(KillTier::Unguarded)
}

/// How trees are found and killed here, for reports.
pub fn describe() -> String {
    let marks = if marks_enforced() { "marks" } else { "sessions" };
    format!("{}, trees by {marks}", tier().as_str())
}

/// Runs `spawn` while the process carries a fresh mark, and records the child before it can be reaped.
pub(crate) fn spawn_marked<T>(spawn: impl FnOnce() -> io::Result<(u32, T)>) -> io::Result<(u32, T, Mark)> {
    let mut awaited = lock(&AWAITED);
    let mut marks = marks();
    if marks.is_closed {
        return Err(io::Error::other("the runner is shutting down"));
    }
    marks.enforced = marks.enforced && marks.next > MARKS_FROM && {
        marks.next -= 1;
        sys::set_own_mark(marks.next, marks.key).is_ok()
    };
    let (pid, child) = spawn()?;
    awaited.insert(pid);
    let number = marks.enforced.then_some(marks.next);
    Ok((pid, child, Mark { number, session: pid }))
}

/// Marks this child as awaited.
pub(crate) fn await_child(pid: u32) {
    lock(&AWAITED).insert(pid);
}

/// Records that a child was reaped, or is not awaited any more: from now on it is an orphan like any other.
pub(crate) fn forget_child(pid: u32) {
    lock(&AWAITED).remove(&pid);
}

/// Living members of an exec's tree, including its first process; in no particular order.
pub fn members(mark: Mark) -> Vec<u32> {
    processes::all().filter(|pid| is_member(*pid, mark) && is_alive(*pid)).collect()
}

/// The marks among `marks` whose trees have a living member, found in one pass over all processes.
pub(crate) fn living(marks: &[Mark]) -> HashSet<Mark> {
    let numbers: HashMap<u64, Mark> = marks.iter().filter_map(|mark| Some((mark.number?, *mark))).collect();
    let unmarked = marks.iter().filter(|mark| mark.number.is_none());
    let sessions: HashMap<u32, Mark> = unmarked.map(|mark| (mark.session, *mark)).collect();
    let mut living = HashSet::new();
    for pid in processes::all().filter(|pid| *pid != std::process::id()) {
        let marked = if numbers.is_empty() { None } else { processes::mark(pid) };
        let by_number = marked.and_then(|number| numbers.get(&number));
        if let Some(mark) = by_number.filter(|mark| !living.contains(*mark) && is_alive(pid)) {
            living.insert(*mark);
        }
        let session = if sessions.is_empty() { None } else { status(pid).filter(|status| status.alive) };
        living.extend(session.and_then(|status| sessions.get(&status.session)));
    }
    living
}

/// The number of visible processes, including dead ones; none of them is examined.
pub(crate) fn visible_processes() -> u64 {
    processes::all().count() as u64
}

/// Sends `signal` once to every living member; returns how many got it.
///
/// # Errors
/// `signal` is not a signal's number.
pub fn signal_tree(mark: Mark, signal: i32) -> io::Result<usize> {
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    let handles = members(mark).into_iter().filter_map(|pid| hit(pid, signal, &|pid| is_member(pid, mark)));
    Ok(handles.count())
}

/// Kills the tree until a whole pass over the machine finds no living member. Blocks, at most `KILL_DEADLINE_MS`.
pub fn kill_tree(mark: Mark) -> KillOutcome {
    kill_until_gone(&|| members(mark), &|pid| is_member(pid, mark))
}

/// While this exists, all processes of commands are stopped, so that a crowd takes no processor time from the code that examines and ends it. Jobs
/// that their shell had stopped also continue afterwards.
#[derive(Debug)]
pub(crate) struct Paused {
    holds: bool,
}

/// Stops all processes at once, if this process is the init process of a PID namespace.
pub(crate) fn pause() -> Paused {
    Paused {
        holds: tier().is_init() && sys::signal_whole_namespace(nix::sys::signal::Signal::SIGSTOP).is_ok(),
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        if self.holds {
            // Without any process left there is nothing to continue.
            let _ = sys::signal_whole_namespace(nix::sys::signal::Signal::SIGCONT);
        }
    }
}

/// Kills a tree that may be a crowd which keeps forking: first it is stopped, so that nothing is born while it dies. Blocks
/// for at most twice `KILL_DEADLINE_MS`.
pub(crate) fn end_crowd(mark: Mark, paused: &Paused) -> KillOutcome {
    let _urgent = Urgent::begin();
    let _closed = (!paused.holds).then(|| {
        let closed = group::close();
        stop_crowd(mark);
        closed
    });
    let outcome = kill_tree(mark);
    reap_orphans();
    outcome
}

fn stop_crowd(mark: Mark) {
    let deadline = Instant::now() + Duration::from_millis(KILL_DEADLINE_MS);
    let mut stopped = HashSet::new();
    loop {
        let mut found = members(mark);
        found.retain(|pid| stopped.insert(*pid));
        if found.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pid in found {
            // Processes that ended meanwhile are found by the following passes.
            hit(pid, Signal::STOP, &|pid| is_member(pid, mark));
        }
    }
}

/// While this exists, the calling thread has priority over a crowd that wants every processor, if permitted.
pub(crate) struct Urgent {
    usual: Option<i32>,
}

impl Urgent {
    pub(crate) fn begin() -> Self {
        let usual = rustix::process::getpriority_process(None).ok();
        let is_raised = rustix::process::setpriority_process(None, KILL_PRIORITY).is_ok();
        Self { usual: usual.filter(|_| is_raised) }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(usual) = self.usual {
            // Restoring the old value is always allowed.
            let _ = rustix::process::setpriority_process(None, usual);
        }
    }
}

/// Kills every process this one started, directly or not. Blocks, at most `KILL_DEADLINE_MS`.
pub fn kill_everything() -> KillOutcome {
    if tier().is_init() {
        // The first pass takes all at once; later ones catch newborn processes and reap.
        let _ = sys::signal_whole_namespace(nix::sys::signal::Signal::SIGKILL);
    }
    kill_until_gone(&descendants, &is_descendant)
}

/// Kills every process this one started, when this one is about to end: processes being started are killed too, and
/// nothing more can be started.
pub(crate) fn kill_everything_for_good() -> KillOutcome {
    // The lock is held while a command is born, so every command is either found below or was never started.
    marks().is_closed = true;
    kill_everything()
}

/// Reaps dead processes that were handed to this one by their dying parents; returns how many.
///
/// Awaited children are left alone, so their status is never lost. Cheap enough to run after `SIGCHLD`, but every exec's end
/// raises one too: once per some tens of milliseconds is plenty.
pub fn reap_orphans() -> usize {
    let own = children();
    let awaited = lock(&AWAITED);
    let orphans = own.into_iter().filter(|pid| !awaited.contains(pid));
    orphans.filter(|pid| reap(*pid)).count()
}

/// Makes this process inherit the orphans of its descendants.
///
/// # Errors
/// The kernel refused.
pub fn become_reaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

fn kill_until_gone(find: &dyn Fn() -> Vec<u32>, belongs: &dyn Fn(u32) -> bool) -> KillOutcome {
    let deadline = Instant::now() + Duration::from_millis(KILL_DEADLINE_MS);
    let mut killed = 0;
    loop {
        let found = find();
        if found.is_empty() || Instant::now() >= deadline {
            return KillOutcome { killed, survivors: found.len() };
        }
        for batch in found.chunks(KILL_BATCH_PROCESSES) {
            let handles: Vec<OwnedFd> =
                batch.iter().filter_map(|pid| hit(*pid, Signal::KILL, belongs)).collect();
            killed += handles.len();
            let pass = Instant::now() + Duration::from_millis(KILL_PASS_MS);
            handles.iter().for_each(|handle| wait_dead(handle, pass));
        }
    }
}

/// Signals one process through a handle, after making sure that the handle refers to the intended process.
fn hit(pid: u32, signal: Signal, belongs: &dyn Fn(u32) -> bool) -> Option<OwnedFd> {
    let handle = rustix::process::pidfd_open(as_pid(pid)?, PidfdFlags::empty()).ok()?;
    belongs(pid).then_some(())?;
    // A guardian has no marks, and is under no filter.
    let key = MARKS.get().map_or([0, 0], |marks| lock(marks).key);
    sys::signal_process(handle.as_fd(), signal.as_raw(), key).ok()?;
    Some(handle)
}

/// True if a child of this process is dead and not reaped.
pub(crate) fn has_remains() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(rustix::process::waitid(WaitId::All, options), Ok(Some(_)))
}

fn wait_dead(handle: &OwnedFd, until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    // An early return only makes the next pass start sooner.
    let _ = rustix::event::poll(&mut [PollFd::new(&handle.as_fd(), PollFlags::IN)], Some(&timeout));
}

fn is_member(pid: u32, mark: Mark) -> bool {
    pid != std::process::id()
        && match mark.number {
            Some(number) => processes::mark(pid) == Some(number),
            None => status(pid).is_some_and(|status| status.session == mark.session),
        }
}

fn is_alive(pid: u32) -> bool {
    status(pid).is_some_and(|status| status.alive)
}

/// Living descendants of this process, found by walking down from it.
fn descendants() -> Vec<u32> {
    let mut by_parent: HashMap<u32, Vec<(u32, bool)>> = HashMap::new();
    for pid in processes::all() {
        if let Some(status) = status(pid) {
            by_parent.entry(status.parent).or_default().push((pid, status.alive));
        }
    }
    let mut living = Vec::new();
    let mut open = vec![std::process::id()];
    while let Some(parent) = open.pop() {
        for (pid, alive) in by_parent.remove(&parent).unwrap_or_default() {
            open.push(pid);
            if alive {
                living.push(pid);
            }
        }
    }
    living
}

/// True if the chain of parents of a process leads to this one.
fn is_descendant(pid: u32) -> bool {
    let own = std::process::id();
    let parents = std::iter::successors(status(pid), |status| processes::status(status.parent));
    parents.map(|status| status.parent).take_while(|parent| *parent != 0).any(|parent| parent == own)
}

/// Reaps one child if it is dead.
fn reap(pid: u32) -> bool {
    let Some(pid) = as_pid(pid) else { return false };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    rustix::process::waitid(WaitId::Pid(pid), options).is_ok_and(|status| status.is_some())
}

fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
