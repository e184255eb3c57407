//! One-use tokens at the runners' WebSocket.

use proto::handshake::{Handshake, Refusal, RefusalReason};
use serde_json::json;
use store::limits::ENROLMENT_TTL_MS;
use store::{Clock, RunnerName};

use crate::support::{FakeRunner, Socket, TestClient, TestServer, handshake, handshake_text};

async fn add(alice: &TestClient) -> String {
    let (status, added) =
        alice.send(reqwest::Method::POST, "/runners", json!({"name": "laptop", "enrol": true})).await;
    assert_eq!(status, 201, "{added}");
    let token = added["token"].as_str().unwrap();
    assert!(token.starts_with("sbe_") && added["command"].as_str().unwrap().contains(token), "{added}");
    token.to_owned()
}

/// Registers with this text and disconnects before it is ready; returns the token that it received.
async fn enrol(server: &TestServer, text: &str) -> Result<String, Refusal> {
    let mut socket = Socket::connect(&server.url("/runner").replacen("http", "ws", 1), &[]).await.unwrap();
    socket.text(text).await;
    match handshake(&mut socket).await {
        Some(Handshake::RegisterOk { body }) => Ok(body.sandbridge.unwrap().token.unwrap()),
        Some(Handshake::Error { body }) => Err(body),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_one_use_token_is_exchanged_once_and_then_invalid() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = add(&alice).await;
    let text = handshake_text(&token, "laptop");
    let lost = enrol(&server, &text).await.unwrap();
    // The link broke before the runner had the token: only the same runner process may request it again.
    let permanent = enrol(&server, &text).await.unwrap();
    let thief = enrol(&server, &handshake_text(&token, "thief")).await.unwrap_err();
    assert_eq!(thief.reason, RefusalReason::TokenUnknown);
    assert!(thief.message.contains("this enrolment token was already used"), "{}", thief.message);
    assert_eq!(server.audited("runner.enrol", "ok").await.location.as_deref(), Some("laptop"));
    assert_eq!(server.audited("runner.enrol", "used").await.target, "thief");
    let _runner = FakeRunner::connect(&alice.base, &permanent, "laptop").await.unwrap();
    alice.wait_online("laptop", true).await;
    assert_eq!(enrol(&server, &text).await.unwrap_err().reason, RefusalReason::TokenUnknown);
    let refused = FakeRunner::connect(&alice.base, &lost, "laptop").await.err().unwrap();
    assert_eq!(refused.reason, RefusalReason::TokenUnknown);
    assert!(!format!("{:?}", server.store.audit(100, None).await.unwrap()).contains(&permanent));
    server.stop().await;
}

#[tokio::test]
async fn of_two_runners_that_race_one_gets_in() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = add(&alice).await;
    let texts = [handshake_text(&token, "one"), handshake_text(&token, "two")];
    let (one, two) = tokio::join!(enrol(&server, &texts[0]), enrol(&server, &texts[1]));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_one_use_token_that_nobody_used_in_time_has_expired() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let earlier_ms = server.store.now_ms() - ENROLMENT_TTL_MS;
    let earlier = server.store.clone().with_clock(Clock::from_fn(move || earlier_ms));
    let user = earlier.user_by_name("alice").await.unwrap().unwrap();
    let name = RunnerName::parse("laptop").unwrap();
    let token = earlier.add_runner_to_enrol(user.id, &name, ENROLMENT_TTL_MS).await.unwrap().token;
    let refusal = enrol(&server, &handshake_text(token.expose(), "laptop")).await.unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::TokenExpired);
    server.audited("runner.enrol", "expired").await;
    // The owner can still rotate the runner's token.
    let (status, rotated) = alice.send(reqwest::Method::POST, "/runners/laptop/rotate", json!({})).await;
    assert_eq!(status, 200);
    FakeRunner::connect(&alice.base, rotated["token"].as_str().unwrap(), "laptop").await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_could_not_keep_a_token_does_not_use_one_up() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = add(&alice).await;
    let old = handshake_text(&token, "old").replace("\"enrolment\"", "");
    let refusal = enrol(&server, &old).await.unwrap_err();
    assert!(refusal.message.contains("does not support one-use tokens"), "{}", refusal.message);
    enrol(&server, &handshake_text(&token, "new")).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_lifetime_is_refused() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for body in [
        json!({"name": "laptop", "enrol": true, "ttl_seconds": 0}),
        json!({"name": "laptop", "enrol": true, "ttl_seconds": 604_801}),
        json!({"name": "laptop", "enrol": true, "ttl_seconds": -1}),
        json!({"name": "laptop", "ttl_seconds": 60}),
        json!({"name": "laptop", "enrol": "yes"}),
    ] {
        let (status, error) = alice.send(reqwest::Method::POST, "/runners", body).await;
        assert_eq!(status, 400, "{error}");
    }
    assert_eq!(alice.get("/runners").await, json!([]));
    server.stop().await;
}
