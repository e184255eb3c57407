//! Two names that are swapped as fast as possible while an attempt leads through one of them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathguard::{HardLinks, Root};
use rustix::fs::{RenameFlags, renameat, renameat_with};

use super::arena::Plant::{self, Directory, File as Plain, HardLink, Symlink};
use super::arena::{Arena, OUTSIDE_MARK};
use super::corpus::Attempt::{self, *};
use super::corpus::members::Member;
use super::{guarded, unguarded};

/// The default length of each race; with it, races run at the same time.
const RACE_DEFAULT_MS: u64 = 3_000;
/// The deadline for catching a program that checks and then acts.
const CAUGHT_WITHIN: Duration = Duration::from_secs(60);

/// The time that a careless program needs between its check and its use; on a busy machine, swaps happen within it.
const CARELESS_FOR: Duration = Duration::from_micros(50);

/// The swapped names.
#[derive(Debug, Clone, Copy)]
enum Swap {
    /// Two names in the root.
    Names(&'static str, &'static str),
    /// A directory of the root, which is moved to the outside and back.
    Out(&'static str),
}

/// One kind of race.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) name: &'static str,
    plants: &'static [Plant],
    swap: Swap,
    attempts: &'static [(Attempt, &'static str)],
}

const ARCHIVE: &[Member] =
    &[Member::File("secret"), Member::Directory("folder", 0o755), Member::File("folder/new")];

#[rustfmt::skip]
pub(crate) const RACES: &[Race] = &[
    Race {
        name: "a file and a link",
        plants: &[Plain("busy"), Symlink("swap", "../outside/secret"), Plain("mine")],
        swap: Swap::Names("busy", "swap"),
        attempts: &[(Read, "busy"), (Stat, "busy"), (Search, "busy"), (Search, "."), (Pack, "."), (WriteIfMatch, "busy"),
            (Write, "busy"), (RenameFrom, "busy"), (Remove, "busy")],
    },
    Race {
        name: "a directory and a link",
        plants: &[Directory("busy/folder"), Plain("busy/secret"), Symlink("swap", "../outside"), Plain("mine")],
        swap: Swap::Names("busy", "swap"),
        attempts: &[(Read, "busy/secret"), (Stat, "busy/secret"), (List, "busy/folder"), (WorkingDirectory, "busy/folder"),
            (Read, "busy/folder/../secret"), (Find, "busy"), (Search, "."), (Pack, "busy"), (Pack, "."), (Write, "busy/secret"),
            (WriteWithParents, "busy/new/file"), (MakeDirectories, "busy/made/deeper"), (Unpack(ARCHIVE), "busy"),
            (Mirror(ARCHIVE), "busy"), (RenameFrom, "busy/secret"), (Remove, "busy/secret"), (RemoveAll, "busy/folder")],
    },
    Race {
        name: "a directory and one with a link in it",
        plants: &[Directory("busy/d/folder"), Plain("busy/d/secret"), Directory("swap"), Symlink("swap/d", "../../outside")],
        swap: Swap::Names("busy", "swap"),
        attempts: &[(Read, "busy/d/secret"), (Stat, "busy/d/folder/../secret"), (List, "busy/d/folder"), (Search, "busy"),
            (Pack, "busy"), (Write, "busy/d/secret"), (WriteWithParents, "busy/d/new/file"), (MakeDirectories, "busy/d/made/deeper"),
            (Mirror(ARCHIVE), "busy/d"), (Remove, "busy/d/secret"), (RemoveAll, "busy/d/folder"), (RemoveAll, "busy")],
    },
    Race {
        name: "the target of a rename",
        plants: &[Directory("busy"), Symlink("busy/planted", "../../outside/secret"), Symlink("swap", "../outside"), Plain("mine")],
        swap: Swap::Names("busy", "swap"),
        attempts: &[(RenameTo, "busy/planted"), (Write, "busy/planted"), (Replace, "busy/planted"),
            (Unpack(&[Member::File("planted")]), "busy"), (RenameFrom, "busy/planted")],
    },
    Race {
        name: "a directory that is moved out and back",
        plants: &[Directory("busy/d"), Plain("secret"), Directory("folder"), Plain("mine")],
        swap: Swap::Out("busy"),
        attempts: &[(Read, "busy/d/../../secret"), (Stat, "busy/d/../../secret"), (List, "busy/d/../../folder"),
            (Pack, "busy/d/../../folder"), (Write, "busy/d/../../secret"), (WriteWithParents, "busy/d/../../new/file"),
            (MakeDirectories, "busy/d/../../made/deeper"), (Write, "busy/d/file"), (Unpack(ARCHIVE), "busy/d/../.."),
            (RenameTo, "busy/d/../../planted"), (RemoveAll, "busy/d/../../folder"), (Remove, "busy/d/../../secret")],
    },
    Race {
        name: "a file and a hard link",
        plants: &[Plain("busy"), HardLink("swap", "outside/secret"), Plain("mine")],
        swap: Swap::Names("busy", "swap"),
        attempts: &[(Read, "busy"), (Search, "busy"), (Search, "."), (Pack, "."), (WriteIfMatch, "busy"), (Write, "busy"),
            (Unpack(&[Member::Mode("busy", 0o600)]), "."), (Remove, "busy")],
    },
];

/// A running race.
struct Course<'a> {
    race: &'a Race,
    arena: Arena,
    base: File,
    /// True if the directory is outside; held while something is moved.
    is_out: Mutex<bool>,
    /// True if a caller waits to bring everything back.
    is_wanted: AtomicBool,
}

impl<'a> Course<'a> {
    fn new(race: &'a Race) -> Self {
        let arena = Arena::new(race.plants);
        let base = File::open(arena.expand(b"{base}")).unwrap();
        Self { race, arena, base, is_out: Mutex::new(false), is_wanted: AtomicBool::new(false) }
    }

    /// Moves once, if the entry to move exists.
    fn swap(&self) -> bool {
        let mut is_out = self.is_out.lock().unwrap();
        let inside = |name: &str| PathBuf::from("work").join(name);
        match self.race.swap {
            Swap::Names(left, right) => {
                renameat_with(&self.base, inside(left), &self.base, inside(right), RenameFlags::EXCHANGE)
                    .is_ok()
            }
            Swap::Out(name) => {
                let (here, there) = (inside(name), PathBuf::from("outside").join(name));
                let (from, to) = if *is_out { (there, here) } else { (here, there) };
                let moved = renameat(&self.base, from, &self.base, to).is_ok();
                *is_out ^= moved;
                moved
            }
        }
    }

    /// Brings everything back to the start.
    fn reset(&self) {
        self.reset_then(|_| ());
    }

    /// Restores the initial state and calls `look` before anything is moved again.
    fn reset_then<T>(&self, look: impl FnOnce(&Arena) -> T) -> T {
        self.is_wanted.store(true, Ordering::Relaxed);
        let mut is_out = self.is_out.lock().unwrap();
        self.is_wanted.store(false, Ordering::Relaxed);
        if let (Swap::Out(name), true) = (self.race.swap, *is_out) {
            let (there, here) =
                (self.arena.expand(b"{base}/outside").join(name), self.arena.root().join(name));
            // An attempt may have created one of that name meanwhile.
            let _ = std::fs::remove_dir_all(&here);
            std::fs::rename(there, here).unwrap();
            *is_out = false;
        }
        self.arena.clear();
        self.arena.plant_all(self.race.plants);
        look(&self.arena)
    }

    /// Swaps until `work` returns; also returns the number of swaps.
    fn while_swapping<T>(&self, work: impl FnOnce() -> T) -> (T, u64) {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                let mut swaps = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    if self.is_wanted.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    swaps += u64::from(self.swap());
                }
                swaps
            });
            // A failed assertion must stop the swapper too, or the scope would wait forever.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            done.store(true, Ordering::Relaxed);
            let swaps = swapper.join().unwrap();
            (result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), swaps)
        })
    }
}

/// Runs every race through the guard; `None` means their default length.
pub(crate) fn run_races(duration_ms: Option<u64>) {
    let given = std::env::var("SANDBRIDGE_RACE_MS").ok().map(|text| text.parse().unwrap());
    let duration = Duration::from_millis(given.or(duration_ms).unwrap_or(RACE_DEFAULT_MS));
    if given.is_some() {
        RACES.iter().for_each(|race| run(race, duration));
    } else {
        std::thread::scope(|scope| {
            RACES.iter().for_each(|race| drop(scope.spawn(move || run(race, duration))))
        });
    }
}

/// Repeats the attempts; both of their outcomes must be seen, and the outside neither seen nor changed.
fn run(race: &Race, duration: Duration) {
    let course = Course::new(race);
    let root = Root::open(course.arena.root()).unwrap().with_hard_links(HardLinks::Refuse);
    let before = course.arena.snapshot_outside();
    let (mut succeeded, mut refused) = (0_u64, 0_u64);
    let ((), swaps) = course.while_swapping(|| {
        let start = Instant::now();
        while start.elapsed() < duration {
            for (attempt, path) in race.attempts {
                match guarded::answer(&root, &course.arena, *attempt, path.as_ref()) {
                    Ok(seen) => {
                        assert!(!seen.contains(OUTSIDE_MARK), "{}: {attempt:?} saw the outside", race.name);
                        succeeded += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
            course.reset();
        }
    });
    course.reset();
    assert_eq!(before, course.arena.snapshot_outside(), "{}", race.name);
    let happened = format!("{}: {swaps} swaps, {succeeded} succeeded, {refused} were refused", race.name);
    assert!(swaps > 0 && succeeded > 0 && refused > 0, "{happened}");
    println!("{happened}");
}

/// True if a program that checks where a path leads, and then uses it, is caught.
pub(crate) fn catches_who_checks_first(race: &Race) -> bool {
    let course = Course::new(race);
    let before = course.arena.snapshot_outside();
    let (is_caught, _) = course.while_swapping(|| {
        let start = Instant::now();
        while start.elapsed() < CAUGHT_WITHIN {
            for (attempt, path) in race.attempts {
                let seen = checked(&course.arena, *attempt, path);
                if seen.is_some_and(|seen| seen.contains(OUTSIDE_MARK)) {
                    return true;
                }
            }
            // Compares only after a reset: an entry that is still moved out would look like a change.
            if before != course.reset_then(Arena::snapshot_outside) {
                return true;
            }
        }
        false
    });
    course.reset();
    is_caught
}

/// The answer to a program that first checks if the path, or its folder, is below the root.
fn checked(arena: &Arena, attempt: Attempt, path: &str) -> Option<String> {
    let joined = arena.root().join(path);
    let resolved = joined.canonicalize().or_else(|_| joined.parent().unwrap().canonicalize()).ok()?;
    let has_other_names = std::os::unix::fs::MetadataExt::nlink(&resolved.metadata().ok()?) > 1;
    if !resolved.starts_with(arena.root().canonicalize().ok()?) || resolved.is_file() && has_other_names {
        return None;
    }
    std::thread::sleep(CARELESS_FOR);
    unguarded::attempt(arena, attempt, path.as_ref()).ok()
}
