//! The events socket.

use reqwest::Method;
use serde_json::json;

use crate::support::{Frame, TestServer};

#[tokio::test]
async fn events_are_numbered_from_the_greeting_on() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    assert_eq!(events.until(|_| true).await, json!({"type": "hello", "seq": 1, "user": "alice"}));
    alice.add_runner("laptop").await;
    let added = events.until(|_| true).await;
    assert_eq!((&added["seq"], &added["runner"]["name"]), (&json!(2), &json!("laptop")));
    alice.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    let changed = events.until(|_| true).await;
    assert_eq!(changed, json!({"type": "settings", "seq": 3, "active_runner": "laptop"}));
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_comes_and_goes_is_told() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    let runner = alice.connect_runner("laptop").await;
    let online = |is: bool| move |event: &serde_json::Value| event["runner"]["online"] == is;
    assert_eq!(events.until(online(true)).await["runner"]["hostname"], "laptop");
    runner.vanish();
    events.until(online(false)).await;
    alice.status(Method::DELETE, "/runners/laptop").await;
    assert_eq!(events.until(|event| event["type"] == "runner_removed").await["name"], "laptop");
    server.stop().await;
}

#[tokio::test]
async fn a_new_token_is_told_to_open_pages() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    alice.add_runner("laptop").await;
    let mut events = alice.socket("/events").await;
    events.until(|event| event["type"] == "hello").await;
    assert_eq!(alice.status(Method::POST, "/runners/laptop/rotate").await, 200);
    assert_eq!(events.until(|event| event["type"] == "runner").await["runner"]["name"], "laptop");
    server.stop().await;
}

#[tokio::test]
async fn the_end_of_a_session_closes_its_events() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let other_session = server.log_in("alice").await;
    let (mut closed, mut open) = (alice.socket("/events").await, other_session.socket("/events").await);
    assert_eq!(alice.status(Method::POST, "/logout").await, 204);
    while closed.next().await != Frame::Closed {}
    other_session.add_runner("laptop").await;
    open.until(|event| event["type"] == "runner").await;
    server.stop().await;
}

#[tokio::test]
async fn all_windows_of_a_user_are_told() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut windows = [alice.socket("/events").await, alice.socket("/events").await];
    for window in &mut windows {
        window.until(|event| event["type"] == "hello").await;
    }
    alice.send(Method::POST, "/chats", json!({})).await;
    for window in &mut windows {
        window.until(|event| event["type"] == "chat").await;
    }
    server.stop().await;
}
