//! Runners that speak xbot's JSON dialect over a real WebSocket: which of them are accepted, which features work, and how a misbehaving runner is
//! handled.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as WireFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::support::{FakeRunner, Frame, PATIENCE, Socket, TestClient, TestServer};

/// The size of the fragments in which the WebSocket library of an xbot runner sends large messages, in bytes.
const FRAGMENT_BYTES: usize = 4096;

async fn knock(client: &TestClient, path_user: &str, body_user: &str, token: &str) -> Socket {
    let url = client.base.replacen("http", "ws", 1).replace("/api/v1", &format!("/ws/{path_user}"));
    let mut socket = Socket::connect(&url, &[]).await.unwrap();
    let body =
        json!({"user_id": body_user, "auth_token": token, "workspace": "/home/dev/ws", "shell": "/bin/bash"});
    socket.json(json!({"type": "register", "user_id": body_user, "body": body})).await;
    socket
}

/// Registers a runner as alice's `old`.
async fn connect(alice: &TestClient) -> Socket {
    let token = alice.add_runner("old").await;
    let mut socket = knock(alice, "alice", "alice", &token).await;
    assert_eq!(socket.next().await, Frame::Json(json!({"type": "register_ok", "body": {"status": "ok"}})));
    alice.wait_online("old", true).await;
    socket
}

/// Reads the next request, which must be of this kind.
async fn asked(socket: &mut Socket, kind: &str) -> Value {
    let request = socket.until(|_| true).await;
    assert_eq!((&request["type"], &request["user_id"]), (&json!(kind), &json!("alice")), "{request}");
    request
}

async fn answer(socket: &mut Socket, request: &Value, kind: &str, body: Value) {
    socket.json(json!({"id": request["id"], "type": kind, "body": body})).await;
}

/// Sends a text in many frames, as the library of an xbot runner does.
async fn send_fragmented(socket: &mut Socket, text: String) {
    let (bytes, mut start) = (bytes::Bytes::from(text), 0);
    while start < bytes.len() {
        let end = bytes.len().min(start + FRAGMENT_BYTES);
        let opcode = OpCode::Data(if start == 0 { Data::Text } else { Data::Continue });
        let frame = WireFrame::message(bytes.slice(start..end), opcode, end == bytes.len());
        socket.0.feed(Message::Frame(frame)).await.unwrap();
        start = end;
    }
    socket.0.flush().await.unwrap();
}

/// Serves as a runner whose files are kept in memory and whose commands print their own text.
fn serve(mut socket: Socket) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut files: HashMap<String, Vec<u8>> = HashMap::new();
        while let Some(Ok(message)) = socket.0.next().await {
            let Message::Text(text) = message else { continue };
            let request: Value = serde_json::from_str(&text).unwrap();
            let path = request["body"]["path"].as_str().unwrap_or_default().to_owned();
            let missing =
                json!({"message": format!("open {path}: no such file or directory"), "code": "ENOENT"});
            let (kind, body) = match request["type"].as_str().unwrap() {
                "exec" => {
                    let command = request["body"]["command"].as_str().unwrap();
                    let body = json!({"stdout": command, "stderr": "", "exit_code": 3, "timed_out": false});
                    ("exec_result", body)
                }
                "stat" => match files.get(&path) {
                    Some(content) => {
                        let time = "2026-11-21T20:49:28+01:00";
                        let size = content.len();
                        let body = json!({"name": path, "size": size, "mode": 420, "mod_time": time, "is_dir": false});
                        ("file_info", body)
                    }
                    None => ("error", missing),
                },
                "read_file" => ("file_content", json!({"data": STANDARD.encode(&files[&path])})),
                "write_file" => {
                    files.insert(path, STANDARD.decode(request["body"]["data"].as_str().unwrap()).unwrap());
                    ("ok", Value::Null)
                }
                "remove" | "mkdir_all" => ("ok", Value::Null),
                other => panic!("{other}"),
            };
            let message = json!({"id": request["id"], "type": kind, "body": body}).to_string();
            send_fragmented(&mut socket, message).await;
        }
    })
}

#[tokio::test]
async fn an_xbot_runner_is_shown_as_unconfined_and_works_like_any_other() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let socket = connect(&alice).await;
    let shown = alice.wait_online("old", true).await;
    assert_eq!(
        (&shown["profile"], &shown["workspace"]),
        (&json!("legacy: unconfined, no resume"), &json!("/home/dev/ws"))
    );
    assert!(shown["layers"].as_array().unwrap().iter().all(|layer| layer["holds"] == false));
    let entry = server.audited("runner.register", "ok").await;
    assert_eq!((entry.user.as_deref(), entry.location.as_deref()), (Some("alice"), Some("old")));

    let runner = serve(socket);
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "say this"})).await;
    let (stdout, _, exit) = exec.output().await;
    assert_eq!(
        (stdout.as_slice(), &exit["code"], &exit["runner"]),
        (&b"say this"[..], &json!(3), &json!("old"))
    );

    let content: Vec<u8> = (0..=255u8).cycle().take(3 * 1024 * 1024 + 17).collect();
    let put = alice
        .request(Method::PUT, "/files?path=a/b&parents=true")
        .body(content.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(put.status(), 200);
    let read = alice.request(Method::GET, "/files?path=a/b").send().await.unwrap();
    assert_eq!(read.bytes().await.unwrap(), content);
    assert_eq!(alice.status(Method::GET, "/files/stat?path=../b").await, 400);
    runner.abort();
    alice.wait_online("old", false).await;
    server.stop().await;
}

#[tokio::test]
async fn only_the_owner_of_the_token_is_let_in() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let token = alice.add_runner("old").await;
    for (path_user, body_user, token) in [
        ("alice", "alice", "wrong"),
        ("alice", "alice", ""),
        ("bob", "alice", token.as_str()),
        ("alice", "bob", &token),
        ("bob", "bob", &token),
        ("alice", "", &token),
    ] {
        let mut socket = knock(&bob, path_user, body_user, token).await;
        let Frame::Json(refusal) = socket.next().await else { panic!("no answer") };
        assert_eq!((&refusal["type"], &refusal["body"]["code"]), (&json!("error"), &json!("AUTH_FAILED")));
        assert!(token.is_empty() || !refusal.to_string().contains(token));
        assert_eq!(socket.next().await, Frame::Closed);
    }
    // Where large messages are not allowed, an xbot runner is not supported.
    let url = bob.base.replacen("http", "ws", 1).replace("/api/v1", "/runner");
    let mut socket = Socket::connect(&url, &[]).await.unwrap();
    socket.json(json!({"type": "register", "body": {"user_id": "alice", "auth_token": token}})).await;
    let Frame::Json(refusal) = socket.next().await else { panic!("no answer") };
    assert!(refusal["body"]["message"].as_str().unwrap().contains("/ws/USER"), "{refusal}");
    server.audited("runner.register", "token_unknown").await;
    assert_eq!(alice.get("/runners").await[0]["online"], false);
    server.stop().await;
}

#[tokio::test]
async fn a_registration_beyond_its_limit_closes_the_socket() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let url = alice.base.replacen("http", "ws", 1).replace("/api/v1", "/ws/alice");
    let mut socket = Socket::connect(&url, &[]).await.unwrap();
    // The server may close the connection before everything was sent.
    let _ = socket.0.send(Message::text(" ".repeat(200 * 1024))).await;
    assert_eq!(socket.next().await, Frame::Closed);
    server.stop().await;
}

#[tokio::test]
async fn a_runner_of_our_own_may_use_the_same_path() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("new").await;
    let base = alice.base.replace("/api/v1", "/ws/anybody");
    let runner = FakeRunner::connect_to(&base, &token, "host").await.unwrap();
    assert_eq!(alice.wait_online("new", true).await["profile"], "workspace");
    runner.vanish();
    server.stop().await;
}

#[tokio::test]
async fn a_file_of_64_mib_arrives_whole_in_4096_byte_fragments_between_pings() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut socket = connect(&alice).await;
    let content: Vec<u8> = (0..64 * 1024 * 1024u32).map(|number| (number >> 8 ^ number) as u8).collect();
    let read = async {
        let read = alice.request(Method::GET, "/files?path=big").send().await.unwrap();
        read.bytes().await.unwrap()
    };
    let serve = async {
        let stat = asked(&mut socket, "stat").await;
        let body = json!({
            "name": "big", "size": content.len(), "mode": 420, "mod_time": "2026-11-21T20:49:28Z", "is_dir": false,
        });
        answer(&mut socket, &stat, "file_info", body).await;
        let request = asked(&mut socket, "read_file").await;
        socket.0.send(Message::Ping((&b"in between"[..]).into())).await.unwrap();
        let text = format!(
            r#"{{"id":{},"type":"file_content","body":{{"data":"{}"}}}}"#,
            request["id"],
            STANDARD.encode(&content)
        );
        send_fragmented(&mut socket, text).await;
        loop {
            match timeout(PATIENCE, socket.0.next()).await.unwrap().unwrap().unwrap() {
                Message::Pong(echo) => break assert_eq!(&echo[..], b"in between"),
                Message::Ping(_) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    let (read, ()) = tokio::join!(read, serve);
    assert!(read == content, "{} bytes", read.len());
    server.stop().await;
}

#[tokio::test]
async fn a_server_pings_at_once_and_a_runner_lost_mid_command_loses_its_result() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("old").await;
    let mut socket = knock(&alice, "alice", "alice", &token).await;
    let mut is_pinged = false;
    while !is_pinged {
        is_pinged =
            matches!(timeout(PATIENCE, socket.0.next()).await.unwrap().unwrap().unwrap(), Message::Ping(_));
    }
    alice.wait_online("old", true).await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "sleep 9"})).await;
    asked(&mut socket, "exec").await;
    drop(socket);
    let (_, _, last) = exec.output().await;
    assert_eq!((&last["type"], &last["kind"]), (&json!("error"), &json!("lost")));
    server.audited("exec", "lost").await;
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_sends_invalid_messages_is_disconnected_and_others_are_not() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let _bobs = bob.connect_runner("laptop").await;
    let mut socket = connect(&alice).await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "x"})).await;
    asked(&mut socket, "exec").await;
    for text in [r#"{"type":"banana"}"#, r#"{"id":"unknown","type":"ok"}"#] {
        socket.text(text).await;
    }
    socket.binary(b"\xff\xfe".to_vec()).await;
    assert_eq!(exec.output().await.2["kind"], "lost");
    while socket.next().await != Frame::Closed {}
    alice.wait_online("old", false).await;
    bob.wait_online("laptop", true).await;
    server.stop().await;
}

#[tokio::test]
async fn revoking_closes_the_socket_and_the_token_is_no_longer_accepted() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("old").await;
    let mut socket = knock(&alice, "alice", "alice", &token).await;
    alice.wait_online("old", true).await;
    assert_eq!(alice.status(Method::DELETE, "/runners/old").await, 204);
    assert!(matches!(socket.next().await, Frame::Json(_)));
    assert_eq!(socket.next().await, Frame::Closed);
    let mut again = knock(&alice, "alice", "alice", &token).await;
    let Frame::Json(refusal) = again.next().await else { panic!("no answer") };
    assert_eq!(refusal["body"]["code"], "AUTH_FAILED");
    server.stop().await;
}
