//! Keys for programs: the requests that each scope allows, and those that no scope allows.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use store::Clock;

use crate::support::{Frame, PATIENCE, Socket, TestClient, TestServer, eventually, program};

async fn connects(client: &TestClient, path: &str) -> bool {
    let url = format!("{}{path}", client.base).replacen("http", "ws", 1);
    let authorization = format!("Bearer {}", client.token);
    Socket::connect(&url, &[("authorization", &authorization)]).await.is_ok()
}

#[tokio::test]
async fn a_key_works_like_a_session_without_a_page_and_is_shown_once() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let program = program(&alice, "ci", "full").await;
    assert_eq!(program.get("/me").await["name"], "alice");
    // A program sends no Origin, and has no cookie that a page could use.
    let (status, _) = program.send(Method::PUT, "/settings", json!({"active_runner": null})).await;
    assert_eq!(status, 200);
    assert!(connects(&program, "/events").await && connects(&program, "/exec").await);
    let listed = alice.get("/keys").await;
    assert_eq!(
        (&listed[0]["name"], &listed[0]["scope"], &listed[0]["expired"]),
        (&json!("ci"), &json!("full"), &json!(false))
    );
    assert!(listed[0]["last_used"].is_i64() && listed[0]["expires_at"].is_null(), "{listed}");
    assert!(!listed.to_string().contains("sbk_"));
    let trail = format!("{:?}", server.store.audit(100, None).await.unwrap());
    assert!(trail.contains("key.add") && !trail.contains(&program.token), "{trail}");
    server.stop().await;
}

#[tokio::test]
async fn a_key_for_commands_neither_reads_nor_takes_its_owners_terminal() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let id = "000102030405060708090a0b0c0d0e0f";
    let ask = json!({"argv": ["cat"], "exec_id": id, "pty": {"rows": 24, "columns": 80}, "acks": true});
    let mut terminal = alice.socket("/exec").await;
    terminal.json(ask.clone()).await;
    assert_eq!(terminal.until(|_| true).await["type"], "started");
    let exec = program(&alice, "x", "exec").await;
    let mut attached = exec.socket(&format!("/execs/{id}")).await;
    let mut repeated = exec.socket("/exec").await;
    repeated.json(ask).await;
    for socket in [&mut attached, &mut repeated] {
        let refused = socket.until(|_| true).await;
        assert_eq!((&refused["type"], &refused["kind"]), (&json!("error"), &json!("forbidden")), "{refused}");
    }
    let read = program(&alice, "r", "read").await;
    for (client, may) in
        [(&alice, true), (&program(&alice, "f", "full").await, true), (&exec, false), (&read, false)]
    {
        let status = client.status(Method::GET, &format!("/execs/{id}/report")).await;
        assert_eq!(status != 403, may, "a report shows the screen's content: {status}");
    }
    assert_eq!(exec.status(Method::POST, &format!("/execs/{id}/cancel")).await, 403);
    for (client, path) in [(&exec, "/tasks"), (&read, "/tasks")] {
        assert!(!client.get(path).await.to_string().contains(id), "a terminal is not a task");
        assert_eq!(client.status(Method::GET, &format!("/tasks/{id}")).await, 404);
    }
    // The owner can keep typing: no message tells the owner that another client has taken over.
    terminal.binary(b"\0here".to_vec()).await;
    loop {
        match terminal.next().await {
            Frame::Json(frame) => assert_eq!(frame["type"], "input", "{frame}"),
            Frame::Binary(shown) if shown.ends_with(b"here") => break,
            Frame::Binary(_) => {}
            Frame::Closed => panic!("the terminal was closed"),
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn no_key_creates_another_one_and_each_scope_has_its_limits() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let [full, exec, read] = [
        program(&alice, "f", "full").await,
        program(&alice, "x", "exec").await,
        program(&alice, "r", "read").await,
    ];
    for program in [&full, &exec, &read] {
        let (status, refused) =
            program.send(Method::POST, "/keys", json!({"name": "more", "scope": "full"})).await;
        assert_eq!((status, &refused["error"]["kind"]), (403, &json!("forbidden")), "{refused}");
        let (status, _) = program.send(Method::POST, "/logout", json!({})).await;
        assert_eq!(status, 403);
        assert_eq!(program.status(Method::GET, "/runners").await, 200);
    }
    for (method, path, body) in [
        (Method::GET, "/settings", Value::Null),
        (Method::PUT, "/settings", json!({"active_runner": null})),
        (Method::GET, "/keys", Value::Null),
        (Method::DELETE, "/keys/f", Value::Null),
        (Method::POST, "/runners", json!({"name": "laptop"})),
        (Method::POST, "/chats", json!({})),
    ] {
        for program in [&exec, &read] {
            assert_eq!(program.send(method.clone(), path, body.clone()).await.0, 403, "{method} {path}");
        }
    }
    assert!(connects(&exec, "/exec").await && !connects(&read, "/exec").await);
    assert!(connects(&read, "/events").await && !connects(&exec, "/events").await);
    assert_eq!(read.send(Method::PUT, "/files?path=a", json!({})).await.0, 403);
    assert_eq!(alice.get("/keys").await.as_array().unwrap().len(), 3, "nothing was created or removed");
    let denied = server.audited("key.use", "forbidden").await;
    assert_eq!(denied.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn a_removed_or_expired_key_opens_nothing_and_its_sockets_are_closed() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let program = program(&alice, "ci", "read").await;
    let mut events = program.socket("/events").await;
    assert_eq!(alice.status(Method::DELETE, "/keys/ci").await, 204);
    assert_eq!(alice.status(Method::DELETE, "/keys/ci").await, 404);
    assert_eq!(program.status(Method::GET, "/me").await, 401);
    server.audited("key.remove", "ok").await;

    let earlier_ms = server.store.now_ms() - 120_000;
    let earlier = server.store.clone().with_clock(Clock::from_fn(move || earlier_ms));
    let user = earlier.user_by_name("alice").await.unwrap().unwrap();
    let name = store::Name::parse("old").unwrap();
    let (_, old) = earlier.add_key(user.id, &name, store::KeyScope::Full, Some(60_000)).await.unwrap();
    let old = TestClient { token: old.into_exposed(), http: alice.http.clone(), base: alice.base.clone() };
    let (status, refused) = old.send(Method::GET, "/me", json!({})).await;
    assert_eq!(status, 401);
    assert!(refused["error"]["message"].as_str().unwrap().contains("has expired"), "{refused}");
    assert_eq!(alice.get("/keys").await[0]["expired"], true);
    tokio::time::timeout(PATIENCE, async { while events.next().await != Frame::Closed {} })
        .await
        .expect("the socket is closed");
    server.stop().await;
}

#[tokio::test]
async fn the_stream_of_an_mcp_client_ends_with_its_key() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let (removed, kept) = (program(&alice, "ci", "full").await, program(&alice, "other", "full").await);
    let (mut removed, mut kept) = (mcp_stream(&removed).await, mcp_stream(&kept).await);
    assert_eq!(alice.status(Method::DELETE, "/keys/ci").await, 204);
    let end = async { while removed.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(PATIENCE, end).await.expect("the stream ends");
    let goes_on = async { while kept.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_millis(500), goes_on)
        .await
        .expect_err("the other key is still there");
    server.stop().await;
}

/// Opens a session, and the stream of the server's messages in it.
async fn mcp_stream(program: &TestClient) -> reqwest::Response {
    let url = program.base.replace("/api/v1", "/mcp");
    let request = |method| {
        let accept = "application/json, text/event-stream";
        program.http.request(method, &url).bearer_auth(&program.token).header("accept", accept)
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let opened = request(Method::POST).json(&hello).send().await.unwrap();
    assert_eq!(opened.status(), 200);
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = request(Method::POST).header("mcp-session-id", &session).json(&ready).send().await.unwrap();
    assert_eq!(ready.status(), 202);
    let stream = request(Method::GET).header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    stream
}

#[tokio::test]
async fn guessing_keys_is_rate_limited_and_affects_no_other_client() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let guess = TestClient {
        token: format!("sbk_{}", "A".repeat(43)),
        http: alice.http.clone(),
        base: alice.base.clone(),
    };
    eventually(|| async { (guess.status(Method::GET, "/me").await == 429).then_some(()) }).await;
    assert_eq!(alice.status(Method::GET, "/me").await, 200);
    assert_eq!(program(&alice, "ci", "read").await.status(Method::GET, "/me").await, 200);
    server.log_in("alice").await;
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_key_request_is_refused() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for body in [
        json!({}),
        json!({"name": ""}),
        json!({"name": "Ü"}),
        json!({"name": "a", "scope": "root"}),
        json!({"name": "a", "ttl_seconds": 0}),
        json!({"name": "a", "ttl_seconds": 59}),
        json!({"name": "a", "ttl_seconds": -1}),
        json!({"name": "a", "ttl_seconds": 4_294_967_295_u32}),
    ] {
        assert_eq!(alice.send(Method::POST, "/keys", body.clone()).await.0, 400, "{body}");
    }
    program(&alice, "a", "read").await;
    let (status, taken) = alice.send(Method::POST, "/keys", json!({"name": "a"})).await;
    assert_eq!((status, &taken["error"]["kind"]), (409, &json!("conflict")));
    let bob = server.user("bob").await;
    assert_eq!(bob.get("/keys").await, json!([]));
    assert_eq!(bob.status(Method::DELETE, "/keys/a").await, 404);
    server.stop().await;
}
