//! Events that the kernel counts when a group reaches its limit; and closing a group for a moment.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::host::{Controller, Version};

/// The kernel's count of processes killed for lack of memory.
const KILLS: &str = "oom_kill ";

/// The kernel's count of processes that it did not start.
const REFUSED: &str = "max ";

/// How many times the limits were reached since the group was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    /// Processes and threads that were not started.
    pub(crate) refused: u64,
    /// Processes that were killed for lack of memory.
    pub(crate) kills: u64,
}

/// The files of a group with its events.
#[derive(Debug, Default)]
pub(super) struct Events {
    refused: Option<File>,
    kills: Option<File>,
    /// The file that limits the number of processes, and the limit; absent if the group cannot be changed.
    most: Option<(File, u32)>,
}

impl Events {
    /// Opens the files that a group has; `most` is the number of processes that was written there.
    pub(super) fn open(
        &mut self,
        group: &Path,
        controllers: &[Controller],
        version: Version,
        most: Option<u32>,
    ) -> io::Result<()> {
        let read = |name: &str| File::open(group.join(name));
        if controllers.contains(&Controller::Memory) {
            self.kills = Some(read(match version {
                Version::One => "memory.oom_control",
                Version::Two => "memory.events",
            })?);
        }
        if controllers.contains(&Controller::Pids) {
            // Old kernels do not count for groups of version 1.
            self.refused = read("pids.events").ok();
            if let Some(most) = most {
                self.most = Some((OpenOptions::new().write(true).open(group.join("pids.max"))?, most));
            }
        }
        Ok(())
    }

    pub(super) fn counts_kills(&self) -> bool {
        self.kills.is_some()
    }

    pub(super) fn counts_refused(&self) -> bool {
        self.refused.is_some()
    }

    pub(super) fn met(&self) -> Met {
        Met {
            refused: self.refused.as_ref().and_then(|file| count(file, REFUSED)).unwrap_or(0),
            kills: self.kills.as_ref().and_then(|file| count(file, KILLS)).unwrap_or(0),
        }
    }

    /// Prevents new processes in the group, or allows as many as before.
    pub(super) fn close(&self, is_closed: bool) -> io::Result<()> {
        let Some((file, most)) = &self.most else { return Ok(()) };
        let most = if is_closed { 0 } else { *most };
        file.write_all_at(most.to_string().as_bytes(), 0)
    }
}

fn count(file: &File, name: &str) -> Option<u64> {
    let mut text = [0; 512];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    let text = String::from_utf8_lossy(&text[..length]);
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_group_of_the_second_version_tells_what_it_refused_and_is_closed_for_a_moment() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        write("pids.max", "99");
        write("pids.events", "max 0\n");
        write("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
        let mut events = Events::default();
        let controllers = [Controller::Memory, Controller::Pids];
        events.open(group.path(), &controllers, Version::Two, Some(99)).unwrap();
        assert_eq!(events.met(), Met::default());
        write("pids.events", "max 7\n");
        write("memory.events", "low 0\nhigh 0\nmax 15\noom 3\noom_kill 2\noom_group_kill 0\n");
        assert_eq!(events.met(), Met { refused: 7, kills: 2 });
        let most = || fs::read_to_string(group.path().join("pids.max")).unwrap();
        events.close(true).unwrap();
        assert!(most().starts_with('0'), "{}", most());
        events.close(false).unwrap();
        assert_eq!(most(), "99");
    }
}
