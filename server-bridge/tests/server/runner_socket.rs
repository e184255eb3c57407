//! The WebSocket for runners: the runners that it accepts, and attacks by strangers.

use std::time::{Duration, Instant};

use proto::handshake::RefusalReason;
use proto::session::CloseCode;
use reqwest::Method;
use serde_json::json;
use store::Clock;

use crate::support::{FakeRunner, Frame, Socket, TestServer, handshake_text, refusal_of};

async fn knock(server: &TestServer) -> Socket {
    Socket::connect(&server.url("/runner").replacen("http", "ws", 1), &[]).await.unwrap()
}

async fn refusal(server: &TestServer, token: &str) -> RefusalReason {
    let mut socket = knock(server).await;
    socket.text(&handshake_text(token, "host")).await;
    let refusal = refusal_of(&mut socket).await;
    assert!(!refusal.message.contains(token) || token.is_empty(), "a refusal does not repeat the token");
    assert_eq!(socket.next().await, Frame::Closed);
    refusal.reason
}

#[tokio::test]
async fn a_registered_runner_is_online_with_its_facts() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let runner = alice.connect_runner("laptop").await;
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!((&shown["hostname"], &shown["profile"]), (&json!("laptop"), &json!("workspace")));
    assert_eq!(
        shown["layers"],
        json!([{"name": "landlock", "holds": true, "by_choice": false, "detail": "ABI 7"}])
    );
    assert!(shown["last_seen"].is_i64());
    let entry = server.audited("runner.register", "ok").await;
    assert_eq!((entry.user.as_deref(), entry.location.as_deref()), (Some("alice"), Some("laptop")));
    runner.vanish();
    let shown = alice.wait_online("laptop", false).await;
    assert_eq!(shown["hostname"], "laptop", "the facts of the last registration stay");
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_token_is_refused_as_unknown() {
    let server = TestServer::start().await;
    for token in ["", "x", "sbr_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(refusal(&server, token).await, RefusalReason::TokenUnknown);
    }
    server.audited("runner.register", "token_unknown").await;
    server.stop().await;
}

#[tokio::test]
async fn a_revoked_token_is_refused_as_revoked() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    assert_eq!(alice.status(Method::DELETE, "/runners/laptop").await, 204);
    assert_eq!(refusal(&server, &token).await, RefusalReason::TokenRevoked);
    server.stop().await;
}

#[tokio::test]
async fn a_token_whose_overlap_is_over_is_refused_as_expired() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let old = alice.add_runner("laptop").await;
    // Another process rotates the token, dated two days ago, in the same store.
    let two_days_ago_ms = server.store.now_ms() - 2 * 24 * 60 * 60 * 1000;
    let earlier = server.store.clone().with_clock(Clock::from_fn(move || two_days_ago_ms));
    let user = earlier.user_by_name("alice").await.unwrap().unwrap();
    let new = earlier.rotate_token(user.id, "laptop").await.unwrap();
    assert_eq!(refusal(&server, &old).await, RefusalReason::TokenExpired);
    FakeRunner::connect(&alice.base, new.token.expose(), "host").await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn revoking_closes_the_live_socket() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let runner = alice.connect_runner("laptop").await;
    assert_eq!(alice.status(Method::DELETE, "/runners/laptop").await, 204);
    assert_eq!(runner.closed().await, Some(CloseCode::Revoked));
    assert_eq!(alice.get("/runners").await, json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_runner_revoked_by_another_process_is_disconnected() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let runner = alice.connect_runner("laptop").await;
    server.store.remove_user("alice").await.unwrap();
    assert_eq!(runner.closed().await, Some(CloseCode::Revoked));
    server.stop().await;
}

#[tokio::test]
async fn rotating_keeps_the_link_and_both_tokens_work() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    let _runner = FakeRunner::connect(&alice.base, &token, "one").await.unwrap();
    alice.wait_online("laptop", true).await;
    let (status, rotated) = alice.send(Method::POST, "/runners/laptop/rotate", json!({})).await;
    assert_eq!(status, 200);
    assert!(rotated["old_token_expires_at"].as_i64().unwrap() > server.store.now_ms());
    alice.wait_online("laptop", true).await;
    for token in [token.as_str(), rotated["token"].as_str().unwrap()] {
        FakeRunner::connect(&alice.base, token, "two").await.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn a_second_runner_takes_over_and_its_user_is_notified() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    events.until(|event| event["type"] == "hello").await;
    let token = alice.add_runner("laptop").await;
    let first = FakeRunner::connect(&alice.base, &token, "host-one").await.unwrap();
    alice.wait_online("laptop", true).await;
    let _second = FakeRunner::connect(&alice.base, &token, "host-two").await.unwrap();
    assert_eq!(first.closed().await, Some(CloseCode::Replaced));
    let notice = events.until(|event| event["type"] == "notice").await;
    let text = notice["text"].as_str().unwrap();
    assert!(text.contains("host-one") && text.contains("host-two"), "{text}");
    assert_eq!(server.audited("runner.taken_over", "ok").await.target, "host-one -> host-two");
    server.stop().await;
}

#[tokio::test]
async fn texts_from_a_runner_cannot_control_a_terminal() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    let _runner = FakeRunner::connect(&alice.base, &token, "\x1b]0;owned\x07box").await.unwrap();
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!(shown["hostname"], "\u{fffd}]0;owned\u{fffd}box");
    assert!(server.audited("runner.register", "ok").await.target.starts_with("\u{fffd}]0;"));
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_handshake_closes_the_socket() {
    let server = TestServer::start().await;
    for text in ["", "{}", "hello", r#"{"type":"exec","body":{}}"#] {
        let mut socket = knock(&server).await;
        socket.text(text).await;
        while socket.next().await != Frame::Closed {}
    }
    server.stop().await;
}

#[tokio::test]
async fn an_oversized_handshake_is_closed_before_it_is_buffered() {
    let server = TestServer::start().await;
    let mut socket = knock(&server).await;
    let before = Instant::now();
    // The server stops reading after 64 KiB, so the sending itself may fail.
    let _ = futures_util::SinkExt::send(&mut socket.0, vec![b' '; 900 * 1024].into()).await;
    while socket.next().await != Frame::Closed {}
    assert!(before.elapsed() < Duration::from_secs(5), "closed before the time limit");
    server.stop().await;
}

#[tokio::test]
async fn a_silent_socket_is_closed_in_time() {
    let server = TestServer::start().await;
    let before = Instant::now();
    let mut socket = knock(&server).await;
    while socket.next().await != Frame::Closed {}
    assert!(before.elapsed() < Duration::from_secs(14), "{:?}", before.elapsed());
    server.stop().await;
}

#[tokio::test]
async fn repeated_attempts_by_strangers_are_rate_limited() {
    let server = TestServer::start().await;
    let mut reasons = Vec::new();
    for _ in 0..65 {
        reasons.push(refusal(&server, "sbr_wrong").await);
    }
    assert_eq!(reasons.first(), Some(&RefusalReason::TokenUnknown));
    assert_eq!(reasons.last(), Some(&RefusalReason::RateLimited));
    server.stop().await;
}

#[tokio::test]
async fn the_path_for_xbot_runners_accepts_handshakes_too() {
    let server = TestServer::start().await;
    let mut socket = Socket::connect(&server.url("/ws/alice").replacen("http", "ws", 1), &[]).await.unwrap();
    socket.text(&handshake_text("x", "host")).await;
    assert_eq!(refusal_of(&mut socket).await.reason, RefusalReason::TokenUnknown);
    server.stop().await;
}
