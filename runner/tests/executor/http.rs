//! HTTP requests of the server to hosts that the machine's user named; a scripted server on this machine answers.

use std::net::TcpListener;

use proto::message::{HttpDone, HttpHeaders};
use proto::request::Http;
use proto::{Channel, ErrorKind, Event, Message, StreamId, WireError};

use crate::llm::Endpoint;
use crate::world::{PATIENCE, Peer, World, shell};

/// Longer than the host may be silent in the tests of that limit, in milliseconds.
const SHORT_MS: u64 = 300;

fn to(endpoint: &Endpoint, path: &str) -> Http {
    Http {
        method: "POST".to_owned(),
        url: format!("http://{}/base{path}", endpoint.address),
        headers: vec![("X-Key".to_owned(), b"one".to_vec())],
        timeout_ms: None,
        idle_ms: None,
    }
}

async fn head(peer: &mut Peer, stream: StreamId) -> Result<HttpHeaders, WireError> {
    loop {
        match peer.event(stream).await {
            Event::Message { message: Message::HttpHeaders(head), .. } => return Ok(head),
            Event::Failed(_, error) => return Err(error),
            Event::Writable(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn ask(peer: &mut Peer, request: Http, body: &[u8]) -> Result<(HttpHeaders, Vec<u8>), WireError> {
    let stream = peer.sends(request, body).await;
    let head = head(peer, stream).await?;
    let mut content = Vec::new();
    loop {
        match peer.event(stream).await {
            Event::Data(_, Channel::Main, bytes) => content.extend_from_slice(&bytes),
            Event::Message { message: Message::HttpDone(HttpDone { bytes }), fin: true, .. } => {
                assert_eq!(bytes, content.len() as u64);
                return Ok((head, content));
            }
            Event::Failed(_, error) => return Err(error),
            Event::End(..) | Event::Writable(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn value<'a>(head: &'a HttpHeaders, name: &str) -> Option<&'a [u8]> {
    head.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
}

#[test]
fn each_event_arrives_before_the_host_goes_on() {
    let endpoint = Endpoint::start();
    World::run(async |world| {
        let stream = world.peer.sends(to(&endpoint, "/v1/sse"), b"{}").await;
        let head = head(&mut world.peer, stream).await.unwrap();
        assert_eq!((head.status, value(&head, "content-type")), (200, Some(&b"text/event-stream"[..])));
        assert_eq!(value(&head, "transfer-encoding"), None, "it concerns one connection");
        for event in 1..=3 {
            let Event::Data(_, Channel::Main, bytes) = world.peer.event(stream).await else { panic!() };
            assert_eq!(bytes, format!("data: {event}\n\n"));
            endpoint.go.send(()).unwrap();
        }
        assert!(matches!(world.peer.event(stream).await, Event::End(_, Channel::Main)));
        let last = world.peer.event(stream).await;
        let done = Message::HttpDone(HttpDone { bytes: 27 });
        assert!(matches!(last, Event::Message { message, fin: true, .. } if message == done));
        let asked = endpoint.asked();
        assert!(asked.starts_with("POST /base/v1/sse HTTP/1.1\r\n"), "{asked}");
        for line in
            ["x-key: one".to_owned(), format!("host: {}", endpoint.address), "content-length: 2".into()]
        {
            assert!(asked.to_lowercase().contains(&format!("\r\n{line}\r\n")), "{line}: {asked}");
        }
    });
}

#[test]
fn a_redirect_is_an_answer_and_every_header_of_it_comes_back() {
    let endpoint = Endpoint::start();
    World::run(async |world| {
        let (head, _) = ask(&mut world.peer, to(&endpoint, "/v1/redirect"), b"{}").await.unwrap();
        assert_eq!(head.status, 307);
        let location = format!("http://{}/base/v1/stolen", endpoint.address);
        assert_eq!(value(&head, "location"), Some(location.as_bytes()));
        assert!(endpoint.asked().contains("/v1/redirect"));
        let (head, body) = ask(&mut world.peer, to(&endpoint, "/v1/refused"), b"").await.unwrap();
        assert_eq!((head.status, body.as_slice()), (401, &b"no"[..]));
        assert_eq!(value(&head, "set-cookie"), Some(&b"a=b"[..]));
        assert!(endpoint.asked().to_lowercase().contains("content-length: 0"));
        assert!(endpoint.asked.try_recv().is_err(), "the redirect was followed");
    });
}

#[test]
fn unnamed_hosts_and_hostile_requests_are_refused_before_anything_is_sent() {
    let endpoint = Endpoint::start();
    World::run(async |world| {
        let port = endpoint.address.port();
        let at = |url: String| Http { url, ..to(&endpoint, "") };
        for host in [
            "[::1]",
            "127.0.0.2",
            "127.1",
            "2130706433",
            "10.0.0.1",
            "8.8.8.8",
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[fd00:ec2::254]",
            "metadata.google.internal",
            "localhost.evil.example",
        ] {
            let error =
                ask(&mut world.peer, at(format!("http://{host}:{port}/secret")), b"").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::SandboxDenied, "{host}: {error}");
            assert!(error.description.contains("--http-allow"), "{error}");
            assert!(!error.description.contains("secret"), "{error}");
        }
        let with = |name: &str, value: &[u8]| Http {
            headers: vec![(name.to_owned(), value.to_vec())],
            ..to(&endpoint, "/v1/x")
        };
        for bad in [
            at(format!("http://user:password@127.0.0.1:{port}/")),
            at(format!("http://127.0.0.1:{port}@evil.example/")),
            at(format!("ftp://127.0.0.1:{port}/")),
            at(format!("http://127.0.0.1:{port}/\r\nX: y")),
            at(format!("http://127.0.0.1:{port}/{}", "x".repeat(9_000))),
            Http { method: "GET / HTTP/1.1\r\nX: y\r\n\r\nGET".to_owned(), ..to(&endpoint, "/v1/x") },
            Http { method: "CONNECT".to_owned(), ..to(&endpoint, "/v1/x") },
            with("Host", b"evil"),
            with("Transfer-Encoding", b"chunked"),
            with("X-A", b"a\r\nX-Injected: b"),
            with("X-A\r\nX-Injected", b"b"),
            with("X-A", &[b'x'; 65 * 1024]),
        ] {
            let error = ask(&mut world.peer, bad.clone(), b"").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidBody, "{bad:?}: {error}");
        }
        let large = vec![b'x'; runner::limits::HTTP_BODY_BYTES + 1];
        let error = ask(&mut world.peer, to(&endpoint, "/v1/x"), &large).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
        assert!(endpoint.asked.try_recv().is_err());
        ask(&mut world.peer, to(&endpoint, "/v1/x"), &large[1..]).await.unwrap();
        assert!(endpoint.asked().len() > large.len());
        // A host's name is permitted in upper and lower case.
        let named = Http { method: "DELETE".to_owned(), ..at(format!("http://LocalHost:{port}/base/v1/x")) };
        ask(&mut world.peer, named, b"").await.unwrap();
        assert!(endpoint.asked().starts_with("DELETE /base/v1/x HTTP/1.1\r\n"));
        assert_eq!(world.peer.exec(shell("echo fine")).await.text(), "fine\n");
    });
}

#[test]
fn hostile_answers_and_silent_or_missing_hosts_give_readable_errors() {
    let endpoint = Endpoint::start();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    World::run(async |world| {
        for path in ["/v1/huge", "/v1/many", "/v1/short", "/v1/nonsense"] {
            let error = ask(&mut world.peer, to(&endpoint, path), b"{}").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Io, "{path}: {error}");
            assert!(error.description.contains(&endpoint.address.to_string()), "{error}");
        }
        let impatient = Http { timeout_ms: Some(SHORT_MS), ..to(&endpoint, "/v1/silent") };
        let error = ask(&mut world.peer, impatient, b"{}").await.unwrap_err();
        assert!(error.kind == ErrorKind::Io && error.description.contains("silent"), "{error}");
        endpoint.gone.recv_timeout(PATIENCE).unwrap();
        let impatient = Http { idle_ms: Some(SHORT_MS), ..to(&endpoint, "/v1/hang") };
        let error = ask(&mut world.peer, impatient, b"{}").await.unwrap_err();
        assert!(error.kind == ErrorKind::Io && error.description.contains("silent"), "{error}");
        endpoint.gone.recv_timeout(PATIENCE).unwrap();
        for url in [format!("http://{free}/"), format!("https://{}/", endpoint.address)] {
            let error = ask(&mut world.peer, Http { url, ..to(&endpoint, "") }, b"").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Io, "{error}");
        }
    });
}

#[test]
fn a_cancel_and_a_lost_link_close_the_connection_and_unread_answers_hold_back_their_host() {
    let endpoint = Endpoint::start();
    World::run(async |world| {
        for path in ["/v1/hang", "/v1/silent", "/v1/endless"] {
            let stream = world.peer.sends(to(&endpoint, path), b"{}").await;
            endpoint.asked();
            world.peer.cancel(stream).await;
            let error = loop {
                match world.peer.event(stream).await {
                    Event::Failed(_, error) => break error,
                    Event::Message { fin: false, .. } | Event::Data(..) | Event::Writable(..) => {}
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(error.kind, ErrorKind::Cancelled, "{path}: {error}");
            endpoint.gone.recv_timeout(PATIENCE).expect(path);
        }
        for path in ["/v1/hang", "/v1/endless"] {
            world.peer.consumes = false;
            let stream = world.peer.sends(to(&endpoint, path), b"{}").await;
            head(&mut world.peer, stream).await.unwrap();
            // Other requests continue while an answer is not read.
            assert_eq!(world.peer.exec(shell("echo fine")).await.text(), "fine\n");
            world.cut().await;
            endpoint.gone.recv_timeout(PATIENCE).expect(path);
        }
    });
}

#[test]
fn too_many_at_once_are_busy_and_one_that_ends_makes_room() {
    let endpoint = Endpoint::start();
    World::run(async |world| {
        let mut last = None;
        for _ in 0..runner::limits::HTTP_REQUESTS {
            let stream = world.peer.sends(to(&endpoint, "/v1/hang"), b"{}").await;
            head(&mut world.peer, stream).await.unwrap();
            last = Some(stream);
        }
        let error = ask(&mut world.peer, to(&endpoint, "/v1/x"), b"{}").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Busy, "{error}");
        world.peer.cancel(last.unwrap()).await;
        endpoint.gone.recv_timeout(PATIENCE).unwrap();
        assert!(ask(&mut world.peer, to(&endpoint, "/v1/x"), b"{}").await.is_ok());
    });
}
