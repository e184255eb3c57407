//! A folder is swapped for a link to the outside, as fast as possible, while it is used.
//!
//! `SANDBRIDGE_RACE_MS` makes each race longer than its second.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathguard::tree::{Packer, UnpackOptions, Unpacker};
use pathguard::{Error, Root};
use rustix::fs::{RenameFlags, renameat_with};
use support::arena::{Arena, OUTSIDE_MARK, Plant};
use support::corpus::Attempt;
use support::guarded;
use support::race::{arena, race, race_duration, while_swapping};
use support::tar::Tar;

/// By when a program that checks and then opens must have been caught.
const UNGUARDED_DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn reading_never_sees_the_outside() {
    let reads = [
        (Attempt::Read, "busy/secret"),
        (Attempt::Stat, "busy/secret"),
        (Attempt::List, "busy/folder"),
        (Attempt::WorkingDirectory, "busy/folder"),
        (Attempt::Read, "busy/folder/../secret"),
    ];
    race(&reads, |_| {});
}

#[test]
fn writing_never_reaches_the_outside() {
    race(&[(Attempt::Write, "busy/secret"), (Attempt::WriteWithParents, "busy/new/file")], |root| {
        for name in ["busy/new", "swap/new"] {
            let _ = root.remove_all(name);
        }
    });
}

#[test]
fn making_folders_never_reaches_the_outside() {
    race(&[(Attempt::MakeDirectories, "busy/made/deeper")], |root| {
        for name in ["busy/made", "swap/made"] {
            let _ = root.remove_all(name);
        }
    });
}

#[test]
fn removing_never_reaches_the_outside() {
    race(&[(Attempt::Remove, "busy/secret"), (Attempt::RemoveAll, "busy/folder")], |root| {
        for name in ["busy", "swap"] {
            let _ = root.mkdir_all(Path::new(name).join("folder/full"), 0o755);
            let _ = guarded::attempt(root, Attempt::Write, &Path::new(name).join("secret"));
        }
    });
}

#[test]
fn removing_the_swapped_folder_itself_never_reaches_the_outside() {
    let arena = Arena::new(&[Plant::Directory("tree"), Plant::Directory("tree/busy/folder")]);
    let root = Root::open(arena.root()).unwrap();
    let before = arena.snapshot();
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
        while start.elapsed() < race_duration() && result.is_ok() {
            result = root.remove_all("tree");
        }
        done.store(true, Ordering::Relaxed);
        result.unwrap();
    });
    assert_eq!(before.outside, arena.snapshot().outside);
}

#[test]
fn renaming_never_reaches_the_outside() {
    race(&[(Attempt::RenameFrom, "busy/secret"), (Attempt::RenameTo, "busy/planted")], |root| {
        let _ = guarded::attempt(root, Attempt::Write, Path::new("mine"));
        for name in ["busy/secret", "swap/secret"] {
            let _ = guarded::attempt(root, Attempt::Write, Path::new(name));
        }
    });
}

#[test]
fn a_program_that_checks_and_then_opens_is_caught_by_the_same_race() {
    let arena = arena();
    let (root, path) = (arena.root().canonicalize().unwrap(), arena.root().join("busy/secret"));
    let caught = while_swapping(&arena, || {
        let start = Instant::now();
        while start.elapsed() < UNGUARDED_DEADLINE {
            let checked = path.canonicalize().is_ok_and(|resolved| resolved.starts_with(&root));
            if checked && std::fs::read(&path).is_ok_and(|seen| seen.starts_with(OUTSIDE_MARK.as_bytes())) {
                return true;
            }
        }
        false
    });
    assert!(caught, "this race proves nothing");
}

#[test]
fn whole_trees_never_reach_the_outside() {
    let arena = arena();
    let root = Root::open(arena.root()).unwrap();
    let before = arena.snapshot();
    let archive = Tar::new().file("folder/planted", b"x").symlink("link", "folder").end();
    let into_busy = Tar::new().file("busy/planted", b"x").end();
    let (mut succeeded, mut refused) = (0_u64, 0_u64);
    while_swapping(&arena, || {
        let start = Instant::now();
        while start.elapsed() < race_duration() {
            for path in [".", "busy"] {
                match packed(&root, path) {
                    Ok(archive) => {
                        let mark = OUTSIDE_MARK.as_bytes();
                        let shows = archive.windows(mark.len()).any(|window| window == mark);
                        assert!(!shows, "the outside was packed");
                        succeeded += 1;
                    }
                    Err(Error::EscapesRoot) => refused += 1,
                    Err(_) => {} // changed under its feet
                }
            }
            for (path, archive, delete_extra) in
                [(".", &into_busy, false), ("busy", &archive, true), ("busy", &archive, false)]
            {
                let options = UnpackOptions { delete_extra, durable: false };
                match Unpacker::new(&root, path, options) {
                    Ok(mut unpacker) => {
                        let pushed = unpacker.push(archive).and_then(|()| unpacker.finish());
                        succeeded += u64::from(pushed.is_ok());
                    }
                    Err(Error::EscapesRoot) => refused += 1,
                    Err(_) => {} // changed under its feet
                }
            }
        }
    });
    assert_eq!(before.outside, arena.snapshot().outside);
    assert!(succeeded > 0 && refused > 0, "no race: {succeeded} succeeded, {refused} were refused");
}

fn packed(root: &Root, path: &str) -> pathguard::Result<Vec<u8>> {
    let mut packer = Packer::new(root, path)?;
    let (mut archive, mut piece) = (Vec::new(), [0; 4096]);
    while let length @ 1.. = packer.read(&mut piece).map_err(|error| error.error)? {
        archive.extend_from_slice(&piece[..length]);
    }
    Ok(archive)
}
