//! What one process of a command may have: limits the child gives itself before its program runs, and all it starts inherits.

use crate::confine::Limits;
use crate::guardian::KillTier;
use crate::kill;
use crate::limits::{OPEN_FILES, USER_PROCESSES};
use crate::sys::ResourceLimit;
use rustix::process::{Resource, getrlimit};

/// The limits of a command's processes; never more than the runner's own.
///
/// The number of processes is limited here only where the kernel counts those of a user namespace: elsewhere it counts all that
/// the user runs on the machine, and for root it counts nothing.
pub(super) fn of_commands(limits: &Limits) -> Vec<ResourceLimit> {
    let mut all = vec![at_most(libc::RLIMIT_CORE, Resource::Core, 0)];
    let open_files = limits.open_files.unwrap_or(OPEN_FILES);
    all.push(at_most(libc::RLIMIT_NOFILE, Resource::Nofile, open_files.into()));
    if let Some(size) = limits.file_size {
        all.push(at_most(libc::RLIMIT_FSIZE, Resource::Fsize, size.0));
    }
    if kill::tier() == KillTier::UserPidNamespace {
        let processes = limits.pids.map_or(USER_PROCESSES, |pids| pids.min(USER_PROCESSES));
        all.push(at_most(libc::RLIMIT_NPROC, Resource::Nproc, processes.into()));
    }
    all
}

/// In words, for reports.
pub(super) fn describe(limits: &[ResourceLimit]) -> String {
    let open_files = limits.iter().find(|limit| limit.number == libc::RLIMIT_NOFILE);
    let size = limits.iter().find(|limit| limit.number == libc::RLIMIT_FSIZE);
    let open_files = open_files.map_or_else(String::new, |limit| format!("{} open files", limit.most));
    let size = size.map_or_else(String::new, |limit| format!(", files of {} bytes", limit.most));
    format!("each process: {open_files}{size}, no core files")
}

fn at_most(number: libc::__rlimit_resource_t, resource: Resource, most: u64) -> ResourceLimit {
    let own = getrlimit(resource);
    let most = own.maximum.map_or(most, |own| own.min(most));
    let usual = own.current.map_or(most, |own| own.min(most));
    ResourceLimit { number, usual, most }
}
