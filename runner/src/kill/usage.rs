//! The resources used by the trees of execs.

use std::collections::HashMap;
use std::fs;

use super::{Mark, processes};

/// The resources used by one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The mark of the tree.
    pub(crate) mark: Mark,
    /// The tree's processes and threads, including unreaped dead ones.
    pub(crate) tasks: u64,
    /// The tree's memory that is not backed by files, in bytes.
    pub(crate) memory_bytes: u64,
    /// The tree's open files; 0 if they were not counted.
    pub(crate) files: u64,
}

/// Resources to count in addition to processes and threads; each takes longer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Memory; above this total in bytes it is counted again so that shared pages count once.
    pub(crate) memory_above_bytes: Option<u64>,
    /// Open files.
    pub(crate) files: bool,
}

/// Counts the resources of trees, in one pass over all processes. Blocks.
pub(crate) fn usage(marks: &[Mark], counted: Counted) -> Vec<Usage> {
    let numbers: HashMap<u64, usize> =
        marks.iter().enumerate().filter_map(|(index, mark)| Some((mark.number?, index))).collect();
    let unmarked = marks.iter().enumerate().filter(|(_, mark)| mark.number.is_none());
    let sessions: HashMap<u32, usize> = unmarked.map(|(index, mark)| (mark.session, index)).collect();
    let none = |mark: &Mark| Usage { mark: *mark, tasks: 0, memory_bytes: 0, files: 0 };
    let mut all: Vec<Usage> = marks.iter().map(none).collect();
    let mut members = Vec::new();
    for pid in processes::all().filter(|pid| *pid != std::process::id()) {
        let by_number = if numbers.is_empty() { None } else { processes::mark(pid) };
        let by_number = by_number.and_then(|number| numbers.get(&number)).copied();
        if by_number.is_none() && sessions.is_empty() {
            continue;
        }
        let Some(status) = processes::status(pid) else { continue };
        let Some(index) = by_number.or_else(|| sessions.get(&status.session).copied()) else { continue };
        all[index].tasks += u64::from(status.threads);
        members.push((pid, index));
    }
    let Counted { memory_above_bytes, files } = counted;
    for (pid, index) in members.iter().filter(|_| files) {
        all[*index].files += open_files(*pid);
    }
    if let Some(most) = memory_above_bytes {
        count_memory(&mut all, &members, private_bytes);
        if all.iter().map(|usage| usage.memory_bytes).sum::<u64>() > most {
            count_memory(&mut all, &members, |pid| {
                proportional_bytes(pid).unwrap_or_else(|| private_bytes(pid))
            });
        }
    }
    all
}

fn count_memory(all: &mut [Usage], members: &[(u32, usize)], bytes: impl Fn(u32) -> u64) {
    all.iter_mut().for_each(|usage| usage.memory_bytes = 0);
    for (pid, index) in members {
        all[*index].memory_bytes += bytes(*pid);
    }
}

fn open_files(pid: u32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |entries| entries.count() as u64)
}

/// Memory of a process that is not backed by files, including pages that it has shared with its parent since the fork.
fn private_bytes(pid: u32) -> u64 {
    let pages = || -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let mut fields = text.split(' ').skip(1).map(|field| field.parse::<u64>().ok());
        let (resident, shared) = (fields.next()??, fields.next()??);
        Some(resident.saturating_sub(shared))
    };
    pages().unwrap_or(0) * rustix::param::page_size() as u64
}

/// Memory of a process that is not backed by files, with shared pages divided among their users; takes much longer.
fn proportional_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let row = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:"))?;
    let kibibytes: u64 = row.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}
