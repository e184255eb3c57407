use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use proptest::prelude::*;

use super::*;
use crate::limits::{ARCHIVE_BYTES, ARCHIVE_ENTRIES, DECOMPRESSED_BYTES, PATH_BYTES};

/// One entry of a tar archive: its header, and its padded content.
fn tar_entry(name: &str, kind: u8, mode: u32, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    header[100..107].copy_from_slice(format!("{mode:07o}").as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut entry = header.to_vec();
    entry.extend_from_slice(content);
    entry.resize(entry.len().div_ceil(512) * 512, 0);
    entry
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar_gz(entries: &[(&str, u8, u32, &[u8])]) -> Vec<u8> {
    let mut bytes: Vec<u8> = entries
        .iter()
        .flat_map(|(name, kind, mode, content)| tar_entry(name, *kind, *mode, content))
        .collect();
    bytes.resize(bytes.len() + 1024, 0);
    gzip(&bytes)
}

/// A zip archive of deflated entries: names, modes, contents.
fn zip(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, mode, content) in entries {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let mut common = Vec::new();
        common.extend_from_slice(&[20, 0, 0, 8, 8, 0, 0, 0, 0, 0]);
        common.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        common.extend_from_slice(&u32::try_from(packed.len()).unwrap().to_le_bytes());
        common.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
        common.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
        common.extend_from_slice(&[0, 0]);
        let offset = u32::try_from(bytes.len()).unwrap();
        bytes.extend_from_slice(b"PK\x03\x04");
        bytes.extend_from_slice(&common);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\x03");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 6]);
        directory.extend_from_slice(&(mode << 16).to_le_bytes());
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    let (offset, length) = (u32::try_from(bytes.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    bytes.extend_from_slice(&count);
    bytes.extend_from_slice(&count);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

fn of_archive(bytes: &[u8]) -> Result<Tree, ArchiveError> {
    Tree::of_archive(bytes, &PluginPath::default())
}

fn names(tree: &Tree) -> Vec<&str> {
    tree.files().map(|(path, _)| path.as_str()).collect()
}

#[test]
fn archives_of_both_kinds_give_the_same_tree_as_their_files() {
    let long = format!("package/{}/SKILL.md", "long".repeat(40));
    let pax = format!("path={long}\n");
    // The length includes its own digits.
    let pax = format!("{} {pax}", pax.len() + 4);
    let packed = tar_gz(&[
        ("pax_global_header", b'g', 0, b"19 comment=0123456\n"),
        ("package/", b'5', 0o755, b""),
        ("package/run.sh", b'0', 0o755, b"#!/bin/sh\n"),
        ("./package/a/b.md", b'0', 0o644, b"text"),
        ("x", b'x', 0, pax.as_bytes()),
        ("shortened", b'0', 0o644, b"long"),
        ("././@LongLink", b'L', 0, b"package/gnu.md\0"),
        ("shortened", b'0', 0o644, b"gnu"),
    ]);
    let tree = of_archive(&packed).unwrap();
    let long = long.trim_start_matches("package/");
    let files = [
        ("run.sh", &b"#!/bin/sh\n"[..], true),
        ("a/b.md", b"text", false),
        (long, b"long", false),
        ("gnu.md", b"gnu", false),
    ];
    let same = Tree::of(files.map(|(path, content, mode)| (path, content.to_vec(), mode))).unwrap();
    assert_eq!((&tree, tree.hash()), (&same, same.hash()));
    let zipped = zip(&[
        ("top-abc/", 0o040_755, b""),
        ("top-abc/run.sh", 0o100_755, b"#!/bin/sh\n"),
        ("top-abc/a/b.md", 0o100_644, b"text"),
        (&format!("top-abc/{long}"), 0, b"long"),
        ("top-abc/gnu.md", 0o100_644, b"gnu"),
    ]);
    assert_eq!(of_archive(&zipped).unwrap(), same);
}

#[test]
fn only_a_directory_that_is_no_part_of_a_plugin_is_taken_off() {
    let tree = of_archive(&zip(&[("skills/a/SKILL.md", 0, b"x")])).unwrap();
    assert_eq!(names(&tree), ["skills/a/SKILL.md"]);
    let tree = of_archive(&zip(&[("a/b", 0, b"x"), ("c", 0, b"x")])).unwrap();
    assert_eq!(names(&tree), ["a/b", "c"]);
}

#[test]
fn of_a_repository_only_the_wanted_directory_is_looked_at() {
    let packed = tar_gz(&[
        ("repo-1/plugins/one/skills/a/SKILL.md", b'0', 0o644, b"one"),
        ("repo-1/plugins/two/x", b'0', 0o644, b"two"),
        ("repo-1/latest", b'2', 0o777, b""),
    ]);
    let tree = Tree::of_archive(&packed, &PluginPath::parse("./plugins/one/").unwrap()).unwrap();
    assert_eq!(names(&tree), ["skills/a/SKILL.md"]);
    let none = Tree::of_archive(&packed, &PluginPath::parse("plugins/on").unwrap());
    assert!(matches!(none, Err(ArchiveError::NoDirectory(_))), "{none:?}");
    assert!(matches!(of_archive(&packed), Err(ArchiveError::Link(_))));
}

#[test]
fn the_hash_tells_paths_modes_and_contents_apart() {
    let hash = |files: &[(&str, &str, bool)]| {
        Tree::of(files.iter().map(|(path, text, mode)| (*path, text.as_bytes().to_vec(), *mode)))
            .unwrap()
            .hash()
    };
    let one = hash(&[("a", "bc", false), ("d", "", false)]);
    assert_eq!(one, hash(&[("./d", "", false), ("a", "bc", false)]));
    assert_eq!(one.len(), 64);
    for other in [
        hash(&[("a", "bc", true), ("d", "", false)]),
        hash(&[("a", "b", false), ("d", "c", false)]),
        hash(&[("ab", "c", false), ("d", "", false)]),
        hash(&[("a", "bc", false)]),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn paths_that_lead_out_or_deceive_are_refused() {
    let long = "x".repeat(PATH_BYTES + 1);
    let deep = "a/".repeat(40);
    for path in [
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "C:/x",
        "./C:/x",
        "./~",
        "././~/x",
        "c:x",
        "~/x",
        "a\\..\\x",
        "a\0b",
        "a\u{202e}gpj.md",
        "a\nb",
        "a/ b",
        "a\u{200b}",
        "\u{feff}a",
        &long,
        &deep,
        &"a/".repeat(300),
    ] {
        assert!(PluginPath::parse(path).is_err(), "{path:?}");
        let tree = Tree::of([(path, Vec::new(), false)]);
        assert!(matches!(tree, Err(TreeError::Path(_))), "{path:?}: {tree:?}");
    }
    for name in ["../x", "/x", "package/../../x", "a\u{202e}b", "a\\b"] {
        assert!(of_archive(&tar_gz(&[(name, b'0', 0o644, b"")])).is_err(), "{name:?}");
        assert!(of_archive(&zip(&[(name, 0, b"")])).is_err(), "{name:?}");
    }
    let error = PluginPath::parse("a\u{202e}b").unwrap_err().to_string();
    assert!(error.contains("\\u{202e}") && !error.contains('\u{202e}'), "{error}");
}

#[test]
fn links_devices_and_pipes_are_refused() {
    for kind in [b'1', b'2'] {
        let refused = of_archive(&tar_gz(&[("p/a", kind, 0o777, b"")]));
        assert!(matches!(refused, Err(ArchiveError::Link(_))), "{refused:?}");
    }
    for kind in [b'3', b'4', b'6', b'S'] {
        let refused = of_archive(&tar_gz(&[("p/a", kind, 0o644, b"")]));
        assert!(matches!(refused, Err(ArchiveError::Special(_))), "{refused:?}");
    }
    assert!(matches!(of_archive(&zip(&[("p/a", 0o120_777, b"/etc")])), Err(ArchiveError::Link(_))));
    assert!(matches!(of_archive(&zip(&[("p/a", 0o010_644, b"")])), Err(ArchiveError::Special(_))));
}

#[test]
fn two_files_of_one_name_are_refused() {
    for (one, other) in [("a", "a"), ("README.md", "readme.md"), ("a/ß", "A/ẞ"), ("ſ", "S"), ("a", "./a")]
    {
        let refused = Tree::of([(one, Vec::new(), false), (other, Vec::new(), false)]);
        assert!(matches!(refused, Err(TreeError::Twice(..))), "{one} {other}: {refused:?}");
        assert!(of_archive(&zip(&[(one, 0, b""), (other, 0, b"")])).is_err());
    }
    let refused = Tree::of([("a/b/c", Vec::new(), false), ("A/b", Vec::new(), false)]);
    assert!(matches!(refused, Err(TreeError::FileAndDirectory(_))), "{refused:?}");
}

#[test]
fn what_exceeds_a_limit_is_refused() {
    assert!(matches!(Tree::of::<&str>([]), Err(TreeError::Empty)));
    let many = Tree::of((0..=FILES).map(|number| (number.to_string(), Vec::new(), false)));
    assert!(matches!(many, Err(TreeError::TooManyFiles)));
    let large = Tree::of([("a", vec![0; FILE_BYTES + 1], false)]);
    assert!(matches!(large, Err(TreeError::FileTooLarge(_))));
    let together = Tree::of((0..5).map(|number| (number.to_string(), vec![0; FILE_BYTES], false)));
    assert!(matches!(together, Err(TreeError::TooLarge)));
    assert!(matches!(of_archive(&vec![0x1f; ARCHIVE_BYTES + 1]), Err(ArchiveError::TooLarge)));
    let directories: Vec<u8> = (0..=ARCHIVE_ENTRIES)
        .flat_map(|number| tar_entry(&format!("d/{number}/"), b'5', 0o755, b""))
        .collect();
    assert!(matches!(of_archive(&gzip(&directories)), Err(ArchiveError::TooManyEntries)));
}

#[test]
fn bombs_end_early() {
    // A file that claims to be small, and one that is far too large: no more than the limit is kept.
    let zeros = vec![0; FILE_BYTES + 1];
    assert!(matches!(
        of_archive(&zip(&[("a/b", 0, &zeros)])),
        Err(ArchiveError::Tree(TreeError::FileTooLarge(_)))
    ));
    let mut lying = zip(&[("a/b", 0, &zeros[..1000])]);
    let at = lying.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    lying[at + 24..at + 28].copy_from_slice(&10u32.to_le_bytes());
    assert!(matches!(of_archive(&lying), Err(ArchiveError::Damaged(_))));
    // An entry in a tar archive that never ends.
    let mut header = tar_entry("a/b", b'0', 0o644, b"");
    header[124..135].copy_from_slice(b"77777777777");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header[..512].iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&header).unwrap();
    let block = vec![0; 1024 * 1024];
    for _ in 0..=DECOMPRESSED_BYTES / 1024 / 1024 {
        encoder.write_all(&block).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 8 * 1024 * 1024);
    assert!(matches!(of_archive(&bomb), Err(ArchiveError::Bomb)));
    // A long name that cannot be a name.
    let long = tar_gz(&[("x", b'L', 0, &vec![b'a'; 100_000])]);
    assert!(matches!(of_archive(&long), Err(ArchiveError::Damaged(_))));
}

#[test]
fn damaged_archives_are_refused() {
    for bytes in [
        &b""[..],
        b"text",
        b"PK",
        b"PK\x05\x06",
        &[0x1f, 0x8b],
        &gzip(b"no tar, but long enough for nothing"),
    ] {
        assert!(of_archive(bytes).is_err(), "{bytes:?}");
    }
    let whole = zip(&[("a/b", 0, b"some content that is long enough")]);
    let mut encrypted = whole.clone();
    let at = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    encrypted[at + 8] |= 1;
    assert!(matches!(of_archive(&encrypted), Err(ArchiveError::Method(..))));
    let mut corrupt = whole.clone();
    corrupt[at + 16] ^= 1;
    assert!(matches!(of_archive(&corrupt), Err(ArchiveError::Damaged(_))));
}

proptest! {
    #[test]
    fn no_bytes_make_an_archive_panic(
        at in 0usize..400, byte in any::<u8>(), length in 0usize..400, is_zip in any::<bool>()
    ) {
        let mut bytes = if is_zip {
            zip(&[("a/b", 0, b"content"), ("a/c", 0o100_755, b"")])
        } else {
            tar_gz(&[("a/b", b'0', 0o644, b"content"), ("a/c", b'0', 0o755, b"")])
        };
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        let _ = of_archive(&bytes);
        bytes.truncate(length);
        let _ = of_archive(&bytes);
    }

    #[test]
    fn a_path_that_is_taken_stays_in_the_plugin(text in "[a./\\\\: ~\u{202e}-]{0,12}") {
        if let Ok(path) = PluginPath::parse(&text) {
            let is_plain = |name: &str| !name.is_empty() && name != "." && name != "..";
            prop_assert!(path.is_root() || path.as_str().split('/').all(is_plain));
            prop_assert_eq!(PluginPath::parse(path.as_str()).unwrap(), path);
        }
    }
}
