//! One user can never see or reach another's runner, chat or file.

use reqwest::Method;
use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn another_users_runner_does_not_exist() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let _runner = alice.connect_runner("laptop").await;
    assert_eq!(bob.get("/runners").await, json!([]));
    assert_eq!(bob.status(Method::POST, "/runners/laptop/rotate").await, 404);
    assert_eq!(bob.status(Method::DELETE, "/runners/laptop").await, 404);
    let (status, error) = bob.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    assert_eq!((status, &error["error"]["kind"]), (404, &json!("not_found")));
    let mut exec = bob.socket("/exec").await;
    exec.json(json!({"shell": "echo hi", "on": "laptop"})).await;
    let (stdout, _, last) = exec.output().await;
    assert_eq!(
        (stdout.as_slice(), &last["type"], &last["kind"]),
        (&b""[..], &json!("error"), &json!("no_route"))
    );
    alice.wait_online("laptop", true).await;
    server.stop().await;
}

#[tokio::test]
async fn runners_of_one_name_stay_apart() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let token = alice.add_runner("laptop").await;
    let _alices = crate::support::FakeRunner::connect(&alice.base, &token, "host-of-alice").await.unwrap();
    let token = bob.add_runner("laptop").await;
    let _bobs = crate::support::FakeRunner::connect(&bob.base, &token, "host-of-bob").await.unwrap();
    for (client, host) in [(&alice, "host-of-alice"), (&bob, "host-of-bob")] {
        client.wait_online("laptop", true).await;
        let mut exec = client.socket("/exec").await;
        exec.json(json!({"shell": "echo hi"})).await;
        assert_eq!(exec.output().await.0, format!("hi on {host}\n").into_bytes());
    }
    server.stop().await;
}

#[tokio::test]
async fn another_users_chat_does_not_exist() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (_, chat) = alice.send(Method::POST, "/chats", json!({})).await;
    let chat = format!("/chats/{}", chat["id"].as_str().unwrap());
    assert_eq!(bob.get("/chats").await, json!([]));
    assert_eq!(bob.status(Method::GET, &format!("{chat}/messages")).await, 404);
    assert_eq!(bob.status(Method::POST, &format!("{chat}/cancel")).await, 404);
    assert_eq!(bob.status(Method::DELETE, &chat).await, 404);
    for path in ["/export", "/messages?after=0", "/agents"] {
        assert_eq!(bob.status(Method::GET, &format!("{chat}{path}")).await, 404, "{path}");
    }
    for (method, path, body) in [
        (Method::POST, "/messages", json!({"text": "!pwd"})),
        (Method::POST, "/messages", json!({"text": "/tasks"})),
        (Method::POST, "/undo", json!({})),
        (Method::POST, "/rewind", json!({"turns": 1})),
        (Method::POST, "/fork", json!({})),
        (Method::POST, "/approvals", json!({"message_id": 1, "allow": true})),
        (Method::POST, "/answers", json!({"message_id": 1, "text": "mine"})),
        (Method::PUT, "", json!({"title": "mine"})),
    ] {
        let (status, answer) = bob.send(method, &format!("{chat}{path}"), body).await;
        assert_eq!(status, 404, "{path}: {answer}");
    }
    assert_eq!(alice.get(&format!("{chat}/messages")).await["messages"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn another_users_files_cannot_be_reached() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let _runner = alice.connect_runner("laptop").await;
    let write = alice.request(Method::PUT, "/files?path=secret").body("mine").send().await.unwrap();
    assert_eq!(write.status(), 200);
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let status = bob.status(method.clone(), "/files?path=secret&on=laptop").await;
        assert_eq!(status, 409, "{method}: bob has no runner of that name");
        assert_eq!(
            bob.status(method.clone(), "/files?path=secret").await,
            403,
            "{method}: bob has no runner at all"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn an_event_is_sent_to_its_user_only() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let mut events = bob.socket("/events").await;
    events.until(|event| event["type"] == "hello").await;
    alice.send(Method::POST, "/chats", json!({})).await;
    let _runner = alice.connect_runner("laptop").await;
    bob.send(Method::POST, "/chats", json!({})).await;
    let first = events.until(|_| true).await;
    let own = bob.get("/chats").await[0]["id"].clone();
    assert_eq!((&first["type"], &first["chat"]["id"]), (&json!("chat"), &own));
    server.stop().await;
}
