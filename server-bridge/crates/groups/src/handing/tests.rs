use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use pathguard::tree::{Entry, Packer, Reader, Receiver, UnpackOptions, Unpacker};
use pathguard::{Error, Kind, Root};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::listing::{Listing, hex};
use super::relay::{Below, Limits, Relay};

fn entry(kind: Kind, path: &str, mode: u32) -> Entry {
    Entry { kind, path: path.as_bytes().to_vec(), link: Vec::new(), mode, size_bytes: 0 }
}

fn file(listing: &mut impl Receiver, path: &str, mode: u32, content: &[u8]) -> pathguard::Result<()> {
    listing.entry(Entry { size_bytes: content.len() as u64, ..entry(Kind::File, path, mode) })?;
    content.chunks(3).try_for_each(|piece| listing.content(piece))?;
    listing.end_of_file()
}

fn link(listing: &mut impl Receiver, path: &str, target: &[u8]) -> pathguard::Result<()> {
    listing.entry(Entry { link: target.to_vec(), ..entry(Kind::Symlink, path, 0o777) })
}

/// Packs a directory into an archive, in pieces of this size.
fn packed(root: &Path, path: &str, piece: usize, mut take: impl FnMut(&[u8])) {
    let mut packer = Packer::new(&Root::open(root).unwrap(), path).unwrap();
    let mut space = vec![0; piece];
    loop {
        match packer.read(&mut space).unwrap() {
            0 => break,
            length => take(&space[..length]),
        }
    }
}

fn listed(root: &Path, path: &str) -> Listing {
    let (mut reader, mut listing) = (Reader::new(), Listing::new(Limits::default()));
    packed(root, path, 1000, |piece| reader.push(piece, &mut listing).unwrap());
    reader.finish().unwrap();
    listing
}

/// Passes directories on as one tree; returns its listing.
fn relayed(from: &Path, directories: &[&str], to: &Path, piece: usize) -> Listing {
    let mut relay = Relay::new(Limits::default());
    let mut unpacker = Unpacker::new(&Root::open(to).unwrap(), "part", UnpackOptions::default()).unwrap();
    for directory in directories {
        relay.lead_to(directory.as_bytes()).unwrap();
        let mut reader = Reader::new();
        packed(from, directory, piece, |piece| {
            reader.push(piece, &mut Below { relay: &mut relay, path: directory.as_bytes() }).unwrap();
            unpacker.push(&relay.take()).unwrap();
        });
        reader.finish().unwrap();
    }
    let (rest, listing) = relay.end();
    unpacker.push(&rest).unwrap();
    unpacker.finish().unwrap();
    listing
}

#[test]
fn the_hash_is_that_of_the_documented_lines() {
    let mut listing = Listing::new(Limits::default());
    file(&mut listing, "report/index.html", 0o644, b"hello").unwrap();
    listing.entry(entry(Kind::Directory, "", 0o700)).unwrap();
    link(&mut listing, "report/latest", b"index.html").unwrap();
    listing.entry(entry(Kind::Directory, "report", 0o755)).unwrap();
    let of = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    let lines = format!(
        "d 755 - report\0f 644 {} report/index.html\0l 777 {} report/latest\0",
        of(b"hello"),
        of(b"index.html")
    );
    assert_eq!(hex(&listing.hash()), of(lines.as_bytes()));
    assert_eq!((listing.files(), listing.size_bytes()), (1, 5));
    assert_eq!(Listing::new(Limits::default()).hash()[..], Sha256::digest(b"")[..], "nothing");
}

#[test]
fn what_differs_in_anything_that_counts_has_another_hash() {
    let of = |build: &dyn Fn(&mut Listing)| {
        let mut listing = Listing::new(Limits::default());
        build(&mut listing);
        listing.hash()
    };
    let base = of(&|listing| file(listing, "a", 0o644, b"x").unwrap());
    let others: [&dyn Fn(&mut Listing); 6] = [
        &|listing| file(listing, "b", 0o644, b"x").unwrap(),
        &|listing| file(listing, "a", 0o755, b"x").unwrap(),
        &|listing| file(listing, "a", 0o644, b"y").unwrap(),
        &|listing| link(listing, "a", b"x").unwrap(),
        &|listing| listing.entry(entry(Kind::Directory, "a", 0o644)).unwrap(),
        &|listing| {
            file(listing, "a", 0o644, b"x").unwrap();
            listing.entry(entry(Kind::Directory, "b", 0o755)).unwrap();
        },
    ];
    let mut hashes: Vec<_> = others.iter().map(|build| of(build)).collect();
    hashes.push(base);
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 7);
}

#[test]
fn too_much_and_a_path_twice_are_refused() {
    let limits = Limits { entries: 2, bytes: 10 };
    let mut listing = Listing::new(limits);
    file(&mut listing, "a", 0o644, b"12345").unwrap();
    assert!(matches!(file(&mut listing, "b", 0o644, b"123456"), Err(Error::TooLarge(_))));
    let mut listing = Listing::new(limits);
    file(&mut listing, "a", 0o644, b"").unwrap();
    assert!(matches!(file(&mut listing, "a", 0o644, b""), Err(Error::Archive(_))));
    let mut listing = Listing::new(limits);
    for path in ["a", "b"] {
        listing.entry(entry(Kind::Directory, path, 0o755)).unwrap();
    }
    assert!(matches!(listing.entry(entry(Kind::Directory, "c", 0o755)), Err(Error::TooLarge(_))));
    let mut listing = Listing::new(limits);
    listing.entry(Entry { size_bytes: 2, ..entry(Kind::File, "a", 0o644) }).unwrap();
    listing.content(b"1").unwrap();
    assert!(matches!(listing.end_of_file(), Err(Error::Archive(_))), "shorter than it says");
}

#[test]
fn directories_that_lead_to_outputs_pass_once() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for path in ["a/b/c", "a/b/d", "e"] {
        fs::create_dir_all(from.path().join(path)).unwrap();
        fs::write(from.path().join(path).join("f"), path).unwrap();
    }
    let passed = relayed(from.path(), &["a/b/c", "a/b/d", "e"], to.path(), 512);
    assert_eq!(passed.hash(), listed(to.path(), "part").hash());
    assert_eq!(fs::read_to_string(to.path().join("part/a/b/d/f")).unwrap(), "a/b/d");
    assert_eq!(passed.files(), 3);
}

/// A strategy for arbitrary trees of files, directories and links.
fn any_tree() -> impl Strategy<Value = Vec<(String, u8, Vec<u8>)>> {
    let path = "[a-c\u{4e2d} ]{1,3}(/[a-c.]{1,2}x){0,3}";
    proptest::collection::vec((path, 0_u8..4, proptest::collection::vec(any::<u8>(), 0..2000)), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A tree has the same hash at both ends, in pieces of any size.
    #[test]
    fn a_tree_has_the_same_hash_at_both_ends(tree in any_tree(), piece in 1_usize..5000) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let top = from.path().join("out");
        fs::create_dir(&top).unwrap();
        for (path, kind, content) in &tree {
            let path = top.join(path);
            // A path may lead through an existing file; in that case the entry is left out.
            let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| match kind {
                0 => fs::create_dir(&path),
                1 => symlink("somewhere/else", &path),
                kind => fs::write(&path, content).and_then(|()| {
                    fs::set_permissions(&path, fs::Permissions::from_mode(if *kind == 2 { 0o640 } else { 0o755 }))
                }),
            });
            drop(made);
        }
        let passed = relayed(from.path(), &["out"], to.path(), piece);
        let (here, there) = (listed(from.path(), "out"), listed(to.path(), "part/out"));
        prop_assert_eq!(here.hash(), there.hash());
        prop_assert_eq!(passed.hash(), listed(to.path(), "part").hash());
        prop_assert_eq!((passed.files(), passed.size_bytes()), (here.files(), here.size_bytes()));
    }
}
