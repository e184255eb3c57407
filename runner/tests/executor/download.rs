//! The runner's own downloads, from a scripted server.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};

use proto::request::{Download, DownloadResolved, Present};
use proto::{ErrorKind, Message, WireError};
use runner::layers::Profile;
use sha2::{Digest, Sha256};

use crate::world::{Peer, World, eventually, id};

/// A server on this machine; each connection is answered with the result of `answer` for the path and the server's address.
pub(crate) fn serve(answer: fn(&str, SocketAddr) -> Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut lines = BufReader::new(socket.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let path = first.split(' ').nth(1).unwrap().to_owned();
            // The client may have read enough and disconnected.
            let _ = socket.write_all(&answer(&path, address));
            if path == "/hang" {
                let _ = lines.next();
            }
        }
    });
    address
}

pub(crate) fn answer(path: &str, address: SocketAddr) -> Vec<u8> {
    let ok = |length: usize, content: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{content}").into_bytes()
    };
    let redirect =
        |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    match path {
        "/file?x=1" | "/dir/file" | "/dir/file?signed=1" => ok(7, "content"),
        "/large" => ok(3 << 20, &"x".repeat(3 << 20)),
        "/chunked" => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_vec()
        }
        "/endless" => format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20)).into_bytes(),
        "/short" => ok(100, "only this"),
        "/hang" => ok(100, "a part"),
        "/redirect" => redirect(&format!("http://{address}/dir/next")),
        "/dir/next" => redirect("file"),
        // Only the host, so that it is its port 80.
        "/otherport" => redirect("http://127.0.0.1/dir/file"),
        "/elsewhere" => redirect(&format!("http://localhost:{}/dir/file?signed=1", address.port())),
        "/loop" => redirect("/loop"),
        "/local" => redirect("file:///etc/passwd"),
        "/nonsense" => b"this is no HTTP\r\n\r\n".to_vec(),
        _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone".to_vec(),
    }
}

pub(crate) fn download_of(address: SocketAddr, path: &str) -> Download {
    Download {
        id: id(),
        url: format!("http://{address}{path}"),
        path: "f".into(),
        mode: None,
        parents: false,
        max_bytes: 4 << 20,
        sha256: None,
    }
}

async fn download(peer: &mut Peer, request: Download) -> Result<u64, WireError> {
    match peer.ask(request).await? {
        Message::FileWritten(written) => Ok(written.bytes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_url_becomes_a_file() {
    World::run(async |world| {
        let address = serve(answer);
        for (path, content) in [
            ("/file?x=1#fragment", "content".to_owned()),
            ("/chunked", "abcde".to_owned()),
            ("/redirect", "content".to_owned()),
            ("/large", "x".repeat(3 << 20)),
            ("/endless", "x".repeat(1 << 20)),
        ] {
            let bytes = download(&mut world.peer, download_of(address, path)).await.unwrap();
            assert_eq!(bytes, content.len() as u64, "{path}");
            assert!(std::fs::read_to_string(world.path("f")).unwrap() == content, "{path}");
        }
        let request = Download {
            path: "made/f".into(),
            parents: true,
            mode: Some(0o700),
            sha256: Some(Sha256::digest("content").into()),
            ..download_of(address, "/dir/file")
        };
        assert_eq!(download(&mut world.peer, request).await, Ok(7));
    });
}

#[test]
fn a_download_that_fails_leaves_the_old_file_and_nothing_else() {
    World::run(async |world| {
        let address = serve(answer);
        std::fs::write(world.path("f"), "old").unwrap();
        let of = |path: &str| download_of(address, path);
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        for (name, request, kind) in [
            ("404", of("/none"), ErrorKind::Io),
            ("an early end", of("/short"), ErrorKind::Io),
            ("a loop", of("/loop"), ErrorKind::Io),
            ("no HTTP", of("/nonsense"), ErrorKind::Io),
            ("to a file", of("/local"), ErrorKind::InvalidBody),
            ("no server there", download_of(free, "/"), ErrorKind::Io),
            ("announced too large", Download { max_bytes: 6, ..of("/dir/file") }, ErrorKind::TooLarge),
            ("too large", Download { max_bytes: 4, ..of("/chunked") }, ErrorKind::TooLarge),
            ("endless", Download { max_bytes: 1000, ..of("/endless") }, ErrorKind::TooLarge),
            (
                "another hash",
                Download { sha256: Some([0; 32]), ..of("/dir/file") },
                ErrorKind::PreconditionFailed,
            ),
            ("no TLS there", Download { url: format!("https://{address}/"), ..of("") }, ErrorKind::Io),
            ("outside", Download { path: "../f".into(), ..of("/dir/file") }, ErrorKind::EscapesWorkspace),
            ("no parent", Download { path: "d/f".into(), ..of("/dir/file") }, ErrorKind::NotFound),
        ] {
            let error = download(&mut world.peer, request).await.unwrap_err();
            assert_eq!(error.kind, kind, "{name}: {error}");
            assert!(!error.description.contains("x=1"), "{error}");
        }
        let stream = world.peer.open(of("/hang"));
        world.peer.flush().await;
        world.peer.cancel(stream).await;
        assert_eq!(world.peer.answer(stream).await.unwrap_err().kind, ErrorKind::Cancelled);
        assert_eq!(std::fs::read_to_string(world.path("f")).unwrap(), "old");
        let workspace = world.workspace.clone();
        eventually("only the old file is left", || std::fs::read_dir(&workspace).unwrap().count() == 1).await;
    });
}

#[test]
fn a_redirect_to_another_host_is_told_and_not_followed() {
    World::run(async |world| {
        let address = serve(answer);
        let error = download(&mut world.peer, download_of(address, "/elsewhere")).await.unwrap_err();
        let next = format!("http://localhost:{}/dir/file?signed=1", address.port());
        assert!(error.kind == ErrorKind::Io && error.description.ends_with(&next), "{error}");
        assert!(!world.path("f").exists());
        let again = Download { url: next, ..download_of(address, "") };
        assert_eq!(download(&mut world.peer, again).await, Ok(7), "it may be asked for");
    });
}

#[test]
fn a_redirect_to_another_port_of_the_host_is_told_and_not_followed() {
    World::run(async |world| {
        let address = serve(answer);
        let error = download(&mut world.peer, download_of(address, "/otherport")).await.unwrap_err();
        let is_told = error.description.contains("another host, port or scheme")
            && error.description.ends_with("http://127.0.0.1/dir/file");
        assert!(error.kind == ErrorKind::Io && is_told, "{error}");
        assert!(!world.path("f").exists());
    });
}

#[test]
fn a_download_to_a_resolved_place_replaces_only_what_was_there() {
    World::run(async |world| {
        let address = serve(answer);
        std::fs::create_dir(world.path("real")).unwrap();
        std::os::unix::fs::symlink("real", world.path("link")).unwrap();
        let into = |path: &str, present| DownloadResolved {
            download: Download { path: path.into(), ..download_of(address, "/dir/file") },
            present,
        };
        let kind = |error: WireError| error.kind;
        for (path, present) in [
            ("link/f", Present::Nothing),
            ("real/f", Present::AnyFile),
            ("real/f", Present::Content([0; 32])),
        ] {
            let failed = world.peer.ask(into(path, present)).await.map_err(kind);
            assert_eq!(failed.unwrap_err(), ErrorKind::PreconditionFailed, "{path} {present:?}");
            assert!(!world.path("real/f").exists());
        }
        world.peer.ask(into("real/f", Present::Nothing)).await.unwrap();
        let again = world.peer.ask(into("real/f", Present::Nothing)).await.map_err(kind);
        assert_eq!(again.unwrap_err(), ErrorKind::PreconditionFailed, "it is there now");
        world.peer.ask(into("real/f", Present::Content(Sha256::digest("content").into()))).await.unwrap();
    });
}

#[test]
fn read_only_downloads_nothing() {
    World::run_under(Profile::ReadOnly, async |world| {
        let error = download(&mut world.peer, download_of(serve(answer), "/dir/file")).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ReadOnly);
    });
}
