//! Names of groups, and removing the groups of runners that have ended.

use std::fs;
use std::path::Path;

use super::{GroupError, PREFIX};

/// The name of a group: derived from the process that made it, as its number is only meaningful in its own namespace.
pub(super) struct Name {
    namespace: String,
}

impl Name {
    pub(super) fn of_this_process() -> Result<Self, GroupError> {
        let path = Path::new("/proc/self/ns/pid");
        let link = fs::read_link(path).map_err(GroupError::refused(path))?;
        let namespace = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        Ok(Self { namespace })
    }

    pub(super) fn fresh(&self) -> String {
        format!("{PREFIX}{}-{}-{:08x}", self.namespace, std::process::id(), rand::random::<u32>())
    }

    /// Removes the groups of runners that were killed; the kernel keeps those that are in use.
    pub(super) fn sweep(&self, parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
            let ours = numbers.filter(|(namespace, _)| *namespace == self.namespace);
            let maker = ours.and_then(|(_, rest)| rest.split('-').next()?.parse::<u32>().ok());
            if maker.is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}
