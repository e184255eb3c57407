//! Names are swapped, as fast as possible, while they are used: six kinds of races.
//!
//! `SANDBRIDGE_RACE_MS` makes each race longer than its three seconds, and runs one after the other.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathguard::Root;
use rustix::fs::{RenameFlags, renameat_with};
use support::again;
use support::arena::{Arena, Plant};
use support::race::{RACES, catches_who_checks_first, run_races};

/// How long the race with removal lasts.
const REMOVAL: Duration = Duration::from_secs(1);

#[test]
fn no_race_reaches_the_outside() {
    run_races(None);
}

#[test]
fn no_race_reaches_the_outside_when_an_ordinary_user_serves() {
    if rustix::process::geteuid().is_root() {
        again::as_an_ordinary_user("no_race_reaches_the_outside");
    }
}

#[test]
fn a_program_that_checks_and_then_acts_loses_each_race() {
    let won: Vec<_> =
        RACES.iter().filter(|race| !catches_who_checks_first(race)).map(|race| race.name).collect();
    assert!(won.is_empty(), "these races prove nothing: {won:?}");
}

#[test]
fn removing_the_swapped_folder_itself_never_reaches_the_outside() {
    let arena = Arena::new(&[Plant::Directory("tree/busy/folder")]);
    let root = Root::open(arena.root()).unwrap();
    let before = arena.snapshot_outside();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let tree = arena.root().join("tree");
            while !done.load(Ordering::Relaxed) {
                let _ = std::fs::create_dir_all(tree.join("busy/folder"));
                let _ = std::os::unix::fs::symlink("../../outside", tree.join("swap"));
                let handle = File::open(&tree);
                let _ = handle.map(|tree| renameat_with(&tree, "busy", &tree, "swap", RenameFlags::EXCHANGE));
            }
        });
        let start = Instant::now();
        let mut result = Ok(());
        while start.elapsed() < REMOVAL && result.is_ok() {
            result = root.remove_all("tree");
        }
        done.store(true, Ordering::Relaxed);
        result.unwrap();
    });
    assert_eq!(before, arena.snapshot_outside());
}
