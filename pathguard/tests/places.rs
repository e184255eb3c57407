//! Roots that are moved, replaced or removed, and mounts and FIFOs below them.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pathguard::tree::{Packer, UnpackOptions, Unpacker};
use pathguard::{CreateOptions, Error, Kind, Root};
use rustix::fs::inotify;
use rustix::mount::{MountFlags, mount, mount_bind};
use support::again;
use support::arena::{Arena, OUTSIDE_MARK, Plant};
use support::corpus::Attempt;
use support::guarded::attempt;
use support::tar::Tar;

fn write(root: &Root, path: &str) -> pathguard::Result<()> {
    attempt(root, Attempt::Write, Path::new(path)).map(drop)
}

#[test]
fn a_root_that_was_replaced_is_still_the_one_that_was_opened() {
    let arena = Arena::new(&[Plant::File("f")]);
    let root = Root::open(arena.root()).unwrap();
    let moved = arena.expand(b"{base}/moved");
    std::fs::rename(arena.root(), &moved).unwrap();
    std::os::unix::fs::symlink("outside", arena.root()).unwrap();
    write(&root, "new").unwrap();
    write(&root, arena.root().join("also").to_str().unwrap()).unwrap();
    assert_eq!(attempt(&root, Attempt::Read, Path::new("secret")), Err(Error::NotFound));
    assert_eq!(attempt(&root, Attempt::Read, Path::new("../outside/secret")), Err(Error::EscapesRoot));
    assert!(moved.join("new").exists() && moved.join("also").exists());
    assert!(!arena.expand(b"{base}/outside/new").exists());
}

#[test]
fn a_root_that_was_removed_answers_each_attempt_with_an_error() {
    let arena = Arena::new(&[]);
    let root = Root::open(arena.root()).unwrap();
    std::fs::remove_dir(arena.root()).unwrap();
    std::os::unix::fs::symlink("outside", arena.root()).unwrap();
    for attempt in
        [Attempt::Read, Attempt::Write, Attempt::WriteWithParents, Attempt::Stat, Attempt::MakeDirectories]
    {
        let answer = support::guarded::attempt(&root, attempt, Path::new("folder/new"));
        assert_eq!(answer, Err(Error::NotFound), "{attempt:?}");
    }
    assert_eq!(attempt(&root, Attempt::List, Path::new(".")), Ok(String::new()));
    assert_eq!(attempt(&root, Attempt::Read, Path::new("../outside/secret")), Err(Error::EscapesRoot));
}

#[test]
fn a_directory_that_was_moved_out_takes_no_attempt_any_further() {
    let arena = Arena::new(&[Plant::Directory("d/e")]);
    let root = Root::open(arena.root()).unwrap();
    let mut walk = root.walk("d").unwrap();
    let pending = root.create_file("d/e/f", CreateOptions::default()).unwrap();
    walk.next().unwrap().unwrap();
    std::fs::rename(arena.root().join("d"), arena.expand(b"{base}/outside/d")).unwrap();
    // An open directory is still the same; its surroundings are not.
    walk.enter().unwrap();
    assert!(walk.open_sibling("../../secret").is_err());
    drop(pending);
    assert_eq!(attempt(&root, Attempt::Read, Path::new("d/e/../../secret")), Err(Error::NotFound));
    assert!(arena.expand(b"{base}/outside/d/e").read_dir().unwrap().next().is_none());
}

#[test]
fn looking_at_a_fifo_opens_it_for_nobody() {
    let arena = Arena::new(&[Plant::Fifo("fifo")]);
    let root = Root::open(arena.root()).unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, arena.root().join("fifo"), inotify::WatchFlags::OPEN).unwrap();
    for asked in [Attempt::Read, Attempt::Write, Attempt::Stat, Attempt::List, Attempt::Search] {
        assert!(attempt(&root, asked, Path::new("fifo")).is_err() || asked == Attempt::Stat);
    }
    attempt(&root, Attempt::Search, Path::new(".")).unwrap();
    let mut space = [std::mem::MaybeUninit::uninit(); 4096];
    let seen = inotify::Reader::new(&watch, &mut space).next().map(|event| event.events());
    assert_eq!(seen.unwrap_err(), rustix::io::Errno::AGAIN, "a writer that waits would be woken");
}

#[test]
fn a_mirror_reaches_directories_that_are_closed_to_their_owner() {
    if rustix::process::geteuid().is_root() {
        return again::as_an_ordinary_user("a_mirror_reaches_directories_that_are_closed_to_their_owner");
    }
    let arena = Arena::new(&[]);
    let root = Root::open(arena.root()).unwrap();
    let tar = Tar::new().directory("closed").mode(0, 0o300).file("closed/f", b"x");
    let archive = tar.end();
    for _ in 0..2 {
        let options = UnpackOptions { delete_extra: true, durable: false };
        let mut unpacker = Unpacker::new(&root, "to", options).unwrap();
        unpacker.push(&archive).unwrap();
        unpacker.finish().unwrap();
        let mode = arena.root().join("to/closed").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o300);
    }
}

#[test]
fn what_is_mounted_beneath_the_root_is_used_and_left_in_place() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    if !again::is_again() {
        return again::with_mounts_of_its_own("what_is_mounted_beneath_the_root_is_used_and_left_in_place");
    }
    let arena = Arena::new(&[Plant::Directory("bound"), Plant::Directory("proc"), Plant::File("mine")]);
    let shared = arena.expand(b"{base}/shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("f"), "shared").unwrap();
    mount_bind(&shared, arena.root().join("bound")).unwrap();
    mount("proc", arena.root().join("proc"), "proc", MountFlags::empty(), None).unwrap();
    let root = Root::open(arena.root()).unwrap();
    let before = arena.snapshot_outside();

    // A mount was put there on purpose.
    assert_eq!(attempt(&root, Attempt::Read, Path::new("bound/f")).as_deref(), Ok("shared"));
    write(&root, "bound/new").unwrap();
    assert_eq!(attempt(&root, Attempt::Read, Path::new("bound/../mine")).as_deref(), Ok("inside"));
    assert_eq!(root.stat("bound").unwrap().kind, Kind::Directory);
    assert_eq!(attempt(&root, Attempt::RenameTo, Path::new("bound/mine")), Err(Error::CrossesDevices));
    assert_eq!(root.rename("bound", "elsewhere"), Err(Error::Busy));
    assert_eq!(
        attempt(&root, Attempt::Read, Path::new("bound/../../outside/secret")),
        Err(Error::EscapesRoot)
    );
    let mut packer = Packer::new(&root, "bound").unwrap();
    assert!(packer.read(&mut [0; 4096]).unwrap() > 0);
    assert_eq!(root.remove_all("bound"), Err(Error::Busy));

    // And the kernel's links in it lead nowhere.
    let outside = arena.expand(b"{base}/outside");
    let magic = [
        format!("proc/self/root{}/secret", outside.display()),
        format!("proc/1/root{}/secret", outside.display()),
        "proc/self/cwd".to_owned(),
        "proc/self/exe".to_owned(),
        "proc/self/fd/0".to_owned(),
        "proc/thread-self/root/etc".to_owned(),
    ];
    for path in magic {
        for asked in [Attempt::Read, Attempt::Write, Attempt::List, Attempt::Stat, Attempt::Pack] {
            match attempt(&root, asked, Path::new(&path)) {
                Ok(seen) => panic!("{path}: {asked:?} saw {seen}"),
                Err(error) => assert!(!error.to_string().contains(OUTSIDE_MARK)),
            }
        }
    }
    assert_eq!(before, arena.snapshot_outside());
}

#[test]
fn a_commit_after_its_directory_was_removed_is_an_error() {
    let arena = Arena::new(&[Plant::Directory("d")]);
    let root = Root::open(arena.root()).unwrap();
    let mut pending = root.create_file("d/f", CreateOptions::default()).unwrap();
    pending.write_all(b"x").unwrap();
    std::fs::remove_dir(arena.root().join("d")).unwrap();
    std::os::unix::fs::symlink("../outside", arena.root().join("d")).unwrap();
    assert_eq!(pending.commit().unwrap_err(), Error::NotFound);
    assert!(!arena.expand(b"{base}/outside/f").exists());
}
