//! Reporting where a path leads, and writing only to that place.

use std::os::unix::fs::symlink;

use proto::message::{FileKind, Resolved};
use proto::request::{Present, Resolve, WriteFile, WriteResolved};
use proto::{ErrorKind, Message, WireError};
use sha2::{Digest, Sha256};

use crate::world::{Peer, World, id};

async fn resolve(peer: &mut Peer, path: &str) -> Result<Resolved, WireError> {
    match peer.ask(Resolve { path: path.into() }).await? {
        Message::Resolved(found) => Ok(found),
        other => panic!("{other:?}"),
    }
}

fn request(path: &str, present: Present) -> WriteResolved {
    let (mode, size_bytes, if_match) = (None, None, None);
    let write = WriteFile { id: id(), path: path.into(), mode, parents: true, size_bytes, if_match };
    WriteResolved { write, present }
}

async fn write(peer: &mut Peer, path: &str, present: Present) -> Result<(), WireError> {
    let stream = peer.open(request(path, present));
    peer.upload(stream, b"new").await;
    peer.end(stream);
    peer.answer(stream).await.map(drop)
}

fn content(text: &str) -> Present {
    Present::Content(Sha256::digest(text).into())
}

#[test]
fn a_path_is_told_as_the_place_that_it_leads_to() {
    World::run(async |world| {
        std::fs::create_dir_all(world.path("docs")).unwrap();
        std::fs::write(world.path("Makefile"), "all:\n").unwrap();
        symlink("../Makefile", world.path("docs/guide")).unwrap();
        symlink("/etc", world.path("out")).unwrap();
        let found = resolve(&mut world.peer, "docs/../docs/./guide").await.unwrap();
        assert_eq!(
            (found.path.as_bytes(), found.sha256),
            (&b"Makefile"[..], Some(Sha256::digest("all:\n").into()))
        );
        assert_eq!(found.found.map(|found| (found.kind, found.size_bytes)), Some((FileKind::File, 5)));
        let found = resolve(&mut world.peer, "docs/").await.unwrap();
        assert_eq!((found.found.map(|found| found.kind), found.sha256), (Some(FileKind::Directory), None));
        let found = resolve(&mut world.peer, "docs/a/b").await.unwrap();
        assert_eq!((found.path.as_bytes(), found.found, found.sha256), (&b"docs/a/b"[..], None, None));
        for outside in ["out/passwd", "../x"] {
            let error = resolve(&mut world.peer, outside).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::EscapesWorkspace, "{outside}");
        }
    });
}

#[test]
fn only_the_place_that_was_told_is_written_to_and_only_while_it_is_as_it_was() {
    World::run(async |world| {
        std::fs::create_dir_all(world.path("docs")).unwrap();
        std::fs::write(world.path("docs/f"), "old").unwrap();
        std::fs::write(world.path("Makefile"), "all:\n").unwrap();
        symlink("docs", world.path("link")).unwrap();
        symlink("../Makefile", world.path("docs/guide")).unwrap();
        for (path, present, what) in [
            ("link/f", content("old"), "a folder that is a link"),
            ("docs/guide", content("all:\n"), "a file that is a link"),
            ("docs/../docs/f", content("old"), "a path that is not resolved"),
            ("docs/f", Present::Nothing, "a file was created"),
            ("docs/f", content("other"), "content has changed"),
            ("docs/new", content("old"), "the file is gone"),
            ("docs/new", Present::AnyFile, "the file is gone, whatever it held"),
            ("link/new/deep", Present::Nothing, "a new folder below a link"),
        ] {
            let error = write(&mut world.peer, path, present).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::PreconditionFailed, "{what}: {error}");
            assert!(error.description.contains("nothing was written"), "{error}");
        }
        let text = |path| std::fs::read_to_string(world.path(path)).unwrap();
        assert_eq!((text("docs/f"), text("Makefile")), ("old".to_owned(), "all:\n".to_owned()));
        assert!(!world.path("docs/new").exists());
        write(&mut world.peer, "docs/f", content("old")).await.unwrap();
        write(&mut world.peer, "docs/new/deep", Present::Nothing).await.unwrap();
        write(&mut world.peer, "docs/new/deep", Present::AnyFile).await.unwrap();
        let text = |path| std::fs::read_to_string(world.path(path)).unwrap();
        assert_eq!((text("docs/f"), text("docs/new/deep")), ("new".to_owned(), "new".to_owned()));
    });
}

#[test]
fn a_place_that_is_swapped_while_the_content_comes_is_left_alone() {
    World::run(async |world| {
        std::fs::create_dir_all(world.path("docs")).unwrap();
        std::fs::create_dir_all(world.path("evil")).unwrap();
        let stream = world.peer.open(request("docs/f", Present::Nothing));
        world.peer.upload(stream, b"new").await;
        world.peer.flush().await;
        // Another answer on the link shows that the file was started.
        resolve(&mut world.peer, ".").await.unwrap();
        std::fs::rename(world.path("docs"), world.path("moved")).unwrap();
        symlink("evil", world.path("docs")).unwrap();
        world.peer.end(stream);
        assert_eq!(world.peer.answer(stream).await.unwrap_err().kind, ErrorKind::PreconditionFailed);
        for directory in ["evil", "moved"] {
            assert_eq!(std::fs::read_dir(world.path(directory)).unwrap().count(), 0, "{directory}");
        }
    });
}
