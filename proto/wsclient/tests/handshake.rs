//! Opening WebSockets with a simulated server, byte by byte.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use wsclient::{Ask, Error, HEAD_BYTES, Resumed};

const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a request; returns it with the accept value for its key.
async fn asked(server: &mut DuplexStream) -> (String, String) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(server.read_u8().await.unwrap());
    }
    let request = String::from_utf8(request).unwrap();
    let key = request.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
    let hashed = sha1_smol::Sha1::from(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    let accept = STANDARD.encode(hashed.digest().bytes());
    (request, accept)
}

fn switching(accept: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n"
    )
}

/// Opens a WebSocket with a server that sends this response; it stays open until the client is done.
async fn open_at(answer: impl FnOnce(&str) -> Vec<u8>) -> Result<Resumed<DuplexStream>, Error> {
    let (client, mut server) = tokio::io::duplex(1 << 20);
    let ask = Ask { authority: "host:1", path: "/path?a=b", bearer: Some("token"), patience: PATIENCE };
    let answering = async move {
        let (request, accept) = asked(&mut server).await;
        assert!(request.starts_with("GET /path?a=b HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nhost: host:1\r\n"), "{request}");
        assert!(request.contains("\r\nauthorization: Bearer token\r\n"), "{request}");
        server.write_all(&answer(&accept)).await.unwrap();
        server
    };
    let (opened, _server) = tokio::join!(wsclient::open(client, ask), answering);
    opened
}

fn why(opened: Result<Resumed<DuplexStream>, Error>) -> String {
    opened.err().unwrap().to_string()
}

#[tokio::test]
async fn any_number_of_header_lines_passes_and_bytes_after_them_are_kept() {
    for lines in [0, 25, 100, 3_000] {
        let opened = open_at(|accept| {
            let added: String = (0..lines).map(|number| format!("X-Added-{number}: v\r\n")).collect();
            format!("{}{added}\r\nglued to it", switching(accept)).into_bytes()
        });
        let mut glued = [0; 11];
        opened.await.unwrap().read_exact(&mut glued).await.unwrap();
        assert_eq!(&glued, b"glued to it", "{lines}");
    }
}

#[tokio::test]
async fn what_is_written_afterwards_arrives_and_what_comes_later_follows_what_was_glued() {
    let (client, mut server) = tokio::io::duplex(64);
    let ask = Ask { authority: "host", path: "/", bearer: None, patience: PATIENCE };
    let answering = async move {
        let (_, accept) = asked(&mut server).await;
        server.write_all(format!("{}\r\nfirst ", switching(&accept)).as_bytes()).await.unwrap();
        let mut heard = [0; 4];
        server.read_exact(&mut heard).await.unwrap();
        server.write_all(b"second").await.unwrap();
        heard
    };
    let using = async {
        let mut socket = wsclient::open(client, ask).await.unwrap();
        socket.write_all(b"ping").await.unwrap();
        let mut heard = String::new();
        socket.read_to_string(&mut heard).await.unwrap();
        heard
    };
    assert_eq!(tokio::join!(using, answering), ("first second".to_owned(), *b"ping"));
}

#[tokio::test]
async fn an_answer_that_opens_no_websocket_is_told() {
    let bare = open_at(|_| b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec()).await;
    assert!(why(bare).contains("Upgrade: websocket"));
    let other = open_at(|accept| format!("{}\r\n", switching(accept)).replace("WebSocket\r", "h2c\r").into());
    assert!(why(other.await).contains("Upgrade: websocket"));
    let unconnected = open_at(|accept| format!("{}\r\n", switching(accept)).replace(", upgrade", "").into());
    assert!(why(unconnected.await).contains("Connection: Upgrade"));
    for accept in ["", "short", &"A".repeat(28), &"long".repeat(4_000)] {
        let wrong = open_at(|_| format!("{}\r\n", switching(accept)).into_bytes()).await;
        assert!(why(wrong).contains("Sec-WebSocket-Accept"));
    }
}

#[tokio::test]
async fn a_refusal_has_its_status_and_its_reason() {
    let document = r#"{"error":{"kind":"revoked","message":"runner laptop\nwas revoked"}}"#;
    let refused = open_at(|_| {
        let length = document.len();
        format!("HTTP/1.1 403 Forbidden\r\nRetry-After: 7\r\nContent-Length: {length}\r\n\r\n{document}")
            .into()
    });
    let Err(Error::Refused(refusal)) = refused.await else { panic!("it was not refused") };
    assert_eq!((refusal.status.as_u16(), refusal.retry_after.as_deref()), (403, Some("7")));
    assert_eq!(refusal.body, document.as_bytes());
    let told = "the server answered 403 Forbidden instead of opening a WebSocket: runner laptop was revoked";
    assert_eq!(refusal.to_string(), told);
    let page = open_at(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>".to_vec()).await;
    assert_eq!(why(page), "the server answered 200 OK instead of opening a WebSocket");
}

#[tokio::test(start_paused = true)]
async fn a_refusals_body_that_is_endless_or_never_comes_is_not_waited_for() {
    let endless = open_at(|_| [b"HTTP/1.1 403 Forbidden\r\n\r\n".as_slice(), &vec![b'x'; 500_000]].concat());
    let Err(Error::Refused(refusal)) = endless.await else { panic!("it was not refused") };
    assert_eq!((refusal.status.as_u16(), refusal.body.len()), (403, 16 * 1024));
    let absent = open_at(|_| b"HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\n".to_vec());
    let Err(Error::Refused(refusal)) = absent.await else { panic!("it was not refused") };
    assert_eq!((refusal.status.as_u16(), refusal.body.len()), (403, 0));
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let one_line = open_at(|_| {
        format!("HTTP/1.1 101 Switching Protocols\r\nX: {}", "x".repeat(HEAD_BYTES)).into_bytes()
    });
    assert!(matches!(one_line.await, Err(Error::Http(_))));
    let many_lines = open_at(|_| {
        format!("HTTP/1.1 101 Switching Protocols\r\n{}", "X: y\r\n".repeat(HEAD_BYTES / 6)).into_bytes()
    });
    assert!(matches!(many_lines.await, Err(Error::Http(_))));
    let noise = open_at(|_| b"\x15\x03\x01\x00\x02".to_vec());
    assert!(matches!(noise.await, Err(Error::Http(_))));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_drips_is_given_up() {
    let (client, mut server) = tokio::io::duplex(1 << 10);
    let ask = Ask { authority: "host", path: "/", bearer: None, patience: PATIENCE };
    let dripping = async move {
        let (_, accept) = asked(&mut server).await;
        server.write_all(switching(&accept).as_bytes()).await.unwrap();
        while server.write_all(b"X: y\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let (opened, ()) = tokio::join!(wsclient::open(client, ask), dripping);
    assert!(matches!(opened, Err(Error::Late(PATIENCE))));
}

#[tokio::test]
async fn a_connection_that_ends_before_its_answer_is_told() {
    let (client, mut server) = tokio::io::duplex(1 << 10);
    let ask = Ask { authority: "host", path: "/", bearer: None, patience: PATIENCE };
    let ending = async move { drop(asked(&mut server).await) };
    let (opened, ()) = tokio::join!(wsclient::open(client, ask), ending);
    assert!(matches!(opened, Err(Error::Http(_) | Error::Io(_))));
}
