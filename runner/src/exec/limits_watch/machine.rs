//! What the machine as a whole has, which is cheap to ask.

use std::fs;

use super::judge::OnMachine;
use crate::limits::{COMMANDS_FILES, MACHINE_FILES_PART};

/// What it has now; 0 where it does not tell.
pub(super) fn now() -> OnMachine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    // Load, load, load, running/all, newest.
    let tasks = read("/proc/loadavg")
        .split_ascii_whitespace()
        .nth(3)
        .and_then(|field| field.split_once('/')?.1.parse().ok());
    let files =
        read("/proc/sys/fs/file-nr").split_ascii_whitespace().next().and_then(|field| field.parse().ok());
    OnMachine { tasks: tasks.unwrap_or(0), files: files.unwrap_or(0) }
}

/// How many files all commands together may have open: a part of what the machine may.
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
        assert!(now().tasks > 1 && now().files > 1 && most_files() > 100);
    }
}
