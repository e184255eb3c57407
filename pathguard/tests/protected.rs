//! Paths that a root's owner protects: no operation changes them, under any name.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use pathguard::tree::{UnpackOptions, Unpacker};
use pathguard::{CreateOptions, Error, Protected, Root};
use testkit::tar;

struct Desk {
    directory: tempfile::TempDir,
    root: Root,
}

fn desk() -> Desk {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("a/.git/hooks")).unwrap();
    fs::create_dir_all(top.join("a/.git/objects")).unwrap();
    fs::write(top.join("a/.git/config"), "old").unwrap();
    fs::create_dir_all(top.join("a/.git/modules/known/deep")).unwrap();
    symlink("a/.git", top.join("link")).unwrap();
    symlink("a/.git/config", top.join("file-link")).unwrap();
    symlink("a/.git/commondir", top.join("dangling")).unwrap();
    let protected = Protected {
        in_place: ["a", "a/.git", "a/.git/modules", "a/.git/modules/known"]
            .map(|name| top.join(name))
            .to_vec(),
        closed: vec![top.join("a/.git/modules"), top.join("a/.git/worktrees")],
        as_it_is: ["config", "hooks", "commondir"].map(|name| top.join("a/.git").join(name)).to_vec(),
    };
    Desk { root: Root::open(&top).unwrap().with_protected(protected), directory }
}

fn write(root: &Root, path: &str) -> Result<(), Error> {
    let options = CreateOptions { parents: true, ..CreateOptions::default() };
    let mut pending = root.create_file(path, options)?;
    pending.write_all(b"new").unwrap();
    pending.commit().map(drop)
}

#[test]
fn nothing_changes_what_is_protected_by_whatever_name() {
    let Desk { root, directory } = desk();
    let absolute = directory.path().canonicalize().unwrap().join("a/.git/config");
    for path in [
        "a/.git/config",
        "a/./.git//config",
        "link/config",
        "file-link",
        "dangling",
        "link/hooks/pre-commit",
        "a/.git/modules/new/config",
        "link/modules/file",
        "a/.git/worktrees/new/commondir",
        "a/.git/hooks/deep/er/file",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(write(&root, path), Err(Error::Protected), "{path}");
    }
    for path in ["a", "a/.git", "a/.git/config", "a/.git/hooks", "link/config"] {
        assert_eq!(root.remove(path), Err(Error::Protected), "{path}");
        assert_eq!(root.remove_all(path), Err(Error::Protected), "{path}");
        assert_eq!(root.rename(path, "elsewhere"), Err(Error::Protected), "{path}");
    }
    fs::write(directory.path().join("other"), "x").unwrap();
    assert_eq!(root.rename("other", "a/.git/config"), Err(Error::Protected));
    assert_eq!(root.mkdir_all("a/.git/hooks/new", 0o755), Err(Error::Protected));
    assert_eq!(root.mkdir_all("a/.git/commondir", 0o755), Err(Error::Protected));
    assert_eq!(fs::read(directory.path().join("a/.git/config")).unwrap(), b"old");
    assert_eq!(fs::read_dir(directory.path().join("a/.git/hooks")).unwrap().count(), 0);
}

#[test]
fn what_is_beside_it_changes_as_ever() {
    let Desk { root, directory } = desk();
    for path in [
        "a/.git/modules/known/HEAD",
        "a/.git/modules/known/deep/x",
        "a/file",
        "a/.git/index",
        "a/.git/objects/00/x",
        "b/.git/config",
        "a/.git/configuration",
    ] {
        assert_eq!(write(&root, path), Ok(()), "{path}");
    }
    assert_eq!(root.rename("a/file", "moved"), Ok(()));
    assert_eq!(root.remove_all("a/.git/objects"), Ok(()));
    assert_eq!(root.remove("link"), Ok(()), "the link is not what it leads to");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut root.open_file("a/.git/config").unwrap().into_file(), &mut text)
        .unwrap();
    assert_eq!(text, "old");
    assert!(directory.path().join("b/.git/config").exists());
}

#[test]
fn an_archive_changes_nothing_of_it_nor_does_a_mirror() {
    for delete_extra in [false, true] {
        let Desk { root, directory } = desk();
        for (name, is_refused) in [
            (".git/config", true),
            (".git/hooks/pre-commit", true),
            (".git/commondir", true),
            (".git/index", delete_extra),
        ] {
            let archive = tar::Tar::new().file(name, b"new").end();
            let options = UnpackOptions { delete_extra, durable: false };
            let mut unpacker = Unpacker::new(&root, "a", options).unwrap();
            let pushed = unpacker.push(&archive).and_then(|()| unpacker.finish().map(drop));
            let error = pushed.err().map(|error| error.error);
            assert_eq!(error, is_refused.then_some(Error::Protected), "{name}");
        }
        assert_eq!(fs::read(directory.path().join("a/.git/config")).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path().join("a/.git/hooks")).unwrap().count(), 0);
    }
}
