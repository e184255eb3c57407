//! A page must confirm the password before it creates something that outlives its session.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::config::database;
use store::{Clock, Store};

use crate::support::{PASSWORD, Page, TestServer, eventually};

/// Returns all requests that need the password again: those for a key, for users, and for tokens of runners. The runner `laptop` and the user `bob`
/// exist.
fn makings() -> [(Method, &'static str, Value); 6] {
    [
        (Method::POST, "/keys", json!({"name": "k"})),
        (Method::POST, "/users", json!({"name": "carol", "password": PASSWORD})),
        (Method::PUT, "/users/bob", json!({"admin": true})),
        (Method::PUT, "/users/bob", json!({"password": "battery staple"})),
        (Method::POST, "/runners", json!({"name": "work", "enrol": true})),
        (Method::POST, "/runners/laptop/rotate", json!({})),
    ]
}

/// A page whose user gave their password long ago.
async fn stale_page(server: &TestServer, name: &str) -> Page {
    let page = Page::new(server, name, true).await;
    let laptop = store::RunnerName::parse("laptop").unwrap();
    let user = server.store.user_by_name(name).await.unwrap().unwrap().id;
    server.store.add_runner(user, &laptop).await.unwrap();
    age(server, &page.token, Duration::from_secs(10 * 60 + 1)).await;
    page
}

/// Moves the time at which the user of a session gave their password into the past.
async fn age(server: &TestServer, token: &str, by: Duration) {
    let then_ms = server.store.now_ms() - i64::try_from(by.as_millis()).unwrap();
    let store = Store::open(&database(server.home())).await.unwrap();
    let store = store.with_clock(Clock::from_fn(move || then_ms));
    store.confirm_session(token).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_page_is_asked_for_the_password_before_it_grants_lasting_access() {
    let server = TestServer::start().await;
    server.user("bob").await;
    let page = stale_page(&server, "alice").await;
    for (method, path, body) in makings() {
        let (status, refused) = page.send(method.clone(), path, body).await;
        assert_eq!(
            (status, &refused["error"]["kind"]),
            (403, &json!("password_required")),
            "{method} {path}"
        );
    }
    let users: Vec<String> = server.store.users().await.unwrap().into_iter().map(|user| user.name).collect();
    assert_eq!(users, ["alice", "bob"]);
    // The same applies to updating a runner's program.
    let update = || page.send(Method::POST, "/runners/laptop/update", json!({}));
    assert_eq!(update().await.1["error"]["kind"], "password_required");
    // A page's other requests still need no password.
    assert_eq!(page.status(Method::GET, "/keys").await, 200);
    assert_eq!(page.send(Method::POST, "/chats", json!({})).await.0, 201);
    assert_eq!(page.send(Method::POST, "/confirm", json!({"password": PASSWORD})).await.0, 204);
    assert_eq!(update().await.1["error"]["kind"], "not_found", "the server has no program to hand out");
    for (method, path, body) in makings() {
        let (status, done) = page.send(method.clone(), path, body).await;
        assert!(status < 300, "{method} {path}: {done}");
    }
    assert_eq!(server.audited("session.confirm", "ok").await.user.as_deref(), Some("alice"));
    // The confirmation is valid for that session only, and for a limited time.
    age(&server, &page.token, Duration::from_secs(10 * 60)).await;
    assert_eq!(page.send(Method::POST, "/keys", json!({"name": "late"})).await.0, 403);
    server.stop().await;
}

#[tokio::test]
async fn after_a_login_that_page_is_not_asked_and_an_older_one_is() {
    let server = TestServer::start().await;
    server.user("bob").await;
    let old = stale_page(&server, "alice").await;
    let fresh = Page::log_in(&server, "alice").await;
    for (method, path, body) in makings() {
        let (status, done) = fresh.send(method.clone(), path, body).await;
        assert!(status < 300, "{method} {path}: {done}");
    }
    assert_eq!(old.send(Method::POST, "/keys", json!({"name": "other"})).await.0, 403);
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_password_confirms_nothing_and_is_audited_and_rate_limited() {
    let server = TestServer::start().await;
    server.user("bob").await;
    let page = stale_page(&server, "alice").await;
    let (status, refused) = page.send(Method::POST, "/confirm", json!({"password": "a wrong one"})).await;
    assert_eq!((status, &refused["error"]["kind"]), (403, &json!("forbidden")));
    assert_eq!(page.send(Method::POST, "/keys", json!({"name": "k"})).await.0, 403);
    assert_eq!(server.audited("session.confirm", "forbidden").await.user.as_deref(), Some("alice"));
    let limited = eventually(|| async {
        let (status, _) = page.send(Method::POST, "/confirm", json!({"password": "a wrong one"})).await;
        (status == 429).then_some(())
    });
    limited.await;
    assert_eq!(page.send(Method::POST, "/keys", json!({"name": "k"})).await.0, 403);
    for odd in [json!({}), json!({"password": 1}), json!("x")] {
        assert_eq!(page.send(Method::POST, "/confirm", odd).await.0, 400);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_logged_in_program_is_not_asked_for_the_password_again() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    age(&server, &alice.token, Duration::from_secs(24 * 3600)).await;
    assert_eq!(alice.send(Method::POST, "/keys", json!({"name": "k"})).await.0, 201);
    assert_eq!(alice.send(Method::POST, "/runners", json!({"name": "work"})).await.0, 201);
    let (_, key) = alice.send(Method::POST, "/keys", json!({"name": "full", "scope": "full"})).await;
    let request = alice.http.post(server.url("/api/v1/confirm")).bearer_auth(key["key"].as_str().unwrap());
    assert_eq!(request.json(&json!({"password": PASSWORD})).send().await.unwrap().status(), 403);
    server.stop().await;
}
