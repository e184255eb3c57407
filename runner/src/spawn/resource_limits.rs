//! Limits of one process of a command: the child sets them before its program runs, and everything it starts inherits them.

use std::sync::OnceLock;

use crate::account::Account;
use crate::bounds::{Limits, LimitsBy};
use crate::group;
use crate::kill;
use crate::kill::KillTier;
use crate::limits::{OPEN_FILES, USER_PROCESSES_SPARE};
use crate::sys::ResourceLimit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many files a process of this user may have open at once, as found at startup.
static FOUND_OPEN_FILES: OnceLock<Option<u64>> = OnceLock::new();

/// Lets this process open as many files as possible: each command takes a few of them. Commands keep the limit that was found.
pub(crate) fn raise_own() {
    let own = getrlimit(Resource::Nofile);
    FOUND_OPEN_FILES.get_or_init(|| own.current);
    // If it is refused, fewer commands run at once.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: own.maximum, maximum: own.maximum });
}

/// The limits of a command's processes; never more than the runner's own.
///
/// The number of processes is limited here only if nothing better is available: the kernel counts all processes of the user
/// on the machine (in the user namespace, if the runner has its own), and none for root.
pub(super) fn of_commands(limits: &Limits, user: Option<&Account>) -> Vec<ResourceLimit> {
    let mut all = vec![at_most(libc::RLIMIT_CORE, Resource::Core, 0)];
    let open_files = limits.open_files.unwrap_or(OPEN_FILES);
    all.push(at_most(libc::RLIMIT_NOFILE, Resource::Nofile, open_files.into()));
    if let Some(size) = limits.file_size {
        all.push(at_most(libc::RLIMIT_FSIZE, Resource::Fsize, size.0));
    }
    if let (Some(LimitsBy::Rlimit), Some(processes)) = (group::processes_by(user), group::processes()) {
        let user = user.map_or_else(|| rustix::process::getuid().as_raw(), |user| user.user_id);
        let others = if kill::tier() == KillTier::UserPidNamespace { 0 } else { group::tasks_of(user) };
        let most = processes.saturating_add(USER_PROCESSES_SPARE).saturating_add(others);
        all.push(at_most(libc::RLIMIT_NPROC, Resource::Nproc, most.into()));
    }
    all
}

/// The limits in words, for reports.
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
    let found = FOUND_OPEN_FILES.get().filter(|_| matches!(resource, Resource::Nofile));
    let usual = found.copied().unwrap_or(own.current).map_or(most, |own| own.min(most));
    ResourceLimit { number, usual, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runner_may_open_more_files_than_its_commands_usually_do() {
        let own = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(100), maximum: own.maximum }).unwrap();
        raise_own();
        assert_eq!(getrlimit(Resource::Nofile).current, own.maximum);
        let limits = of_commands(&Limits::default(), None);
        let open_files = limits.iter().find(|limit| limit.number == libc::RLIMIT_NOFILE).unwrap();
        assert_eq!(open_files.usual, 100);
        assert!(open_files.most > 100);
    }
}
