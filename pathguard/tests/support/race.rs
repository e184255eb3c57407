//! A folder that is swapped for a link to the outside while it is used.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathguard::{Error, Root};
use rustix::fs::{RenameFlags, renameat_with};

use super::arena::{Arena, OUTSIDE_MARK, Plant};
use super::corpus::Attempt;
use super::guarded;

/// How long each race lasts unless the environment says otherwise.
const RACE_DEFAULT_MS: u64 = 1_000;

pub(crate) fn race_duration() -> Duration {
    let given = std::env::var("SANDBRIDGE_RACE_MS").ok().map(|text| text.parse().unwrap());
    Duration::from_millis(given.unwrap_or(RACE_DEFAULT_MS))
}

/// `busy/folder` holds what the outside holds; it and `swap` (a link to the outside) change places.
pub(crate) fn arena() -> Arena {
    Arena::new(&[
        Plant::Directory("busy/folder"),
        Plant::Symlink("swap", "../outside"),
        Plant::File("busy/secret"),
        Plant::File("mine"),
    ])
}

/// Swaps the two names until `work` returns.
pub(crate) fn while_swapping<T>(arena: &Arena, work: impl FnOnce() -> T) -> T {
    let handle = File::open(arena.root()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut swaps = 0_u64;
            while !done.load(Ordering::Relaxed) {
                renameat_with(&handle, "busy", &handle, "swap", RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        });
        // A failed assertion must stop the swapper too, or the scope would wait for ever.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 0);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Makes an attempt again and again; both its outcomes must have been seen, and the outside stay as it was.
pub(crate) fn race(attempts: &[(Attempt, &str)], refresh: impl Fn(&Root)) {
    let arena = arena();
    let root = Root::open(arena.root()).unwrap();
    let before = arena.snapshot();
    let (mut succeeded, mut refused) = (0_u64, 0_u64);
    while_swapping(&arena, || {
        let start = Instant::now();
        while start.elapsed() < race_duration() {
            for (attempt, path) in attempts {
                match guarded::attempt(&root, *attempt, Path::new(path)) {
                    Ok(seen) => {
                        assert!(!seen.contains(OUTSIDE_MARK), "{attempt:?} saw the outside");
                        succeeded += 1;
                    }
                    Err(Error::EscapesRoot) => refused += 1,
                    Err(_) => {} // changed under its feet
                }
            }
            refresh(&root);
        }
    });
    assert_eq!(before.outside, arena.snapshot().outside);
    assert!(succeeded > 0 && refused > 0, "no race: {succeeded} succeeded, {refused} were refused");
}
