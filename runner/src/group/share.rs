//! The default resources of commands: a share of the machine, and less if a group above allows less.

use std::fs;
use std::path::Path;

use super::host::{Controller, Version};
use crate::bounds::{Bytes, Limits};
use crate::limits::{
    DEFAULT_MEMORY_PART, DEFAULT_MEMORY_STEP_BYTES, DEFAULT_PIDS_LEAST, DEFAULT_PIDS_MOST, DEFAULT_PIDS_PART,
    MEMORY_BYTES_LEAST,
};

/// The effective limits of memory and processes: the requested ones, else the machine's share; `None` for no limit.
pub(super) fn of_machine(asked: &Limits) -> Limits {
    let memory = asked.memory.unwrap_or_else(|| share_of_memory(machine_memory_bytes()));
    let pids = asked.pids.unwrap_or_else(|| share_of_processes(machine_processes()));
    Limits {
        memory: Some(memory).filter(|memory| memory.0 != 0),
        pids: Some(pids).filter(|pids| *pids != 0),
        ..asked.clone()
    }
}

/// Lowers a default limit to a share of what the group above is allowed.
pub(super) fn within(parent: &Path, version: Version, asked: &Limits, in_force: &mut Limits) {
    if asked.memory.is_none()
        && let Some(above) = limit_of(parent, Controller::Memory, version)
    {
        in_force.memory = in_force.memory.map(|memory| memory.min(share_of_memory(above)));
    }
    if asked.pids.is_none()
        && let Some(above) = limit_of(parent, Controller::Pids, version)
    {
        let (part, of) = DEFAULT_MEMORY_PART;
        let above = u32::try_from(above.saturating_mul(part) / of).unwrap_or(u32::MAX);
        in_force.pids = in_force.pids.map(|pids| pids.min(above.max(1)));
    }
}

/// The limit that is set for a group, if one is.
pub(super) fn limit_of(group: &Path, controller: Controller, version: Version) -> Option<u64> {
    let name = match (controller, version) {
        (Controller::Memory, Version::One) => "memory.limit_in_bytes",
        (Controller::Memory, Version::Two) => "memory.max",
        (Controller::Pids, _) => "pids.max",
        (Controller::Cpu, _) => return None,
    };
    let limit = fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()?;
    // Version 1 shows a number beyond all memory if there is no limit.
    (controller != Controller::Memory || limit < machine_memory_bytes()).then_some(limit)
}

/// The machine's memory.
pub(crate) fn machine_memory_bytes() -> u64 {
    let machine = rustix::system::sysinfo();
    machine.totalram.saturating_mul(u64::from(machine.mem_unit))
}

fn share_of_memory(bytes: u64) -> Bytes {
    let (part, of) = DEFAULT_MEMORY_PART;
    let share = bytes / of * part;
    // A round number is easier to read.
    let rounded = share - share % DEFAULT_MEMORY_STEP_BYTES;
    Bytes(if rounded == 0 { share } else { rounded }.max(MEMORY_BYTES_LEAST))
}

fn share_of_processes(machine: u32) -> u32 {
    (machine / DEFAULT_PIDS_PART).clamp(DEFAULT_PIDS_LEAST, DEFAULT_PIDS_MOST)
}

/// The maximum number of processes and threads of the machine.
fn machine_processes() -> u32 {
    let read = |name: &str| -> Option<u32> {
        fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).ok()?.trim().parse().ok()
    };
    [read("pid_max"), read("threads-max")].into_iter().flatten().min().unwrap_or(DEFAULT_PIDS_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_leaves_the_machine_room_and_is_never_useless() {
        assert_eq!(share_of_memory(16 << 30), Bytes(12 << 30));
        assert_eq!(share_of_memory(100 << 20), Bytes(64 << 20));
        assert_eq!(share_of_memory(1 << 20), Bytes(MEMORY_BYTES_LEAST));
        assert_eq!(share_of_processes(32_768), 2_048);
        assert_eq!(share_of_processes(4_194_304), DEFAULT_PIDS_MOST);
        assert_eq!(share_of_processes(1_000), DEFAULT_PIDS_LEAST);
    }

    #[test]
    fn what_was_asked_for_stays_and_zero_is_no_limit() {
        let asked = Limits { memory: Some(Bytes(0)), pids: Some(99), ..Limits::default() };
        let in_force = of_machine(&asked);
        assert_eq!((in_force.memory, in_force.pids), (None, Some(99)));
        let usual = of_machine(&Limits::default());
        assert!(usual.memory.is_some_and(|memory| memory.0 < machine_memory_bytes()));
        assert!(usual.pids.is_some_and(|pids| (DEFAULT_PIDS_LEAST..=DEFAULT_PIDS_MOST).contains(&pids)));
    }

    #[test]
    fn a_group_above_with_less_leaves_less_unless_a_number_was_asked_for() {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("pids.max"), "400\n").unwrap();
        fs::write(group.path().join("memory.max"), "268435456\n").unwrap();
        let usual = Limits::default();
        let mut in_force = Limits { memory: Some(Bytes(1 << 40)), pids: Some(4_096), ..Limits::default() };
        within(group.path(), Version::Two, &usual, &mut in_force);
        assert_eq!((in_force.memory, in_force.pids), (Some(Bytes(192 << 20)), Some(300)));
        let asked = Limits { memory: Some(Bytes(1 << 40)), pids: Some(4_096), ..Limits::default() };
        let mut in_force = asked.clone();
        within(group.path(), Version::Two, &asked, &mut in_force);
        assert_eq!(in_force, asked);
        fs::write(group.path().join("pids.max"), "max\n").unwrap();
        assert_eq!(limit_of(group.path(), Controller::Pids, Version::Two), None);
    }
}
