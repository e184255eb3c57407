//! Trees as archives: round trips, and refused archives.

#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use pathguard::tree::{Packer, TreeError, TreeReport, UnpackOptions, Unpacker};
use pathguard::{Error, Root};
use support::arena::{Arena, OUTSIDE_MARK, Plant};
use support::corpus::Expected;
use support::tar::{Tar, pax};

const MIRROR: UnpackOptions = UnpackOptions { delete_extra: true, durable: false };

fn pack(root: &Path, path: &str) -> (Vec<u8>, TreeReport) {
    let mut packer = Packer::new(&Root::open(root).unwrap(), path).unwrap();
    let (mut archive, mut piece) = (Vec::new(), [0; 1000]);
    loop {
        match packer.read(&mut piece).unwrap() {
            0 => return (archive, packer.report().clone()),
            length => archive.extend_from_slice(&piece[..length]),
        }
    }
}

/// Unpacks in pieces of `piece` bytes.
fn unpack_with(
    root: &Path,
    archive: &[u8],
    options: UnpackOptions,
    piece: usize,
) -> Result<TreeReport, TreeError> {
    let mut unpacker = Unpacker::new(&Root::open(root).unwrap(), "to", options).unwrap();
    archive.chunks(piece).try_for_each(|bytes| unpacker.push(bytes))?;
    unpacker.finish()
}

fn unpack(root: &Path, archive: &[u8]) -> Result<TreeReport, TreeError> {
    unpack_with(root, archive, UnpackOptions::default(), 700)
}

/// Every path with mode and content or target.
fn listing(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![top.to_owned()];
    while let Some(path) = pending.pop() {
        let facts = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
        let mode = facts.permissions().mode() & 0o7777;
        if facts.is_symlink() {
            found.push(format!("{name} -> {}", path.read_link().unwrap().display()));
        } else if facts.is_dir() {
            found.push(format!("{name}/ {mode:o}"));
            pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found
                .push(format!("{name} {mode:o} {}", String::from_utf8_lossy(&std::fs::read(&path).unwrap())));
        }
    }
    found.sort();
    found
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_tree_comes_back_with_modes_links_and_empty_directories() {
    let base = tempfile::tempdir().unwrap();
    let from = base.path().join("from");
    let long = "long".repeat(50);
    std::fs::create_dir_all(from.join(format!("{long}/{long}"))).unwrap();
    std::fs::create_dir_all(from.join("empty/closed")).unwrap();
    std::fs::write(from.join(format!("{long}/{long}/f")), "deep").unwrap();
    std::fs::write(from.join("script"), "#!/bin/sh").unwrap();
    std::fs::write(from.join("empty/closed/inner"), vec![b'x'; 1500]).unwrap();
    symlink("../script", from.join("empty/up")).unwrap();
    symlink(format!("{long}/{long}/f"), from.join("far")).unwrap();
    for (path, mode) in
        [("script", 0o4755), ("empty/closed/inner", 0o440), ("empty/closed", 0o500), ("", 0o750)]
    {
        set_mode(from.join(path), mode);
    }
    let (archive, packed) = pack(base.path(), "from");
    assert_eq!(archive.len() % 512, 0);
    for piece in [1, 511, 512, 100_000] {
        let target = tempfile::tempdir().unwrap();
        let unpacked = unpack_with(target.path(), &archive, UnpackOptions::default(), piece).unwrap();
        assert_eq!((unpacked.files, unpacked.directories, unpacked.symlinks), (3, 5, 2));
        assert_eq!(unpacked, packed);
        let mut expected = listing(&from);
        for line in &mut expected {
            *line = line.replace("script 4755", "script 755");
        }
        assert_eq!(listing(&target.path().join("to")), expected);
    }
}

#[test]
fn other_tar_programs_understand_what_is_packed_and_are_understood() {
    let base = tempfile::tempdir().unwrap();
    let from = base.path().join("from");
    // Too long for one field of a header, but not for the two of ustar.
    let long = "n".repeat(97);
    std::fs::create_dir_all(from.join(format!("d/{long}"))).unwrap();
    std::fs::write(from.join(format!("d/{long}/f")), "text").unwrap();
    symlink("/etc", from.join("out")).unwrap();
    symlink(format!("{long}/f"), from.join("d/l")).unwrap();
    let (archive, report) = pack(base.path(), "from");
    assert_eq!((report.skipped, report.symlinks), (1, 1));
    std::fs::write(base.path().join("a.tar"), &archive).unwrap();
    let tar = |words: &[&str]| {
        let output = std::process::Command::new("tar").args(words).current_dir(base.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    std::fs::create_dir(base.path().join("out")).unwrap();
    tar(&["-xf", "a.tar", "-C", "out"]);
    let expected: Vec<_> = listing(&from).into_iter().filter(|line| !line.starts_with("out ")).collect();
    assert_eq!(listing(&base.path().join("out")), expected);
    for format in ["gnu", "pax", "ustar"] {
        let target = tempfile::tempdir().unwrap();
        let format = format!("--format={format}");
        tar(&["-cf", "b.tar", &format, "-C", "out", "."]);
        unpack(target.path(), &std::fs::read(base.path().join("b.tar")).unwrap()).unwrap();
        assert_eq!(listing(&target.path().join("to")), expected, "{format}");
    }
}

#[test]
fn what_cannot_be_packed_is_left_out_and_told() {
    let arena = Arena::new(&[
        Plant::Symlink("absolute", "{base}/outside/secret"),
        Plant::Symlink("climbs", "../outside"),
        Plant::Fifo("fifo"),
        Plant::Socket("socket"),
        Plant::File("file"),
    ]);
    let (archive, report) = pack(&arena.root(), ".");
    assert_eq!((report.files, report.skipped, report.symlinks), (1, 4, 0));
    assert!(
        report.note.as_deref().unwrap().starts_with("4 entries were left out, the first is \""),
        "{report:?}"
    );
    let target = tempfile::tempdir().unwrap();
    assert_eq!(unpack(target.path(), &archive).unwrap().note, report.note);
}

#[test]
fn a_file_that_shrinks_while_it_is_packed_ends_the_archive() {
    let base = tempfile::tempdir().unwrap();
    std::fs::write(base.path().join("f"), vec![1; 100_000]).unwrap();
    let mut packer = Packer::new(&Root::open(base.path()).unwrap(), ".").unwrap();
    let mut piece = [0; 4096];
    while packer.report().files == 0 {
        packer.read(&mut piece).unwrap();
    }
    std::fs::File::options().write(true).open(base.path().join("f")).unwrap().set_len(5000).unwrap();
    let error = loop {
        match packer.read(&mut piece) {
            Ok(length) => assert!(length > 0, "it ended"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.entry, b"f");
    assert!(error.to_string().contains("shrank"), "{error}");
}

#[test]
fn a_mirror_removes_what_the_archive_has_not_and_changes_kinds() {
    let base = tempfile::tempdir().unwrap();
    let to = base.path().join("to");
    std::fs::create_dir_all(to.join("extra/deep")).unwrap();
    std::fs::create_dir_all(to.join("was-directory/x")).unwrap();
    std::fs::create_dir_all(to.join("kept/extra")).unwrap();
    std::fs::write(to.join("was-file"), "old").unwrap();
    std::fs::write(to.join("kept/stays"), "old").unwrap();
    symlink("kept", to.join("was-link")).unwrap();
    let archive = Tar::new()
        .directory("kept")
        .file("kept/stays", b"new")
        .file("was-directory", b"now a file")
        .file("was-file/now", b"a directory")
        .file("was-link/now", b"a directory")
        .end();
    assert_eq!(unpack(base.path(), &archive).unwrap_err().error, Error::IsADirectory, "no mirror");
    let report = unpack_with(base.path(), &archive, MIRROR, 700).unwrap();
    assert_eq!((report.files, report.removed), (4, 2));
    let names: Vec<_> = listing(&to).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "/",
            "kept/",
            "kept/stays",
            "was-directory",
            "was-file/",
            "was-file/now",
            "was-link/",
            "was-link/now"
        ]
    );
    // Again nothing changes; and an archive that ends early removes nothing.
    assert_eq!(unpack_with(base.path(), &archive, MIRROR, 700).unwrap().removed, 0);
    let early = Tar::new().directory("kept").bytes();
    unpack_with(base.path(), &early, MIRROR, 700).unwrap_err();
    assert!(to.join("was-file/now").exists());
}

/// Each archive is refused, with an error about the named entry, and changes nothing outside.
#[test]
fn hostile_archives_are_refused_and_touch_nothing_outside() {
    let long_name = format!("d/{}", "n".repeat(256));
    let deep = "d/".repeat(129);
    let many_bytes = pax(&[("size", "99999999999999999999")]);
    let huge = pax(&[("size", "18446744073709551615")]);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a parent", Tar::new().file("../outside/new", b"x").end(), "../outside/new"),
        ("a parent inside", Tar::new().file("a/../../../outside/new", b"x").end(), "a/.."),
        ("absolute", Tar::new().file("/etc/passwd", b"x").end(), "/etc/passwd"),
        ("a link up", Tar::new().symlink("l", "..").end(), "l"),
        ("an absolute link", Tar::new().symlink("l", "/etc").end(), "l"),
        ("a link that winds", Tar::new().directory("d").symlink("d/l", "../d/../..").end(), "d/l"),
        (
            "a link, then through it",
            Tar::new().directory("d").symlink("l", "d").file("l/f", b"x").end(),
            "l/f",
        ),
        ("a link over a directory", Tar::new().directory("d").symlink("d", "e").end(), "d"),
        ("a directory over a link", Tar::new().symlink("l", "d").directory("l").end(), "l"),
        ("a directory over a file", Tar::new().file("f", b"x").directory("f").end(), "f"),
        ("a file over a directory", Tar::new().directory("d").file("d", b"x").end(), "d"),
        ("a hard link", Tar::new().entry(b'1', "h", "f", 0, b"").end(), ""),
        ("a device", Tar::new().entry(b'3', "dev", "", 0, b"").end(), ""),
        ("a FIFO", Tar::new().entry(b'6', "fifo", "", 0, b"").end(), ""),
        ("a sparse file", Tar::new().entry(b'S', "s", "", 0, b"").end(), ""),
        ("an unknown kind", Tar::new().entry(b'Z', "z", "", 0, b"").end(), ""),
        ("a directory with content", Tar::new().entry(b'5', "d/", "", 3, b"abc").end(), ""),
        ("no name", Tar::new().file("", b"x").end(), ""),
        ("a NUL in a record's name", Tar::new().records(&pax(&[("path", "a\0b")])).file("x", b"").end(), "a"),
        ("a parent in a record", Tar::new().records(&pax(&[("path", "../x")])).file("x", b"").end(), "../x"),
        (
            "a link in a record",
            Tar::new().records(&pax(&[("linkpath", "/etc")])).symlink("x", "y").end(),
            "x",
        ),
        ("a long name", Tar::new().records(&pax(&[("path", &long_name)])).file("x", b"").end(), "d/nnn"),
        ("a deep path", Tar::new().records(&pax(&[("path", &deep)])).directory("x").end(), "d/d"),
        (
            "GNU's long name",
            Tar::new().entry(b'L', "././@LongLink", "", 6, b"../../").file("x", b"").end(),
            "../..",
        ),
        ("a size that does not fit", Tar::new().records(&many_bytes).file("x", b"").end(), ""),
        ("the largest size", Tar::new().records(&huge).file("x", b"").end(), "x"),
        ("a tebibyte announced", Tar::new().entry(b'0', "x", "", 1 << 40, b"abc").bytes(), "x"),
        ("records without end", Tar::new().entry(b'x', "r", "", 1 << 30, b"").bytes(), ""),
        ("malformed records", Tar::new().records(b"nonsense").file("x", b"").end(), ""),
        ("a wrong checksum", Tar::new().file("x", b"").broken(3).end(), ""),
        ("another format", Tar::new().file("x", b"").broken(257).end(), ""),
        ("no archive", b"#!/bin/sh\necho this is no archive\n".repeat(100), ""),
        ("nothing", Vec::new(), ""),
        ("one end block", [Tar::new().file("x", b"").bytes(), vec![0; 512]].concat(), "x"),
        ("something after the end", [Tar::new().file("x", b"").end(), vec![1]].concat(), "x"),
        ("an early end", Tar::new().file("x", b"0123456789").bytes()[..515].to_vec(), "x"),
        ("an end in a header", Tar::new().file("x", b"").bytes()[..300].to_vec(), ""),
    ];
    for (name, archive, entry) in cases {
        for options in [UnpackOptions::default(), MIRROR] {
            let arena = Arena::new(&[]);
            let before = arena.snapshot();
            match unpack_with(&arena.root(), &archive, options, 512) {
                // A mirror removes entries for later ones, but not those from the archive itself.
                Ok(report) => panic!("{name}: {report:?}"),
                Err(error) => {
                    let shown = String::from_utf8_lossy(&error.entry).into_owned();
                    assert!(shown.starts_with(entry), "{name}: {error} at {shown:?}");
                }
            }
            let after = arena.snapshot();
            assert_eq!(before.outside, after.outside, "{name}");
            let leftovers =
                after.inside.keys().filter(|path| path.to_string_lossy().contains(".sandbridge-"));
            assert_eq!(leftovers.count(), 0, "{name}: {after:?}");
        }
    }
}

#[test]
fn an_entry_that_comes_twice_is_what_it_was_last() {
    let base = tempfile::tempdir().unwrap();
    let archive = Tar::new()
        .file("f", b"one")
        .file("f", b"two")
        .symlink("f", "g")
        .file("f", b"three")
        .directory("d")
        .directory("d")
        .end();
    assert_eq!(unpack(base.path(), &archive).unwrap().files, 3);
    assert_eq!(std::fs::read_to_string(base.path().join("to/f")).unwrap(), "three");
}

#[test]
fn links_that_are_there_are_replaced_and_never_written_through() {
    let arena = Arena::new(&[
        Plant::Directory("to"),
        Plant::Symlink("to/file", "{base}/outside/secret"),
        Plant::Symlink("to/folder", "{base}/outside/folder"),
        Plant::Symlink("to/inner", "../inside"),
        Plant::Directory("inside"),
    ]);
    let outside = arena.snapshot().outside;
    let root = &arena.root();
    unpack(root, &Tar::new().file("file", b"new").end()).unwrap();
    assert_eq!(std::fs::read_to_string(root.join("to/file")).unwrap(), "new");
    for (path, through) in [("folder/new", "folder"), ("inner/new", "inner")] {
        let error = unpack(root, &Tar::new().file(path, b"x").end()).unwrap_err();
        assert_eq!(error.error, Error::NotADirectory, "{through}");
    }
    assert_eq!(outside, arena.snapshot().outside);
    assert!(!root.join("inside/new").exists());
    unpack_with(root, &Tar::new().file("folder/new", b"x").end(), MIRROR, 700).unwrap();
    assert_eq!(outside, arena.snapshot().outside, "a mirror removes the link, not what it leads to");
}

#[test]
fn an_archive_that_is_given_up_leaves_whole_entries_only() {
    let base = tempfile::tempdir().unwrap();
    std::fs::create_dir(base.path().join("to")).unwrap();
    std::fs::write(base.path().join("to/half"), "old").unwrap();
    let archive = Tar::new().file("whole", b"content").file("half", &[b'x'; 5000]).bytes();
    let mut unpacker =
        Unpacker::new(&Root::open(base.path()).unwrap(), "to", UnpackOptions::default()).unwrap();
    unpacker.push(&archive[..archive.len() - 3000]).unwrap();
    drop(unpacker);
    assert_eq!(std::fs::read_to_string(base.path().join("to/half")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(base.path().join("to")).unwrap().count(), 2);
}

#[test]
fn no_case_of_the_corpus_gets_out_by_way_of_a_tree() {
    for case in support::possible_cases() {
        let arena = Arena::new(case.plants);
        let outside = arena.snapshot().outside;
        let root = Root::open(arena.root()).unwrap();
        let path = arena.expand(case.path);
        let mut seen = Vec::new();
        let packed = Packer::new(&root, &path).map(|mut packer| {
            let mut piece = [0; 4096];
            // No more than this of a sparse tebibyte.
            while seen.len() < 1 << 20
                && let Ok(length @ 1..) = packer.read(&mut piece)
            {
                seen.extend_from_slice(&piece[..length]);
            }
        });
        let is_inside = case.plants.iter().any(|plant| matches!(plant, Plant::HardLink(..)));
        let shows = seen.windows(OUTSIDE_MARK.len()).any(|window| window == OUTSIDE_MARK.as_bytes());
        assert!(is_inside || !shows, "{}", case.name);
        let unpacked = Unpacker::new(&root, &path, MIRROR).map(|mut unpacker| {
            let _ = unpacker.push(&Tar::new().file("secret", b"planted").end());
            let _ = unpacker.finish();
        });
        if case.expected == Expected::Escapes {
            assert_eq!(
                (packed, unpacked),
                (Err(Error::EscapesRoot), Err(Error::EscapesRoot)),
                "{}",
                case.name
            );
        }
        assert_eq!(outside, arena.snapshot().outside, "{}", case.name);
    }
}
