//! The WebSocket for events.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Frame, PATIENCE, Socket, TestServer};

#[tokio::test]
async fn events_are_numbered_from_the_greeting_on() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    let hello = events.until(|_| true).await;
    assert_eq!(
        (&hello["type"], &hello["seq"], &hello["user"], &hello["resumed"]),
        (&json!("hello"), &json!(0), &json!("alice"), &json!(false))
    );
    alice.add_runner("laptop").await;
    let added = events.until(|_| true).await;
    assert_eq!((&added["seq"], &added["runner"]["name"]), (&json!(1), &json!("laptop")));
    alice.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    let changed = events.until(|_| true).await;
    assert_eq!(changed, json!({"type": "settings", "seq": 2, "active_runner": "laptop"}));
    server.stop().await;
}

#[tokio::test]
async fn an_event_reports_each_runner_that_connects_or_disconnects() {
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
async fn an_event_reports_a_new_token_to_open_pages() {
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
async fn all_windows_of_a_user_get_events() {
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

#[tokio::test]
async fn a_client_that_reconnects_gets_what_it_missed_and_nothing_twice() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    let hello = events.until(|event| event["type"] == "hello").await;
    let epoch = hello["epoch"].as_str().unwrap().to_owned();
    alice.add_runner("one").await;
    let seen = events.until(|event| event["type"] == "runner").await["seq"].clone();
    drop(events);
    alice.add_runner("two").await;
    alice.add_runner("three").await;
    let mut events = alice.socket(&format!("/events?after={seen}&epoch={epoch}")).await;
    let hello = events.until(|_| true).await;
    assert_eq!((&hello["resumed"], &hello["seq"]), (&json!(true), &seen));
    let (two, three) = (events.until(|_| true).await, events.until(|_| true).await);
    assert_eq!((&two["seq"], &two["runner"]["name"]), (&json!(2), &json!("two")));
    assert_eq!((&three["seq"], &three["runner"]["name"]), (&json!(3), &json!("three")));
    // Another WebSocket of the same user gets the same event numbers.
    let mut other = alice.socket("/events").await;
    assert_eq!(other.until(|_| true).await["seq"], 3);
    server.stop().await;
}

#[tokio::test]
async fn a_client_from_before_a_restart_is_asked_to_reload() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let mut events = alice.socket("/events").await;
    let epoch = events.until(|_| true).await["epoch"].as_str().unwrap().to_owned();
    for place in ["after=0&epoch=0123456789abcdef".to_owned(), format!("after=7&epoch={epoch}")] {
        let mut events = alice.socket(&format!("/events?{place}")).await;
        assert_eq!(events.until(|_| true).await["resumed"], false);
        assert_eq!(events.until(|_| true).await, json!({"seq": 0, "type": "reset"}));
    }
    // One user's events do not affect another user's event numbers.
    alice.add_runner("laptop").await;
    let mut bobs = bob.socket(&format!("/events?after=0&epoch={epoch}")).await;
    assert_eq!(bobs.until(|_| true).await["user"], "bob");
    bob.add_runner("desk").await;
    assert_eq!(bobs.until(|_| true).await["runner"]["name"], "desk");
    for place in ["after=1", "epoch=x", "after=-1&epoch=x", "after=x&epoch=x"] {
        assert_eq!(alice.status(Method::GET, &format!("/events?{place}")).await, 400, "{place}");
    }
    server.stop().await;
}

#[tokio::test]
async fn pings_are_answered_until_the_client_stops_reading() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let url = format!("{}/events", alice.base).replacen("http", "ws", 1);
    let mut events = Socket::connect_narrow(&url, &alice.token).await;
    events.until(|event| event["type"] == "hello").await;
    let socket = &mut events.0;
    for number in 0..100 {
        socket.send(Message::Ping(Bytes::from(vec![number]))).await.unwrap();
        let answer = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
        assert_eq!(answer, Message::Pong(Bytes::from(vec![number])));
    }
    // Sends enough pings to fill the system's buffers with the pongs.
    let mut sent = 0;
    while sent < 200_000 && socket.feed(Message::Ping(Bytes::from_static(&[7; 125]))).await.is_ok() {
        sent += 1;
    }
    let _ = socket.flush().await;
    let mut answers = 0;
    while let Some(Ok(message)) =
        timeout(PATIENCE, socket.next()).await.expect("the server closes the connection")
    {
        answers += usize::from(message.is_pong());
    }
    assert!(answers < sent, "{answers} of {sent}");
    server.stop().await;
}
