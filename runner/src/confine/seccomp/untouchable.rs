//! The numbers of processes, threads and groups that commands must not signal.

use std::fs;

use rustix::process::{getpid, getppid};
use rustix::thread::gettid;
use seccompiler::BackendError;

use super::{Rules, all, calls, equal};
use crate::sys;

/// Means all processes that the caller may signal.
const EVERYBODY: i32 = -1;

/// Processes that must not be named in a call that signals, opens or reschedules a process.
///
/// A number stays valid as long as the thread that saw it, which outlives any command it starts. For the kernel, a thread's
/// number names its whole process almost everywhere a process can be named.
pub(in crate::confine) struct Untouchable {
    numbers: Vec<i32>,
}

impl Untouchable {
    /// The runner with its threads, the guardian where it can be seen, and their groups.
    pub(in crate::confine) fn seen_from_here() -> Self {
        let own = getpid();
        let guardian = getppid();
        let mut numbers = vec![own.as_raw_nonzero().get(), gettid().as_raw_nonzero().get()];
        numbers.extend(threads());
        numbers.extend(guardian.map(|pid| pid.as_raw_nonzero().get()));
        let groups = [Some(own), guardian].into_iter().flatten().filter_map(sys::process_group);
        numbers.extend(groups.map(|group| -group));
        // In its own namespace the runner is the init process: "all processes" excludes it, and group 1 cannot be named.
        let is_init = own.is_init();
        numbers.retain(|number| *number != EVERYBODY);
        if !is_init {
            numbers.push(EVERYBODY);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Self { numbers }
    }

    /// Adds the rules that refuse these numbers.
    pub(super) fn protect(&self, rules: &mut Rules) -> Result<(), BackendError> {
        let named = |argument| self.numbers.iter().map(move |number| equal(argument, as_register(*number)));
        let first = calls::PROCESS_FIRST.iter().map(|number| (*number, 0));
        for (number, argument) in first.chain(calls::PROCESS_SECOND.iter().map(|number| (*number, 1))) {
            let any = named(argument).map(|named| all(&[named?])).collect::<Result<_, _>>()?;
            rules.insert(number, any);
        }
        let owner = |named| all(&[equal(1, calls::SET_OWNER)?, named?]);
        let mut owners = named(2).map(owner).collect::<Result<Vec<_>, _>>()?;
        owners.push(all(&[equal(1, calls::SET_OWNER_EXTENDED)?])?);
        rules.insert(libc::SYS_fcntl, owners);
        Ok(())
    }
}

/// The runner's threads: those for blocking work, which see the whole machine, exist before the first filter is created.
fn threads() -> impl Iterator<Item = i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok())
}

/// The lower half of the register in which the kernel finds a number, the sign included.
fn as_register(number: i32) -> u64 {
    u64::from(number.cast_unsigned())
}
