//! Whole trees over the link.

use pathguard::Root;
use pathguard::tree::Packer;
use proto::message::{TreeRead, TreeWritten};
use proto::request::{ReadTree, WriteTree};
use proto::{ErrorKind, Event, Message, WireError, WirePath};
use runner::layers::Profile;

use crate::world::{Peer, World, eventually, id};

pub(crate) fn tree_to(path: impl Into<WirePath>) -> WriteTree {
    WriteTree { id: id(), path: path.into(), delete_extra: false }
}

pub(crate) async fn read_tree(peer: &mut Peer, path: WirePath) -> Result<(Vec<u8>, TreeRead), WireError> {
    let stream = peer.open(ReadTree { path });
    let mut archive = Vec::new();
    loop {
        match peer.event(stream).await {
            Event::Data(_, _, bytes) => archive.extend_from_slice(&bytes),
            Event::Message { message: Message::TreeRead(read), fin: true, .. } => return Ok((archive, read)),
            Event::Failed(_, error) => return Err(error),
            _ => {}
        }
    }
}

pub(crate) async fn write_tree(
    peer: &mut Peer,
    request: WriteTree,
    archive: &[u8],
) -> Result<TreeWritten, WireError> {
    let stream = peer.open(request);
    peer.upload(stream, archive).await;
    peer.end(stream);
    match peer.answer(stream).await? {
        Message::TreeWritten(written) => Ok(written),
        other => panic!("{other:?}"),
    }
}

/// An archive of a directory on this machine.
fn packed(directory: &std::path::Path) -> Vec<u8> {
    let mut packer = Packer::new(&Root::open(directory).unwrap(), ".").unwrap();
    let (mut archive, mut piece) = (Vec::new(), [0; 65_536]);
    while let length @ 1.. = packer.read(&mut piece).unwrap() {
        archive.extend_from_slice(&piece[..length]);
    }
    archive
}

#[test]
fn a_tree_goes_out_and_comes_in() {
    World::run(async |world| {
        std::fs::create_dir_all(world.path("from/deep/empty")).unwrap();
        for number in 0..300 {
            std::fs::write(world.path(format!("from/deep/{number}")), vec![number as u8; 5_000]).unwrap();
        }
        std::os::unix::fs::symlink("deep/7", world.path("from/link")).unwrap();
        let (archive, read) = read_tree(&mut world.peer, "from".into()).await.unwrap();
        assert_eq!((read.files, read.directories, read.symlinks, read.skipped), (300, 3, 1, 0));
        let written = write_tree(&mut world.peer, tree_to("made/to"), &archive).await.unwrap();
        assert_eq!((written.files, written.directories, written.symlinks), (300, 3, 1));
        assert_eq!(written.size_bytes, 1_500_000);
        assert_eq!(std::fs::read(world.path("made/to/link")).unwrap(), [7; 5_000]);
        assert!(world.path("made/to/deep/empty").is_dir());
        std::fs::write(world.path("made/to/extra"), "x").unwrap();
        let mirror = WriteTree { delete_extra: true, ..tree_to("made/to") };
        assert_eq!(write_tree(&mut world.peer, mirror, &archive).await.unwrap().removed, 1);
        assert!(!world.path("made/to/extra").exists());
    });
}

#[test]
fn what_was_written_before_an_error_is_told() {
    World::run(async |world| {
        let from = tempfile::tempdir().unwrap();
        std::fs::write(from.path().join("file"), "x").unwrap();
        let archive = packed(from.path());
        // One archive without its end, and one with extra data after it.
        let whole = &archive[..archive.len() - 1024];
        let broken = [whole, &[b'x'; 512]].concat();
        for (archive, told) in [(whole, "it ends early"), (&broken, "checksum")] {
            let error = write_tree(&mut world.peer, tree_to("to"), archive).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidBody);
            assert!(error.description.contains(told), "{error}");
            assert!(
                error.description.contains("files written by then: 1, directories: 1, links: 0"),
                "{error}"
            );
        }
        let error = read_tree(&mut world.peer, "to/file".into()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotADirectory);
        let error = write_tree(&mut world.peer, tree_to("to/file"), &archive).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::NotADirectory | ErrorKind::AlreadyExists), "{error}");
    });
}

#[test]
fn a_tree_that_is_cancelled_leaves_nothing_half_written() {
    World::run(async |world| {
        let from = tempfile::tempdir().unwrap();
        std::fs::write(from.path().join("file"), vec![1; 2 << 20]).unwrap();
        let archive = packed(from.path());
        let stream = world.peer.open(tree_to("to"));
        world.peer.upload(stream, &archive[..archive.len() / 2]).await;
        world.peer.cancel(stream).await;
        let error = world.peer.answer(stream).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled, "{error}");
        let to = world.path("to");
        eventually("nothing is left", || std::fs::read_dir(&to).unwrap().count() == 0).await;

        std::fs::write(world.path("large"), vec![1; 8 << 20]).unwrap();
        let stream = world.peer.open(ReadTree { path: ".".into() });
        let Event::Data(..) = world.peer.event(stream).await else { panic!("no data") };
        world.peer.cancel(stream).await;
        loop {
            match world.peer.event(stream).await {
                Event::Failed(_, error) => break assert_eq!(error.kind, ErrorKind::Cancelled),
                Event::Data(..) => {}
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn read_only_refuses_to_write_a_tree_and_reads_one() {
    World::run_under(Profile::ReadOnly, async |world| {
        let error = write_tree(&mut world.peer, tree_to("to"), b"").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ReadOnly);
        assert!(read_tree(&mut world.peer, ".".into()).await.is_ok());
    });
}
