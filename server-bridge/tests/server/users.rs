//! Accounts, and the permission to manage them.

use reqwest::Method;
use serde_json::json;

use crate::support::{PASSWORD, Page, TestServer, cookie_of, eventually, json};

#[tokio::test]
async fn administrators_create_change_and_remove_accounts() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let new = json!({"name": "bob", "password": PASSWORD});
    let (status, bob) = alice.send(Method::POST, "/users", new.clone()).await;
    assert_eq!((status, &bob["name"], &bob["admin"]), (201, &json!("bob"), &json!(false)));
    assert_eq!(alice.send(Method::POST, "/users", new).await.0, 409);
    for odd in [
        json!({"name": "Bob!", "password": PASSWORD}),
        json!({"name": "carol", "password": "x"}),
        json!({"name": "carol"}),
        json!({"name": "carol", "password": PASSWORD, "admin": "yes"}),
    ] {
        assert_eq!(alice.send(Method::POST, "/users", odd.clone()).await.0, 400, "{odd}");
    }
    let bob = server.log_in("bob").await;
    let (status, changed) = alice.send(Method::PUT, "/users/bob", json!({"admin": true})).await;
    assert_eq!((status, &changed["admin"]), (200, &json!(true)));
    assert_eq!(bob.get("/users").await.as_array().unwrap().len(), 2);
    // A new password ends the sessions of that user.
    assert_eq!(alice.send(Method::PUT, "/users/bob", json!({"password": "another one"})).await.0, 200);
    assert_eq!(bob.status(Method::GET, "/me").await, 401);
    let _runner = alice.connect_runner("laptop").await;
    assert_eq!(alice.status(Method::DELETE, "/users/bob").await, 204);
    assert_eq!(alice.status(Method::DELETE, "/users/bob").await, 404);
    assert_eq!(alice.send(Method::PUT, "/users/bob", json!({"admin": true})).await.0, 404);
    assert_eq!(server.audited("user.remove", "ok").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn one_administrator_always_remains_and_none_demotes_themselves() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    assert_eq!(alice.send(Method::PUT, "/users/alice", json!({"admin": false})).await.0, 409);
    assert_eq!(alice.send(Method::PUT, "/users/alice", json!({"password": "another one"})).await.0, 409);
    assert!(server.store.verify_password("alice", PASSWORD).await.unwrap().is_some());
    assert_eq!(alice.status(Method::DELETE, "/users/alice").await, 409);
    let bob = server.user("bob").await;
    alice.send(Method::PUT, "/users/bob", json!({"admin": true})).await;
    assert_eq!(bob.send(Method::PUT, "/users/alice", json!({"admin": false})).await.0, 200);
    assert_eq!(alice.status(Method::GET, "/users").await, 403, "she is no longer an administrator");
    assert_eq!(
        server.store.change_user("bob", Some(false), None).await.unwrap(),
        None,
        "he is the last administrator"
    );
    assert!(!server.store.remove_user_but_last_admin("bob").await.unwrap());
    assert!(server.store.user_by_name("bob").await.unwrap().unwrap().admin);
    server.stop().await;
}

#[tokio::test]
async fn non_administrators_and_programs_change_no_account() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let account = json!({"name": "carol", "password": PASSWORD, "admin": true});
    assert_eq!(bob.status(Method::GET, "/users").await, 403);
    assert_eq!(bob.send(Method::POST, "/users", account.clone()).await.0, 403);
    assert_eq!(bob.send(Method::PUT, "/users/bob", json!({"admin": true})).await.0, 403);
    assert_eq!(bob.status(Method::DELETE, "/users/alice").await, 403);
    let (_, key) = alice.send(Method::POST, "/keys", json!({"name": "k", "scope": "full"})).await;
    let request = alice.http.post(server.url("/api/v1/users")).bearer_auth(key["key"].as_str().unwrap());
    assert_eq!(request.json(&account).send().await.unwrap().status(), 403);
    assert_eq!(server.store.users().await.unwrap().len(), 2);
    server.stop().await;
}

#[tokio::test]
async fn changing_ones_password_requires_the_old_one_and_ends_other_sessions() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let other = server.log_in("alice").await;
    let wrong = json!({"current": "a wrong one", "new": "battery staple"});
    assert_eq!(alice.send(Method::POST, "/password", wrong).await.0, 403);
    let short = json!({"current": PASSWORD, "new": "x"});
    assert_eq!(alice.send(Method::POST, "/password", short).await.0, 400);
    let page = Page::log_in(&server, "alice").await;
    let change = page.request(Method::POST, "/password");
    let changed = change.json(&json!({"current": PASSWORD, "new": "battery staple"})).send().await.unwrap();
    assert_eq!(changed.status(), 200);
    let cookie = cookie_of(&changed);
    let token = json(changed).await["token"].as_str().unwrap().to_owned();
    assert_eq!(page.status(Method::GET, "/me").await, 401);
    let stays = Page { token, cookie, ..page };
    assert_eq!(stays.status(Method::GET, "/me").await, 200);
    assert_eq!((alice.status(Method::GET, "/me").await, other.status(Method::GET, "/me").await), (401, 401));
    assert!(server.store.verify_password("alice", "battery staple").await.unwrap().is_some());
    server.stop().await;
}

#[tokio::test]
async fn guessing_the_old_password_from_a_session_is_rate_limited() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let limited = eventually(|| async {
        let wrong = json!({"current": "a wrong one", "new": "battery staple"});
        let (status, _) = alice.send(Method::POST, "/password", wrong).await;
        (status == 429).then_some(())
    });
    limited.await;
    server.stop().await;
}
