//! The number of each user's processes and threads on the machine, as counted before this process had its own namespace.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

static FOUND: OnceLock<HashMap<u32, u32>> = OnceLock::new();

/// Counts them; call this where the machine's processes are visible.
pub(super) fn count() {
    FOUND.get_or_init(|| {
        let mut users = HashMap::new();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let is_process = process.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
            let owner = process.metadata().map(|metadata| metadata.uid());
            if let (true, Ok(owner)) = (is_process, owner) {
                let threads = fs::read_dir(process.path().join("task")).into_iter().flatten().count();
                *users.entry(owner).or_insert(0) += u32::try_from(threads).unwrap_or(u32::MAX);
            }
        }
        users
    });
}

/// The number that a user had.
pub(crate) fn tasks_of(user: u32) -> u32 {
    FOUND.get().and_then(|found| found.get(&user)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_those_of_its_user() {
        count();
        assert!(tasks_of(rustix::process::geteuid().as_raw()) >= 1);
        assert_eq!(tasks_of(u32::MAX - 1), 0);
    }
}
