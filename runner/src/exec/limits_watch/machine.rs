//! Totals of the whole machine, which are cheap to read.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

use super::judge::{Bounds, OnMachine};
use crate::kill;
use crate::limits::{COMMANDS_FILES, COUNTING_FILES, MACHINE_FILES_PART};

/// The file with the number of open files on the machine; opened once, since it is read when no more can be opened.
static FILE_NUMBER: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/sys/fs/file-nr").ok());

/// Files that are held open in reserve, so that as many can be opened when the machine has no more.
#[derive(Debug, Default)]
pub(super) struct Reserve(Vec<File>);

impl Reserve {
    /// Fills it, if that is due.
    pub(super) fn take(&mut self, is_due: bool) {
        while is_due && self.0.len() < COUNTING_FILES {
            let Ok(file) = File::open("/dev/null") else { return };
            self.0.push(file);
        }
    }

    /// Closes the reserved files.
    pub(super) fn give_back(&mut self) {
        self.0.clear();
    }
}

/// The machine's current figures, for resources that only the runner counts; 0 if unknown.
pub(super) fn now(bounds: &Bounds) -> OnMachine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    // The fields are three load averages, running/all tasks, and the newest process.
    let tasks = read("/proc/loadavg")
        .split_ascii_whitespace()
        .nth(3)
        .and_then(|field| field.split_once('/')?.1.parse().ok());
    OnMachine {
        tasks: tasks.unwrap_or(0),
        own_processes: match bounds.counts_processes && kill::tier().is_init() {
            true => kill::visible_processes(),
            false => 0,
        },
        files: open_files().unwrap_or(0),
        memory_bytes: match bounds.counts_memory {
            true => taken_memory_bytes(&read("/proc/meminfo")).unwrap_or(0),
            false => 0,
        },
    }
}

fn open_files() -> Option<u64> {
    let mut text = [0; 64];
    let length = FILE_NUMBER.as_ref()?.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// All memory except what is available.
fn taken_memory_bytes(meminfo: &str) -> Option<u64> {
    let kibibytes = |name: &str| -> Option<u64> {
        let row = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        row.split_ascii_whitespace().next()?.parse().ok()
    };
    Some(kibibytes("MemTotal")?.saturating_sub(kibibytes("MemAvailable")?) * 1024)
}

/// How many files all commands together may have open: a share of the machine's limit.
pub(super) fn most_files() -> u32 {
    let machine =
        fs::read_to_string("/proc/sys/fs/file-max").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let part = machine.map_or(u64::MAX, |machine| machine / MACHINE_FILES_PART);
    u32::try_from(part).map_or(COMMANDS_FILES, |part| part.min(COMMANDS_FILES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells_what_it_has() {
        let counted = Bounds {
            processes: None,
            memory: None,
            files: most_files(),
            counts_processes: true,
            counts_memory: true,
        };
        let told = now(&counted);
        assert!(told.tasks > 1 && told.files > 1 && told.memory_bytes > 1 << 20 && counted.files > 100);
        assert_eq!(now(&Bounds { counts_memory: false, ..counted }).memory_bytes, 0);
    }

    #[test]
    fn a_reserve_holds_files_until_they_are_needed() {
        let mut reserve = Reserve::default();
        reserve.take(false);
        assert_eq!(reserve.0.len(), 0);
        reserve.take(true);
        reserve.take(true);
        assert_eq!(reserve.0.len(), COUNTING_FILES);
        reserve.give_back();
        assert_eq!(reserve.0.len(), 0);
    }

    #[test]
    fn open_files_are_told_again_and_again() {
        let before = open_files().unwrap();
        assert!(before > 0);
        assert!(open_files().unwrap() > 0);
    }

    #[test]
    fn taken_memory_is_what_cannot_be_had() {
        let meminfo = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\nBuffers: 2 kB\n";
        assert_eq!(taken_memory_bytes(meminfo), Some(600 * 1024));
        assert_eq!(taken_memory_bytes("MemTotal: 1000 kB\n"), None);
    }
}
