//! Creating the first account on the page.

use reqwest::header::{ORIGIN, SET_COOKIE};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use server_bridge::config::ServeArgs;

use crate::support::{PASSWORD, TestServer, eventually, json};

async fn make(server: &TestServer, secret: &str, name: &str) -> (StatusCode, Value) {
    let body = json!({"secret": secret, "name": name, "password": PASSWORD});
    let response = Client::new().post(server.url("/api/v1/setup")).json(&body).send().await.unwrap();
    (response.status(), json(response).await)
}

async fn is_due(server: &TestServer) -> bool {
    let status = Client::new().get(server.url("/api/v1/status")).send().await.unwrap();
    json(status).await["setup_due"].as_bool().unwrap()
}

fn secret(server: &TestServer) -> String {
    server.setup_url.as_ref().unwrap().split_once("#setup=").unwrap().1.to_owned()
}

#[tokio::test]
async fn the_printed_secret_creates_the_first_account_once() {
    let server = TestServer::start().await;
    assert!(is_due(&server).await);
    let secret = secret(&server);
    let (status, refused) = make(&server, "guessed", "mallory").await;
    assert_eq!((status, &refused["error"]["kind"]), (StatusCode::FORBIDDEN, &json!("forbidden")));
    let body = json!({"secret": secret, "name": "alice", "password": PASSWORD});
    let request = Client::new().post(server.url("/api/v1/setup")).header(ORIGIN, server.url(""));
    let made = request.json(&body).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    assert!(made.headers()[SET_COOKIE].to_str().unwrap().contains("HttpOnly"));
    assert_eq!(json(made).await["user"], json!({"name": "alice", "admin": true}));
    assert!(!is_due(&server).await);
    assert_eq!(make(&server, &secret, "mallory").await.0, StatusCode::CONFLICT);
    // The secret is still refused after the account was removed.
    server.store.remove_user("alice").await.unwrap();
    assert_eq!(make(&server, &secret, "mallory").await.0, StatusCode::FORBIDDEN);
    let trail = format!("{:?}", server.store.audit(100, None).await.unwrap());
    assert!(trail.contains("setup") && !trail.contains(&secret), "{trail}");
    server.stop().await;
}

#[tokio::test]
async fn two_simultaneous_requests_create_one_account() {
    let server = TestServer::start().await;
    let secret = secret(&server);
    let (one, two) = tokio::join!(make(&server, &secret, "alice"), make(&server, &secret, "bob"));
    let made = [one.0, two.0].iter().filter(|status| **status == StatusCode::CREATED).count();
    assert_eq!((made, server.store.users().await.unwrap().len()), (1, 1));
    server.stop().await;
}

#[tokio::test]
async fn a_server_with_users_has_no_secret_and_odd_requests_change_nothing() {
    let server = TestServer::start().await;
    let secret = secret(&server);
    for (name, password) in [("Bad Name", PASSWORD), ("alice", "x"), ("", PASSWORD)] {
        let body = json!({"secret": secret, "name": name, "password": password});
        let response = Client::new().post(server.url("/api/v1/setup")).json(&body).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{name:?}");
    }
    // In the meantime the first account is created at the command line.
    server.user("alice").await;
    assert!(!is_due(&server).await);
    assert_eq!(make(&server, &secret, "bob").await.0, StatusCode::CONFLICT);
    let (_, home) = server.stop_and_reopen().await;
    let again = TestServer::start_in(home, ServeArgs::default()).await;
    assert_eq!(again.setup_url, None);
    assert_eq!(make(&again, &secret, "bob").await.0, StatusCode::CONFLICT);
    again.stop().await;
}

#[tokio::test]
async fn guessing_the_secret_is_rate_limited() {
    let server = TestServer::start().await;
    let limited = eventually(|| async {
        let status = make(&server, "guessed", "mallory").await.0;
        (status == StatusCode::TOO_MANY_REQUESTS).then_some(())
    });
    limited.await;
    server.stop().await;
}

#[tokio::test]
async fn users_can_read_the_servers_description() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let about = alice.get("/about").await;
    assert_eq!((&about["storage"], &about["users"]), (&json!("sqlite"), &json!(2)));
    assert_eq!((&about["model_configured"], &about["docker"]), (&json!(false), &json!(false)));
    assert!(about["limits"]["message_bytes"].as_u64().unwrap() > 0);
    assert_eq!(about["reach"], "loopback_only");
    assert_eq!(bob.get("/about").await["users"], Value::Null);
    assert_eq!(Client::new().get(server.url("/api/v1/about")).send().await.unwrap().status(), 401);
    server.stop().await;
}
