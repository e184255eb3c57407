//! Each operation without an attack.

#![allow(clippy::unwrap_used)]

mod support;

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathguard::{CreateOptions, Error, HardLinks, Kind, Root};
use support::arena::{Arena, Plant};

/// How many complete trees must be seen while another thread builds and removes them, and the deadline.
const TREES_MET: usize = 50;
const TREES_DEADLINE: Duration = Duration::from_secs(60);

fn root_of(arena: &Arena) -> Root {
    Root::open(arena.root()).unwrap()
}

fn write(root: &Root, path: impl AsRef<Path>, content: &[u8], options: CreateOptions) -> pathguard::Metadata {
    let mut pending = root.create_file(path, options).unwrap();
    pending.write_all(content).unwrap();
    pending.commit().unwrap()
}

fn names(root: &Root, path: &str) -> Vec<OsString> {
    let mut names: Vec<_> = root.read_dir(path).unwrap().map(|entry| entry.unwrap().name).collect();
    names.sort();
    names
}

fn mode_of(path: impl AsRef<Path>) -> u32 {
    path.as_ref().metadata().unwrap().mode() & 0o7777
}

#[test]
fn a_root_must_be_a_directory_that_exists() {
    let arena = Arena::new(&[Plant::File("f")]);
    assert_eq!(Root::open(arena.root().join("none")).unwrap_err(), Error::NotFound);
    assert_eq!(Root::open(arena.root().join("f")).unwrap_err(), Error::NotADirectory);
}

#[test]
fn absolute_paths_beneath_the_root_work_by_both_of_its_names() {
    let arena = Arena::new(&[Plant::File("f")]);
    let other_name = arena.expand(b"{base}/alias");
    symlink(arena.root(), &other_name).unwrap();
    let root = Root::open(&other_name).unwrap();
    assert_eq!(root.path(), arena.root().canonicalize().unwrap());
    for path in [other_name.join("f"), arena.root().join("f"), arena.root().join("./f")] {
        assert_eq!(root.stat(path).unwrap().kind, Kind::File);
    }
    assert_eq!(root.stat(&other_name).unwrap().kind, Kind::Directory);
}

#[test]
fn a_root_stays_where_it_was_opened_when_it_is_renamed() {
    let arena = Arena::new(&[Plant::File("f")]);
    let root = root_of(&arena);
    std::fs::rename(arena.root(), arena.expand(b"{base}/moved")).unwrap();
    assert!(root.open_file("f").is_ok());
}

#[test]
fn every_byte_value_and_an_empty_file_come_back_as_written() {
    let arena = Arena::new(&[]);
    let root = root_of(&arena);
    let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    for (name, content) in [("bytes", &bytes[..]), ("empty", b"")] {
        assert_eq!(write(&root, name, content, CreateOptions::default()).size_bytes, content.len() as u64);
        let opened = root.open_file(name).unwrap();
        assert_eq!(opened.metadata().size_bytes, content.len() as u64);
        let mut read = Vec::new();
        opened.into_file().read_to_end(&mut read).unwrap();
        assert_eq!(read, content);
    }
    assert_eq!(names(&root, "."), ["bytes", "empty"]);
}

#[test]
fn nothing_is_seen_before_commit_and_nothing_left_without_it() {
    let arena = Arena::new(&[Plant::File("f")]);
    let root = root_of(&arena);
    let before = arena.snapshot();
    let mut pending = root.create_file("f", CreateOptions::default()).unwrap();
    pending.write_all(b"new").unwrap();
    assert_eq!(std::fs::read(arena.root().join("f")).unwrap(), b"inside");
    drop(pending);
    assert_eq!(arena.snapshot(), before);
}

#[test]
fn a_commit_that_cannot_replace_its_target_leaves_nothing() {
    let arena = Arena::new(&[]);
    let root = root_of(&arena);
    let pending = root.create_file("f", CreateOptions::default()).unwrap();
    std::fs::create_dir(arena.root().join("f")).unwrap();
    assert_eq!(pending.commit().unwrap_err(), Error::IsADirectory);
    assert_eq!(names(&root, "."), ["f"]);
}

#[test]
fn a_new_file_replaces_nothing_not_even_what_appears_right_before_its_commit() {
    let arena = Arena::new(&[]);
    let root = root_of(&arena);
    let begun = |name: &str| {
        let mut pending = root.create_file(name, CreateOptions::default()).unwrap();
        pending.write_all(b"new").unwrap();
        pending
    };
    begun("free").commit_new().unwrap();
    assert_eq!(std::fs::read(arena.root().join("free")).unwrap(), b"new");
    let (file, directory, link) = (begun("file"), begun("directory"), begun("link"));
    std::fs::write(arena.root().join("file"), "old").unwrap();
    std::fs::create_dir(arena.root().join("directory")).unwrap();
    symlink("nowhere", arena.root().join("link")).unwrap();
    for pending in [file, directory, link] {
        assert_eq!(pending.commit_new().unwrap_err(), Error::AlreadyExists);
    }
    assert_eq!(std::fs::read(arena.root().join("file")).unwrap(), b"old");
    assert_eq!(names(&root, "."), ["directory", "file", "free", "link"]);

    // Of several concurrent commits, exactly one gets the name.
    let pending: Vec<_> = (0..8).map(|_| begun("wanted")).collect();
    let committed = std::thread::scope(|scope| {
        let threads: Vec<_> =
            pending.into_iter().map(|pending| scope.spawn(move || pending.commit_new().is_ok())).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .filter(|is_committed| *is_committed)
            .count()
    });
    assert_eq!((committed, names(&root, ".").len()), (1, 5));
}

#[test]
fn a_commit_goes_to_the_directory_that_was_opened() {
    let arena = Arena::new(&[Plant::Directory("d")]);
    let root = root_of(&arena);
    let pending = root.create_file("d/f", CreateOptions::default()).unwrap();
    std::fs::rename(arena.root().join("d"), arena.root().join("moved")).unwrap();
    symlink("../outside", arena.root().join("d")).unwrap();
    pending.commit().unwrap();
    assert!(arena.root().join("moved/f").exists());
    assert!(!arena.expand(b"{base}/outside/f").exists());
}

#[test]
fn a_mode_is_set_exactly_kept_or_the_default_and_never_special() {
    let arena = Arena::new(&[Plant::File("old")]);
    let root = root_of(&arena);
    let mode = |mode| CreateOptions { mode: Some(mode), parents: false };
    write(&root, "set", b"", mode(0o6777));
    assert_eq!(mode_of(arena.root().join("set")), 0o777);
    std::fs::set_permissions(arena.root().join("old"), PermissionsExt::from_mode(0o4751)).unwrap();
    write(&root, "old", b"", CreateOptions::default());
    assert_eq!(mode_of(arena.root().join("old")), 0o751);
    write(&root, "old", b"", mode(0o600));
    assert_eq!(mode_of(arena.root().join("old")), 0o600);
    write(&root, "new", b"", CreateOptions::default());
    std::fs::File::create(arena.root().join("usual")).unwrap();
    assert_eq!(mode_of(arena.root().join("new")), mode_of(arena.root().join("usual")) & 0o644);
    root.mkdir_all("d", 0o7700).unwrap();
    assert_eq!(mode_of(arena.root().join("d")), 0o700);
}

#[test]
fn a_write_through_links_inside_reaches_their_end() {
    let arena = Arena::new(&[
        Plant::Directory("a/b"),
        Plant::Symlink("a/b/up", "../../end"),
        Plant::Symlink("start", "a/b/up"),
    ]);
    let root = root_of(&arena);
    write(&root, "start", b"x", CreateOptions::default());
    assert_eq!(std::fs::read(arena.root().join("end")).unwrap(), b"x");
    assert_eq!(root.lstat("start").unwrap().kind, Kind::Symlink);
    assert_eq!(root.stat("start").unwrap().size_bytes, 1);
}

#[test]
fn missing_folders_are_made_only_when_asked() {
    let arena = Arena::new(&[Plant::File("f")]);
    let root = root_of(&arena);
    assert_eq!(root.create_file("a/b/c", CreateOptions::default()).unwrap_err(), Error::NotFound);
    let parents = CreateOptions { mode: None, parents: true };
    write(&root, "a/b/c", b"", parents);
    write(&root, "a/b/c", b"again", parents);
    assert_eq!(root.stat("a/b/c").unwrap().size_bytes, 5);
    assert_eq!(root.create_file("f/x", parents).unwrap_err(), Error::NotADirectory);
    assert_eq!(root.create_file("a/", parents).unwrap_err(), Error::IsADirectory);
}

#[test]
fn folders_are_made_with_dots_and_links_on_the_way() {
    let arena = Arena::new(&[
        Plant::Directory("real"),
        Plant::Symlink("link", "real"),
        Plant::Symlink("dangling", "none"),
        Plant::File("f"),
    ]);
    let root = root_of(&arena);
    root.mkdir_all("link/a/../b//c/.", 0o755).unwrap();
    assert_eq!(names(&root, "real"), ["a", "b"]);
    root.mkdir_all("real/b/c", 0o755).unwrap();
    root.mkdir_all(".", 0o755).unwrap();
    assert_eq!(root.mkdir_all("dangling/x", 0o755).unwrap_err(), Error::AlreadyExists);
    assert_eq!(root.mkdir_all("f/x", 0o755).unwrap_err(), Error::NotADirectory);
}

#[test]
fn a_path_of_the_greatest_length_is_made_and_removed() {
    let arena = Arena::new(&[]);
    let root = root_of(&arena);
    let path = "d/".repeat(2047);
    root.mkdir_all(&path, 0o755).unwrap();
    assert_eq!(root.stat(&path).unwrap().kind, Kind::Directory);
    root.remove_all("d").unwrap();
    assert_eq!(names(&root, "."), [""; 0]);
}

#[test]
fn a_listing_shows_bytes_kinds_and_sizes() {
    let arena = Arena::new(&[
        Plant::Directory("d"),
        Plant::Symlink("link", "../outside/secret"),
        Plant::Fifo("fifo"),
        Plant::Sparse("sparse", 1 << 40),
    ]);
    std::fs::write(arena.root().join(OsStr::from_bytes(b"\xff\n")), b"123").unwrap();
    let entries = root_of(&arena).read_dir(".").unwrap();
    let mut seen: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let size = if entry.metadata.kind == Kind::Directory { 0 } else { entry.metadata.size_bytes };
            (entry.name.as_bytes().to_vec(), entry.metadata.kind, size)
        })
        .collect();
    seen.sort_by(|left, right| left.0.cmp(&right.0));
    let expected = [
        (&b"d"[..], Kind::Directory, 0),
        (b"fifo", Kind::Special, 0),
        (b"link", Kind::Symlink, "../outside/secret".len() as u64),
        (b"sparse", Kind::File, 1 << 40),
        (b"\xff\n", Kind::File, 3),
    ];
    assert_eq!(seen, expected.map(|(name, kind, size)| (name.to_vec(), kind, size)));
}

#[test]
fn a_device_beneath_the_root_is_not_a_file() {
    let devices = Root::open("/dev").unwrap();
    assert_eq!(devices.open_file("zero").unwrap_err(), Error::SpecialFile);
    assert_eq!(devices.create_file("null", CreateOptions::default()).unwrap_err(), Error::SpecialFile);
    assert_eq!(devices.stat("null").unwrap().kind, Kind::Special);
}

#[test]
fn magic_links_are_never_followed() {
    let process = Root::open("/proc/self").unwrap();
    for path in ["root/etc", "cwd", "root", "exe", "fd/0", "task/../cwd/."] {
        let error = process.stat(path).unwrap_err();
        assert!(matches!(error, Error::TooManySymlinks | Error::EscapesRoot), "{path}: {error:?}");
        assert!(process.open_file(path).is_err(), "{path}");
        assert!(process.open_dir(path).is_err(), "{path}");
    }
    let everything = Root::open("/").unwrap();
    assert_eq!(everything.stat("/proc/self/root/etc").unwrap_err(), Error::TooManySymlinks);
}

#[test]
fn hard_links_are_read_unless_refused() {
    let arena = Arena::new(&[Plant::HardLink("twin", "outside/secret"), Plant::File("single")]);
    let root = root_of(&arena);
    assert_eq!(root.open_file("twin").unwrap().metadata().hard_links, 2);
    let strict = root.with_hard_links(HardLinks::Refuse);
    assert_eq!(strict.open_file("twin").unwrap_err(), Error::HardLinked);
    assert!(strict.open_file("single").is_ok());
}

#[test]
fn remove_takes_a_file_a_link_or_an_empty_directory() {
    let arena = Arena::new(&[
        Plant::File("f"),
        Plant::Directory("empty"),
        Plant::Directory("full/d"),
        Plant::Symlink("link", "full"),
        Plant::Fifo("fifo"),
    ]);
    let root = root_of(&arena);
    for path in ["f", "empty/", "link", "fifo"] {
        root.remove(path).unwrap();
    }
    assert_eq!(root.remove("full").unwrap_err(), Error::DirectoryNotEmpty);
    assert_eq!(root.remove("none").unwrap_err(), Error::NotFound);
    assert!(matches!(root.remove(".").unwrap_err(), Error::InvalidPath(_)));
    assert_eq!(names(&root, "."), ["full"]);
}

#[test]
fn remove_all_takes_trees_wide_and_deep_and_what_is_missing() {
    let arena = Arena::new(&[Plant::Directory("tree"), Plant::File("f")]);
    let root = root_of(&arena);
    for number in 0..1_000 {
        std::fs::write(arena.root().join(format!("tree/file-{number}")), b"").unwrap();
    }
    let mut deepest = root.open_dir("tree").unwrap();
    for _ in 0..1_500 {
        rustix::fs::mkdirat(&deepest, "deeper", rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        deepest = rustix::fs::openat(&deepest, "deeper", flags, rustix::fs::Mode::empty()).unwrap();
    }
    root.remove_all("tree").unwrap();
    root.remove_all("tree").unwrap();
    root.remove_all("none/at/all").unwrap();
    root.remove_all("f").unwrap();
    assert_eq!(names(&root, "."), [""; 0]);
}

#[test]
fn remove_all_copes_with_others_removing_and_adding() {
    let arena = Arena::new(&[]);
    let root = root_of(&arena);
    let tree = arena.root().join("tree");
    let done = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = std::fs::create_dir_all(tree.join("a/b/c"));
                let _ = std::fs::write(tree.join("a/f"), b"");
                let _ = std::fs::remove_dir_all(tree.join("a/b"));
            }
        });
        let start = Instant::now();
        let mut met = 0;
        let mut result = Ok(());
        while met < TREES_MET && result.is_ok() && start.elapsed() < TREES_DEADLINE {
            met += usize::from(root.stat("tree/a").is_ok());
            result = root.remove_all("tree");
        }
        done.store(true, Ordering::Relaxed);
        result.map(|()| met)
    });
    assert_eq!(result, Ok(TREES_MET));
    root.remove_all("tree").unwrap();
    assert_eq!(names(&root, "."), [""; 0]);
}

#[test]
fn a_replaced_files_owner_is_kept() {
    let arena = Arena::new(&[Plant::File("f")]);
    let root = root_of(&arena);
    // A user without permission to give files away keeps them.
    let _ = std::os::unix::fs::chown(arena.root().join("f"), Some(12_345), Some(12_345));
    let before = root.stat("f").unwrap();
    let after = write(&root, "f", b"new", CreateOptions::default());
    assert_eq!((after.user_id, after.group_id), (before.user_id, before.group_id));
    assert_ne!(after.inode, before.inode);
}

#[test]
fn rename_moves_replaces_and_says_why_not() {
    let arena = Arena::new(&[
        Plant::File("f"),
        Plant::File("g"),
        Plant::Directory("d/inner"),
        Plant::Symlink("link", "../outside"),
    ]);
    let root = root_of(&arena);
    root.rename("f", "g").unwrap();
    root.rename("link", "d/link").unwrap();
    root.rename("d/inner/", "moved/").unwrap();
    assert_eq!(names(&root, "."), ["d", "g", "moved"]);
    assert_eq!(names(&root, "d"), ["link"]);
    assert_eq!(root.rename("none", "x").unwrap_err(), Error::NotFound);
    assert_eq!(root.rename("moved", "d").unwrap_err(), Error::DirectoryNotEmpty);
    assert_eq!(root.rename("g", "d").unwrap_err(), Error::IsADirectory);
    assert_eq!(root.rename("g/", "h").unwrap_err(), Error::NotADirectory);
    assert!(matches!(root.rename("d", "d/d").unwrap_err(), Error::InvalidPath(_)));
    assert!(matches!(root.rename(".", "x").unwrap_err(), Error::InvalidPath(_)));
}

#[test]
fn handles_are_closed_on_exec() {
    let arena = Arena::new(&[Plant::File("f")]);
    let root = root_of(&arena);
    let directory = root.open_dir(".").unwrap();
    let file = root.open_file("f").unwrap().into_file();
    for flags in [rustix::io::fcntl_getfd(&directory).unwrap(), rustix::io::fcntl_getfd(&file).unwrap()] {
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}
