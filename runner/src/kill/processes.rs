//! Information about processes, from `/proc`.

use std::fs;
use std::io;

use crate::sys;

/// The row of `/proc/PID/limits` that carries the mark.
const MARK_ROW: &str = "Max realtime timeout";

/// All processes that can be seen.
pub(super) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The relevant fields of `/proc/PID/stat`.
pub(super) struct Status {
    pub(super) alive: bool,
    pub(super) parent: u32,
    pub(super) session: u32,
    /// The process's threads, the first one included.
    pub(super) threads: u32,
}

/// Looks up one process; `None` if it does not exist.
pub(super) fn status(pid: u32) -> Option<Status> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything: the relevant fields follow the last one.
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(line.get(name_end + 2..)?).ok()?.split(' ');
    let leader_is_dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    // The state is that of the first thread, which may end long before the others.
    let threads: u32 = fields.nth(13)?.parse().ok()?;
    Some(Status { alive: !leader_is_dead || threads > 1, parent, session, threads: threads.max(1) })
}

/// The mark of a process; `None` if there is no mark, or no such process.
pub(super) fn mark(pid: u32) -> Option<u64> {
    match sys::mark_of(pid) {
        Ok(mark) => Some(mark),
        // The process became another user, and this one lacks the capability to query those.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => mark_in_file(pid),
        Err(_) => None,
    }
}

/// Reads the mark from a file that every user may read, which takes longer.
fn mark_in_file(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let row = limits.lines().find_map(|line| line.strip_prefix(MARK_ROW))?;
    // Soft limit, hard limit, unit.
    row.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// This process's children, regardless of which thread started or inherited them.
pub(super) fn children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists: Vec<_> = threads.map(|thread| fs::read_to_string(thread.path().join("children"))).collect();
    if !lists.is_empty() && lists.iter().all(Result::is_ok) {
        let pids = lists.iter().flatten().flat_map(|list| list.split_ascii_whitespace());
        return pids.filter_map(|pid| pid.parse().ok()).collect();
    }
    // Kernels without that file, or a thread that ended in between.
    let own = std::process::id();
    all().filter(|pid| status(*pid).is_some_and(|status| status.parent == own)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::process::{Resource, Rlimit};

    use super::*;

    #[test]
    fn the_file_tells_the_same_mark_as_the_kernel() {
        let limit = Some(1_234_567_890_123);
        rustix::process::setrlimit(Resource::Rttime, Rlimit { current: limit, maximum: limit }).unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(mark_in_file(child.id()), limit);
        assert_eq!(sys::mark_of(child.id()).ok(), limit);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(mark_in_file(child.id()), None);
    }
}
