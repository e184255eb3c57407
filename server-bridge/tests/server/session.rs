//! Logging in and out, and what a request must bring.

use reqwest::header::{COOKIE, HOST, ORIGIN, RETRY_AFTER, SET_COOKIE};
use reqwest::{Client, Method, StatusCode};
use serde_json::json;

use crate::support::{PASSWORD, Socket, TestServer, json};

#[tokio::test]
async fn a_login_gives_a_token_and_a_cookie_kept_from_scripts() {
    let server = TestServer::start().await;
    server.user("alice").await;
    let body = json!({"user": "alice", "password": PASSWORD});
    let response = Client::new().post(server.url("/api/v1/login")).json(&body).send().await.unwrap();
    let cookie = response.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("sandbridge_session=sbs_"), "{cookie}");
    assert!(cookie.contains("; HttpOnly; SameSite=Lax") && !cookie.contains("Secure"), "{cookie}");
    let body = json(response).await;
    assert_eq!(body["user"], json!({"name": "alice", "admin": true}));
    assert_eq!(server.audited("login", "ok").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn the_cookie_is_enough_to_read_and_needs_an_origin_to_change() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let cookie = format!("sandbridge_session={}", alice.token);
    let host = server.address.to_string();
    let me = alice.http.get(server.url("/api/v1/me")).header(COOKIE, &cookie).send().await.unwrap();
    assert_eq!(json(me).await["name"], "alice");
    let create = |origin: Option<String>| {
        let request = alice.http.post(server.url("/api/v1/chats")).header(COOKIE, &cookie);
        match origin {
            Some(origin) => request.header(ORIGIN, origin),
            None => request,
        }
        .send()
    };
    assert_eq!(create(None).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(create(Some("http://evil.example".to_owned())).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(create(Some("null".to_owned())).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(create(Some(format!("http://{host}"))).await.unwrap().status(), StatusCode::CREATED);
    server.stop().await;
}

#[tokio::test]
async fn a_websocket_with_the_cookie_needs_our_origin() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let cookie = format!("sandbridge_session={}", alice.token);
    let url = server.url("/api/v1/events").replacen("http", "ws", 1);
    let ours = format!("http://{}", server.address);
    let connect = async |headers: &[(&str, &str)]| Socket::connect(&url, headers).await.map(|_| ()).err();
    assert_eq!(connect(&[]).await, Some(401));
    assert_eq!(connect(&[("cookie", &cookie)]).await, Some(403));
    assert_eq!(connect(&[("cookie", &cookie), ("origin", "https://evil.example")]).await, Some(403));
    assert_eq!(connect(&[("cookie", &cookie), ("origin", &ours)]).await, None);
    server.stop().await;
}

#[tokio::test]
async fn a_token_from_another_page_is_refused_even_with_a_bearer() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let request = alice.request(Method::POST, "/chats").header(ORIGIN, "http://evil.example");
    assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    server.stop().await;
}

#[tokio::test]
async fn a_foreign_host_name_is_refused_and_the_way_to_allow_it_named() {
    let server = TestServer::start().await;
    let ask = |host: &'static str, path: &str| Client::new().get(server.url(path)).header(HOST, host).send();
    let refused = ask("evil.example", "/api/v1/me").await.unwrap();
    assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST);
    let error = json(refused).await;
    assert!(error["error"]["message"].as_str().unwrap().contains("--allow-host evil.example"), "{error}");
    assert_eq!(ask("localhost:1", "/api/v1/me").await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(ask("10.1.2.3", "/healthz").await.unwrap().text().await.unwrap(), "ok");
    server.stop().await;
}

#[tokio::test]
async fn a_logout_ends_the_session() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    assert_eq!(alice.status(Method::POST, "/logout").await, 204);
    assert_eq!(alice.status(Method::GET, "/me").await, 401);
    server.stop().await;
}

#[tokio::test]
async fn guessing_a_password_is_slowed_down_for_that_name() {
    let server = TestServer::start().await;
    server.user("alice").await;
    server.user("bob").await;
    let log_in = |user: &str, password: &str| {
        let body = json!({"user": user, "password": password});
        Client::new().post(server.url("/api/v1/login")).json(&body).send()
    };
    for _ in 0..10 {
        assert_eq!(log_in("alice", "wrong").await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
    let limited = log_in("alice", PASSWORD).await.unwrap();
    assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(limited.headers()[RETRY_AFTER].to_str().unwrap().parse::<u64>().unwrap() <= 7);
    assert_eq!(json(limited).await["error"]["kind"], "rate_limited");
    assert_eq!(log_in("bob", PASSWORD).await.unwrap().status(), StatusCode::OK);
    assert_eq!(server.audited("login", "unauthorized").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn logging_in_often_is_no_guessing() {
    let server = TestServer::start().await;
    server.user("alice").await;
    for _ in 0..12 {
        server.log_in("alice").await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_malformed_request_is_answered_by_the_contract() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for (method, path, status, kind) in [
        (Method::POST, "/runners", 400, "invalid"),
        (Method::GET, "/nothing", 404, "not_found"),
        (Method::DELETE, "/me", 405, "method_not_allowed"),
        (Method::GET, "/chats/xyz/messages", 404, "not_found"),
        (Method::GET, "/files", 400, "invalid"),
        (Method::GET, "/exec", 400, "invalid"),
    ] {
        let response = alice.request(method, path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(json(response).await["error"]["kind"], kind, "{path}");
    }
    server.stop().await;
}
