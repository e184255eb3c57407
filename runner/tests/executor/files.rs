//! File operations over the link.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use proto::codec;
use proto::message::{DirBatch, FileKind, FileOpened};
use proto::request::{MkdirAll, ReadDir, ReadFile, Remove, RemoveAll, Rename, Stat, WriteFile};
use proto::{ErrorKind, Event, Message, WireError, WirePath};
use runner::layers::Profile;
use sha2::{Digest, Sha256};

use crate::world::{Peer, World, eventually, id};

fn write_file(path: impl Into<WirePath>) -> WriteFile {
    WriteFile { id: id(), path: path.into(), mode: None, parents: false, size_bytes: None, if_match: None }
}

fn read_file(path: impl Into<WirePath>) -> ReadFile {
    ReadFile { path: path.into(), offset: 0, length: None }
}

async fn write(peer: &mut Peer, request: WriteFile, bytes: &[u8]) -> Result<Message, WireError> {
    let stream = peer.open(request);
    peer.upload(stream, bytes).await;
    peer.end(stream);
    peer.answer(stream).await
}

async fn read(peer: &mut Peer, request: ReadFile) -> Result<(FileOpened, Vec<u8>), WireError> {
    let stream = peer.open(request);
    let (mut opened, mut received) = (None, Vec::new());
    loop {
        match peer.event(stream).await {
            Event::Data(_, _, bytes) => received.extend_from_slice(&bytes),
            Event::Message { message: Message::FileOpened(message), .. } => opened = Some(message),
            Event::Message { message: Message::FileRead(read), fin: true, .. } => {
                assert_eq!(read.bytes, received.len() as u64);
                return Ok((opened.unwrap(), received));
            }
            Event::Failed(_, error) => return Err(error),
            _ => {}
        }
    }
}

#[test]
fn sixty_four_megabytes_come_and_go_byte_identical() {
    World::run(async |world| {
        let bytes: Vec<u8> = (0..64u32 << 20).map(|n| (n ^ (n >> 8) ^ (n >> 16)) as u8).collect();
        write(&mut world.peer, write_file("large"), &bytes).await.unwrap();
        assert!(std::fs::read(world.path("large")).unwrap() == bytes);
        let (opened, received) = read(&mut world.peer, read_file("large")).await.unwrap();
        assert_eq!(opened.size_bytes, 64 << 20);
        assert!(received == bytes);
    });
}

#[test]
fn a_file_that_is_not_in_memory_and_one_of_holes_come_whole() {
    World::run(async |world| {
        let bytes: Vec<u8> = (0..10u32 << 20).map(|n| (n ^ (n >> 8) ^ (n >> 16)) as u8).collect();
        std::fs::write(world.path("cold"), &bytes).unwrap();
        let file = std::fs::File::open(world.path("cold")).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        assert!(read(&mut world.peer, read_file("cold")).await.unwrap().1 == bytes);
        std::fs::File::create(world.path("holes")).unwrap().set_len(10 << 20).unwrap();
        assert!(read(&mut world.peer, read_file("holes")).await.unwrap().1 == vec![0; 10 << 20]);
    });
}

#[test]
fn every_byte_value_a_name_that_is_no_utf8_and_an_empty_file_survive() {
    World::run(async |world| {
        let every: Vec<u8> = (0..=255).collect();
        let name: &[u8] = b"caf\xe9 \n\xff";
        for (name, content) in [(name, &every[..]), (b"empty", &[])] {
            write(&mut world.peer, write_file(name), content).await.unwrap();
            assert_eq!(std::fs::read(world.path(OsStr::from_bytes(name))).unwrap(), content);
            assert_eq!(read(&mut world.peer, read_file(name)).await.unwrap().1, content);
        }
    });
}

#[test]
fn a_range_of_a_file_is_read() {
    World::run(async |world| {
        std::fs::write(world.path("f"), b"0123456789").unwrap();
        for (offset, length, expected) in [
            (2, Some(3), &b"234"[..]),
            (8, Some(100), b"89"),
            (9, None, b"9"),
            (10, None, b""),
            (99, Some(1), b""),
        ] {
            let request = ReadFile { offset, length, ..read_file("f") };
            assert_eq!(read(&mut world.peer, request).await.unwrap().1, expected, "{offset} {length:?}");
        }
    });
}

#[test]
fn whatever_leaves_the_workspace_is_refused_and_leaves_nothing() {
    World::run(async |world| {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path(), world.path("out")).unwrap();
        std::fs::create_dir(world.path("a")).unwrap();
        let absolute = outside.path().join("secret").to_str().unwrap().to_owned();
        for path in [
            "../x",
            "out/secret",
            "out/new",
            "/etc/passwd",
            "a/../../x",
            &absolute,
            "/proc/self/root/etc/passwd",
        ] {
            let escapes = |result: Result<(), WireError>| {
                assert_eq!(result.unwrap_err().kind, ErrorKind::EscapesWorkspace, "{path}")
            };
            escapes(read(&mut world.peer, read_file(path)).await.map(drop));
            escapes(world.peer.ask(Stat { path: path.into() }).await.map(drop));
            escapes(write(&mut world.peer, write_file(path), b"evil").await.map(drop));
            escapes(world.peer.ask(RemoveAll { id: id(), path: path.into() }).await.map(drop));
            escapes(
                world.peer.ask(Rename { id: id(), from: path.into(), to: "stolen".into() }).await.map(drop),
            );
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "secret");
    });
}

#[test]
fn a_write_that_is_cancelled_or_has_the_wrong_size_leaves_nothing() {
    World::run(async |world| {
        std::fs::write(world.path("f"), "old").unwrap();
        let stream = world.peer.open(write_file("f"));
        world.peer.upload(stream, &[1; 500_000]).await;
        world.peer.cancel(stream).await;
        assert_eq!(world.peer.answer(stream).await.unwrap_err().kind, ErrorKind::Cancelled);
        for announced in [3, 5] {
            let request = WriteFile { size_bytes: Some(announced), ..write_file("f") };
            let error = write(&mut world.peer, request, b"four").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidBody, "{error}");
        }
        assert_eq!(std::fs::read_to_string(world.path("f")).unwrap(), "old");
        let workspace = world.workspace.clone();
        eventually("only the old file is left", || std::fs::read_dir(&workspace).unwrap().count() == 1).await;
    });
}

#[test]
fn a_condition_on_the_present_content_is_checked() {
    World::run(async |world| {
        std::fs::write(world.path("f"), "old").unwrap();
        let condition =
            |text: &str, name| WriteFile { if_match: Some(Sha256::digest(text).into()), ..write_file(name) };
        let failed = [
            write(&mut world.peer, condition("other", "f"), b"new").await,
            write(&mut world.peer, condition("old", "missing"), b"new").await,
        ];
        for result in failed {
            assert_eq!(result.unwrap_err().kind, ErrorKind::PreconditionFailed);
        }
        assert_eq!(std::fs::read_to_string(world.path("f")).unwrap(), "old");
        write(&mut world.peer, condition("old", "f"), b"new").await.unwrap();
        assert_eq!(std::fs::read_to_string(world.path("f")).unwrap(), "new");
    });
}

#[test]
fn a_condition_on_a_file_that_takes_hours_to_read_is_refused_at_once() {
    World::run(async |world| {
        std::fs::File::create(world.path("sparse")).unwrap().set_len(1 << 40).unwrap();
        let request = WriteFile { if_match: Some([0; 32]), ..write_file("sparse") };
        let error = write(&mut world.peer, request, b"new").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooLarge);
        assert!(error.description.contains("without a condition"), "{error:?}");
        assert_eq!(std::fs::metadata(world.path("sparse")).unwrap().len(), 1 << 40);
    });
}

#[test]
fn mode_and_parents_are_set() {
    World::run(async |world| {
        let request = WriteFile { mode: Some(0o750), parents: true, ..write_file("a/b/script") };
        write(&mut world.peer, request, b"#!/bin/sh\n").await.unwrap();
        let mode = std::fs::metadata(world.path("a/b/script")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        let without = write(&mut world.peer, write_file("c/d"), b"x").await.unwrap_err();
        assert_eq!(without.kind, ErrorKind::NotFound);
    });
}

#[test]
fn a_large_directory_is_listed_in_whole_batches() {
    World::run(async |world| {
        for n in 0..3000 {
            std::fs::write(world.path(format!("file-with-a-rather-long-name-{n:05}")), "x").unwrap();
        }
        std::fs::create_dir(world.path("folder")).unwrap();
        std::os::unix::fs::symlink("nowhere", world.path("link")).unwrap();
        let stream = world.peer.open(ReadDir { path: ".".into() });
        let mut entries = Vec::new();
        let count = loop {
            match world.peer.event(stream).await {
                Event::Data(_, _, bytes) => {
                    entries.extend(codec::decode::<DirBatch>(&bytes).unwrap().entries)
                }
                Event::Message { message: Message::DirRead(read), fin: true, .. } => break read.entries,
                Event::Failed(_, error) => panic!("{error}"),
                _ => {}
            }
        };
        assert_eq!((entries.len(), count), (3002, 3002));
        let kind = |name: &[u8]| entries.iter().find(|entry| entry.name == name).map(|entry| entry.kind);
        assert_eq!((kind(b"folder"), kind(b"link")), (Some(FileKind::Directory), Some(FileKind::Symlink)));
    });
}

#[test]
fn directories_and_names_are_changed() {
    World::run(async |world| {
        let peer = &mut world.peer;
        peer.ask(MkdirAll { id: id(), path: "a/b/c".into(), mode: 0o755 }).await.unwrap();
        write(peer, write_file("a/b/c/f"), b"12345").await.unwrap();
        let Ok(Message::Metadata(facts)) = peer.ask(Stat { path: "a/b/c/f".into() }).await else {
            panic!("no facts")
        };
        assert_eq!((facts.kind, facts.size_bytes), (FileKind::File, 5));
        peer.ask(Rename { id: id(), from: "a/b".into(), to: "moved".into() }).await.unwrap();
        let full = peer.ask(Remove { id: id(), path: "moved".into() }).await.unwrap_err();
        assert_eq!(full.kind, ErrorKind::DirectoryNotEmpty);
        peer.ask(Remove { id: id(), path: "moved/c/f".into() }).await.unwrap();
        peer.ask(RemoveAll { id: id(), path: "moved".into() }).await.unwrap();
        peer.ask(RemoveAll { id: id(), path: "moved".into() }).await.unwrap();
        let gone = peer.ask(Stat { path: "moved".into() }).await.unwrap_err();
        assert_eq!(gone.kind, ErrorKind::NotFound);
    });
}

#[test]
fn read_only_refuses_every_change_and_reads() {
    World::run_under(Profile::ReadOnly, async |world| {
        std::fs::write(world.path("f"), "text").unwrap();
        let refused = [
            write(&mut world.peer, write_file("f"), b"x").await,
            world.peer.ask(MkdirAll { id: id(), path: "d".into(), mode: 0o755 }).await,
            world.peer.ask(Remove { id: id(), path: "f".into() }).await,
            world.peer.ask(RemoveAll { id: id(), path: "f".into() }).await,
            world.peer.ask(Rename { id: id(), from: "f".into(), to: "g".into() }).await,
        ];
        for result in refused {
            assert_eq!(result.unwrap_err().kind, ErrorKind::ReadOnly);
        }
        assert_eq!(read(&mut world.peer, read_file("f")).await.unwrap().1, b"text");
    });
}

#[test]
fn stalled_transfers_do_not_stop_other_operations() {
    World::run(async |world| {
        std::fs::write(world.path("large"), vec![0; 4 << 20]).unwrap();
        world.peer.consumes = false;
        for n in 0..20 {
            world.peer.open(read_file("large"));
            world.peer.open(write_file(format!("upload-{n}").as_str()));
        }
        assert!(world.peer.ask(Stat { path: "large".into() }).await.is_ok());
    });
}

#[test]
fn a_planted_bare_repository_opens_no_configuration_to_file_operations() {
    let workspace = tempfile::tempdir().unwrap();
    let top = workspace.path().canonicalize().unwrap();
    for name in ["objects", "refs", ".git/objects", ".git/refs", ".git/hooks", "sub/.git"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
    }
    for name in ["HEAD", ".git/HEAD"] {
        std::fs::write(top.join(name), "ref: refs/heads/main\n").unwrap();
    }
    World::run_in(&top, Profile::Workspace, async |world| {
        for name in [".git/config", ".git/hooks/pre-commit", ".git/commondir", "sub/.git/config", "config"] {
            let error = write(&mut world.peer, write_file(name), b"evil").await.unwrap_err();
            assert!(error.description.contains("--allow-git-config"), "{name}: {error}");
        }
        assert!(write(&mut world.peer, write_file(".git/index"), b"index").await.is_ok());
    });
}
