//! Requests whose bytes a proxy, a cache or a load balancer in between may interpret differently.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, TestServer};

/// Sends these bytes, and returns everything that the server sends until it closes the connection.
async fn answers(address: SocketAddr, bytes: &str) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, connection.read_to_end(&mut answer))
        .await
        .expect("the server closes the connection")
        .unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn statuses(answers: &str) -> Vec<&str> {
    answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
}

#[tokio::test]
async fn a_request_that_ends_in_two_places_is_refused_and_closes_its_connection() {
    let server = TestServer::start().await;
    let host = server.address;
    let smuggled = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for lines in [
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\n , identity",
        "Transfer-Encoding : chunked\r\nContent-Length: 5",
    ] {
        for path in ["/api/v1/login", "/healthz"] {
            let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n");
            let answer = answers(host, &format!("{head}0\r\n\r\n{smuggled}")).await;
            assert_eq!(statuses(&answer), ["400"], "{lines}: {answer}");
        }
        // The same bytes after a well-formed request.
        let head = format!("{smuggled}POST /healthz HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n");
        let answer = answers(host, &format!("{head}0\r\n\r\n{smuggled}")).await;
        assert_eq!(statuses(&answer), ["200", "400"], "{lines}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_read_after_a_chunked_body_or_a_refused_upgrade() {
    let server = TestServer::start().await;
    let host = server.address;
    let next = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let chunked = format!(
        "POST /api/v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
    );
    let answer = answers(host, &format!("{next}{chunked}{next}")).await;
    assert_eq!(statuses(&answer), ["200", "400"], "the body lacks a name: {answer}");
    assert!(!answer.contains("length is ambiguous") && answer.contains("connection: close"), "{answer}");
    let upgrade = format!(
        "GET /api/v1/me HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    );
    let answer = answers(host, &format!("{upgrade}{next}")).await;
    assert_eq!(statuses(&answer), ["401"], "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_request_names_one_host_and_the_same_in_each_place() {
    let server = TestServer::start().await;
    let host = server.address;
    let port = host.port();
    for (target, lines, status) in [
        ("/api/v1/status", format!("Host: {host}"), "200"),
        ("/api/v1/status", format!("Host: {host}\r\nHost: {host}"), "400"),
        ("/api/v1/status", format!("Host: {host}\r\nHost: evil.example"), "400"),
        ("/api/v1/status", format!("Host: evil.example\r\nhost: {host}"), "400"),
        ("/healthz", format!("Host: {host}\r\nHost: {host}"), "400"),
        ("/api/v1/status", "Host:".to_owned(), "400"),
        ("/api/v1/status", "X: y".to_owned(), "400"),
        ("/api/v1/status", "Host: evil.example".to_owned(), "421"),
        (&format!("http://{host}/api/v1/status"), format!("Host: {host}"), "200"),
        (&format!("http://{host}/api/v1/status"), "Host: evil.example".to_owned(), "400"),
        (&format!("http://localhost:{port}/api/v1/status"), format!("Host: {host}"), "400"),
        ("http://evil.example/api/v1/status", format!("Host: {host}"), "400"),
        ("http://evil.example/api/v1/status", "Host: evil.example".to_owned(), "421"),
        (&format!("http://{host}/api/v1/status"), "X: y".to_owned(), "400"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\n{lines}\r\nConnection: close\r\n\r\n");
        let answer = answers(host, &request).await;
        assert_eq!(statuses(&answer), [status], "{request}{answer}");
    }
    server.stop().await;
}
