//! A server behind a proxy, and limits on password guesses that do not lock out other users.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proto::handshake::RefusalReason;
use reqwest::{Client, Method, StatusCode};
use serde_json::json;
use server_bridge::config::{ProxyArgs, ServeArgs};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::time::timeout;

use crate::support::{FakeRunner, PASSWORD, PATIENCE, Socket, TestServer, handshake_text, refusal_of};

/// The number of wrong passwords, and of wrong tokens, that are sent within a minute.
const FLOOD: u8 = 200;

async fn behind_a_proxy(proxy_protocol: bool) -> TestServer {
    let proxy = ProxyArgs {
        trusted_proxy: vec!["127.0.0.1,10.0.0.0/8".to_owned()],
        proxy_protocol: proxy_protocol.then(|| "on".to_owned()),
    };
    TestServer::start_with(ServeArgs { proxy, ..ServeArgs::default() }).await
}

/// Logs in through a proxy that forwards these client addresses.
async fn log_in(server: &TestServer, client: &str, user: &str, password: &str) -> StatusCode {
    let body = json!({"user": user, "password": password});
    let request =
        Client::new().post(server.url("/api/v1/login")).header("x-forwarded-for", client).json(&body);
    request.send().await.unwrap().status()
}

/// Connects a runner with a wrong token through a proxy; returns the reason for which the server refuses it.
async fn knock(server: &TestServer, client: &str) -> RefusalReason {
    let url = server.url("/runner").replacen("http", "ws", 1);
    let mut socket = Socket::connect(&url, &[("x-forwarded-for", client)]).await.unwrap();
    socket.text(&handshake_text("sbr_wrong", "host")).await;
    refusal_of(&mut socket).await.reason
}

#[tokio::test]
async fn a_flood_of_guesses_through_a_proxy_locks_out_neither_user_nor_runner() {
    let server = behind_a_proxy(false).await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    assert_eq!(log_in(&server, "192.0.2.10", "alice", PASSWORD).await, StatusCode::OK);
    let (mut limited, mut refused) = (0, 0);
    for last in 0..FLOOD {
        let guesser = format!("203.0.113.{last}");
        limited +=
            u32::from(log_in(&server, &guesser, "alice", "wrong").await == StatusCode::TOO_MANY_REQUESTS);
        refused += u32::from(knock(&server, "203.0.113.1").await == RefusalReason::RateLimited);
    }
    assert!(limited > 0 && refused > 0, "guessing is slowed down: {limited} and {refused}");
    assert_eq!(log_in(&server, "192.0.2.10", "alice", PASSWORD).await, StatusCode::OK);
    let _runner = FakeRunner::connect(&alice.base, &token, "laptop").await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_logged_in_before_is_remembered_over_a_restart() {
    let server = behind_a_proxy(false).await;
    server.user("alice").await;
    assert_eq!(log_in(&server, "192.0.2.10", "alice", PASSWORD).await, StatusCode::OK);
    let (_, home) = server.stop_and_reopen().await;
    let proxy = ProxyArgs { trusted_proxy: vec!["127.0.0.1".to_owned()], ..ProxyArgs::default() };
    let server = TestServer::start_in(home, ServeArgs { proxy, ..ServeArgs::default() }).await;
    let mut limited = 0;
    for last in 0..FLOOD {
        let status = log_in(&server, &format!("203.0.113.{last}"), "alice", "wrong").await;
        limited += u32::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited > 0);
    assert_eq!(log_in(&server, "192.0.2.10", "alice", PASSWORD).await, StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn one_clients_wrong_passwords_count_for_no_other_client_of_the_proxy() {
    let server = behind_a_proxy(false).await;
    server.user("alice").await;
    server.user("bob").await;
    let mut limited = 0;
    for _ in 0..20 {
        let status = log_in(&server, "198.51.100.1, 203.0.113.1, 10.1.1.1", "alice", "wrong").await;
        limited += u32::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited > 0);
    assert_eq!(log_in(&server, "198.51.100.1", "alice", PASSWORD).await, StatusCode::OK);
    assert_eq!(log_in(&server, "::ffff:203.0.113.2", "alice", PASSWORD).await, StatusCode::OK);
    assert_eq!(server.audited("login", "unauthorized").await.target, "203.0.113.1");
    server.stop().await;
}

#[tokio::test]
async fn a_forwarded_header_without_a_proxy_is_ignored() {
    let server = TestServer::start().await;
    server.user("alice").await;
    let mut limited = 0;
    for last in 0..30 {
        let status = log_in(&server, &format!("203.0.113.{last}"), "alice", "wrong").await;
        limited += u32::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited > 0);
    assert_eq!(server.audited("login", "unauthorized").await.target, "127.0.0.1");
    server.stop().await;
}

#[tokio::test]
async fn known_runners_get_in_from_an_address_where_strangers_are_refused() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    while knock(&server, "").await != RefusalReason::RateLimited {}
    FakeRunner::connect(&alice.base, &token, "laptop").await.unwrap();
    let (status, enrolling) =
        alice.send(Method::POST, "/runners", json!({"name": "other", "enrol": true})).await;
    assert_eq!(status, 201, "{enrolling}");
    let enrolled = FakeRunner::connect(&alice.base, enrolling["token"].as_str().unwrap(), "other").await;
    assert!(enrolled.is_ok(), "a one-use token counts as known, too");
    server.stop().await;
}

/// Sends these bytes from an address of this machine; returns everything that the server sends until the connection
/// ends.
async fn answer_from(server: &TestServer, last: u8, bytes: &[u8]) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn the_proxy_protocol_header_is_required_and_used() {
    let server = behind_a_proxy(true).await;
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let body = json!({"user": "alice", "password": "wrong"}).to_string();
    let login = format!(
        "POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let line = format!("PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n{login}");
    assert!(answer_from(&server, 1, line.as_bytes()).await.starts_with("HTTP/1.1 401"));
    assert_eq!(server.audited("login", "unauthorized").await.target, "192.0.2.7");
    let binary = [b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0".as_slice(), request.as_bytes()].concat();
    assert!(answer_from(&server, 1, &binary).await.starts_with("HTTP/1.1 200"), "a proxy's own health check");
    let unknown = format!("PROXY UNKNOWN\r\n{request}");
    assert!(answer_from(&server, 1, unknown.as_bytes()).await.starts_with("HTTP/1.1 200"));
    for bad in [request.to_owned(), format!("PROXY TCP4 192.0.2.7\r\n{request}"), "PROXY TCP4 19".to_owned()]
    {
        let answer = timeout(PATIENCE, answer_from(&server, 1, bad.as_bytes())).await.unwrap();
        assert_eq!(answer, "", "{bad:?}");
    }
    assert!(
        answer_from(&server, 2, request.as_bytes()).await.starts_with("HTTP/1.1 200"),
        "without a proxy there is no header"
    );
    assert!(answer_from(&server, 2, line.as_bytes()).await.starts_with("HTTP/1.1 400"));
    server.stop().await;
}
