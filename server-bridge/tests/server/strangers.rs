//! The limits on unauthenticated connections.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use server_bridge::limits::{REQUEST_HEAD_BYTES, UNPROVEN_BODY_BYTES, UNPROVEN_CONNECTIONS};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Frame, PASSWORD, PATIENCE, Socket, TestServer, eventually};

/// The longest time for which the server may keep an unfinished request, plus some time for a busy machine.
const KEPT: Duration = Duration::from_secs(15);

const HALF_REQUEST: &str = "GET / HTTP/1.1\r\nHost: ";

/// Connects to the server from one of this machine's loopback addresses.
async fn connect_from(last: u8, server: &TestServer) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).unwrap();
    socket.connect(server.address).await.unwrap()
}

async fn send(server: &TestServer, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Reads everything that the server sends until the connection ends.
async fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset also counts as an end: the server may close before it has read everything.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    String::from_utf8_lossy(&answer).into_owned()
}

/// The head of a request with a body.
fn head(path: &str, fields: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{fields}\r\n\r\n")
}

fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

#[tokio::test]
async fn a_large_body_before_a_login_is_refused_without_reading_it() {
    let server = TestServer::start().await;
    for path in ["/api/v1/login", "/api/v1/setup"] {
        let announced = send(&server, &head(path, "Content-Length: 4194304")).await;
        let answered = answer(announced).await;
        assert!(answered.starts_with("HTTP/1.1 413") && answered.contains("too_large"), "{answered}");
        let expecting = send(&server, &head(path, "Content-Length: 4194304\r\nExpect: 100-continue")).await;
        let answered = answer(expecting).await;
        assert!(answered.starts_with("HTTP/1.1 413"), "the server does not ask for the body: {answered}");
        let mut endless = send(&server, &head(path, "Transfer-Encoding: chunked")).await;
        let piece = format!("400\r\n{}\r\n", " ".repeat(0x400));
        for _ in 0..=UNPROVEN_BODY_BYTES / 0x400 {
            let _ = endless.write_all(piece.as_bytes()).await;
        }
        let answered = answer(endless).await;
        assert!(answered.starts_with("HTTP/1.1 413"), "{answered}");
    }
    server.stop().await;
}

#[tokio::test]
async fn no_route_takes_a_large_body_from_a_stranger() {
    let server = TestServer::start().await;
    for path in ["/api/v1/chats", "/api/v1/files?path=x", "/mcp", "/runner", "/", "/healthz", "/nothing"] {
        let stream = send(&server, &head(path, "Content-Length: 4194304")).await;
        let answered = answer(stream).await;
        let status: u16 = answered.split(' ').nth(1).unwrap().parse().unwrap();
        assert!([400, 401, 404, 405].contains(&status), "{path}: {answered}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_known_caller_may_send_a_large_body_on_the_same_connection_as_a_stranger() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let padding = " ".repeat(UNPROVEN_BODY_BYTES as usize);
    let authorization = format!("Authorization: Bearer {}", alice.token);
    let body = format!(r#"{padding}{{"active_runner":"none"}}"#);
    let length = format!("Content-Length: {}", body.len());
    let known = head("/api/v1/settings", &format!("{authorization}\r\n{length}")).replacen("POST", "PUT", 1);
    let stranger = head("/api/v1/login", &length);
    let stream = send(&server, &format!("{known}{body}{stranger}{body}")).await;
    let answered = answer(stream).await;
    assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    assert!(answered.contains("HTTP/1.1 413"), "a proxy's connection carries strangers, too: {answered}");
    server.stop().await;
}

#[tokio::test]
async fn a_request_head_has_a_size_limit() {
    let server = TestServer::start().await;
    let field = |bytes| {
        format!("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: {}\r\n\r\n", "x".repeat(bytes))
    };
    let fits = answer(send(&server, &field(REQUEST_HEAD_BYTES - 200)).await).await;
    assert!(fits.starts_with("HTTP/1.1 200"), "{fits}");
    let large = answer(send(&server, &field(4 * REQUEST_HEAD_BYTES)).await).await;
    assert!(large.starts_with("HTTP/1.1 431"), "{large}");
    server.stop().await;
}

/// Measures how long the server keeps a connection that sends `rest` byte by byte, and then nothing.
async fn kept(mut stream: TcpStream, rest: &'static str) -> Duration {
    let began = Instant::now();
    let (mut reader, mut writer) = stream.split();
    let dripping = async {
        for byte in rest.bytes() {
            sleep(Duration::from_millis(200)).await;
            if writer.write_all(&[byte]).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let ending = async {
        let mut buffer = [0; 4096];
        while reader.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    };
    tokio::select! {
        () = ending => began.elapsed(),
        () = dripping => unreachable!("the connection never ends"),
        () = sleep(2 * KEPT) => Duration::MAX,
    }
}

#[tokio::test]
async fn unfinished_requests_time_out() {
    let server = TestServer::start().await;
    let long = "x".repeat(200).leak();
    let upgrade = "GET /runner HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let body = head("/api/v1/login", "Content-Length: 400");
    let chunks = head("/api/v1/setup", "Transfer-Encoding: chunked") + "a";
    let all = [
        (String::new(), ""),
        (HALF_REQUEST.to_owned(), ""),
        (HALF_REQUEST.to_owned(), &*long),
        (body.clone(), ""),
        (body, &*long),
        (chunks, ""),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), ""),
        (upgrade.to_owned(), ""),
    ];
    let mut kept_for = Vec::new();
    for (sent, rest) in &all {
        kept_for.push(tokio::spawn(kept(send(&server, sent).await, rest)));
    }
    for (kept, (sent, rest)) in kept_for.into_iter().zip(&all) {
        let kept = kept.await.unwrap();
        assert!(kept < KEPT, "{kept:?}: {sent:?} and {rest:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_flood_of_half_requests_displaces_only_its_own_connections() {
    allow_many_files();
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    events.until(|event| event["type"] == "hello").await;
    let began = Instant::now();
    let mut neighbour = connect_from(3, &server).await;
    neighbour.write_all(HALF_REQUEST.as_bytes()).await.unwrap();
    let mut flood = Vec::new();
    for _ in 0..UNPROVEN_CONNECTIONS + 100 {
        let mut stream = connect_from(2, &server).await;
        // The connection may already have been displaced.
        let _ = stream.write_all(HALF_REQUEST.as_bytes()).await;
        flood.push(stream);
    }
    assert_eq!(server.log_in("alice").await.status(Method::GET, "/me").await, 200);
    let has_ended = |stream: &TcpStream| match stream.try_read(&mut [0; 16]) {
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        Ok(_) => true,
    };
    let ended = eventually(|| async {
        let ended = flood.iter().take_while(|stream| has_ended(stream)).count();
        (ended >= 100).then_some(ended)
    })
    .await;
    if began.elapsed() < Duration::from_secs(9) {
        assert!(ended < UNPROVEN_CONNECTIONS && !has_ended(flood.last().unwrap()), "{ended}");
        neighbour.write_all(b"localhost\r\nConnection: close\r\n\r\n").await.unwrap();
        assert!(answer(neighbour).await.starts_with("HTTP/1.1 200"));
    }
    let (status, _) = alice.send(Method::POST, "/chats", json!({})).await;
    assert_eq!(status, 201);
    assert_ne!(events.next().await, Frame::Closed, "a logged-in client is not displaced");
    server.stop().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_and_delay_nobody_else() {
    let server = TestServer::start().await;
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let text = request.repeat(2_000) + last;
    let mut flood = TcpStream::connect(server.address).await.unwrap();
    let (mut reader, mut writer) = flood.split();
    let mut answered = String::new();
    let sending = async { writer.write_all(text.as_bytes()).await.unwrap() };
    let (_, read, ()) = tokio::join!(sending, reader.read_to_string(&mut answered), async {
        server.user("alice").await;
    });
    read.unwrap();
    assert_eq!(answered.matches("HTTP/1.1 200").count(), 2_001);
    server.stop().await;
}

#[tokio::test]
async fn known_runners_stay_connected_while_strangers_try_to_connect() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let url = server.url("/runner").replacen("http", "ws", 1);
    let mut strangers = Vec::new();
    for _ in 0..100 {
        strangers.push(Socket::connect(&url, &[]).await.unwrap());
    }
    let _other = alice.connect_runner("desktop").await;
    alice.wait_online("laptop", true).await;
    server.stop().await;
}

#[tokio::test]
async fn a_login_of_the_maximum_size_is_read() {
    let server = TestServer::start().await;
    server.user("alice").await;
    let login = json!({"user": "alice", "password": PASSWORD}).to_string();
    let body = format!("{}{login}", " ".repeat(UNPROVEN_BODY_BYTES as usize - login.len()));
    let fields = format!("Connection: close\r\nContent-Length: {}", body.len());
    let stream = send(&server, &(head("/api/v1/login", &fields) + &body)).await;
    assert!(answer(stream).await.starts_with("HTTP/1.1 200"));
    server.stop().await;
}
