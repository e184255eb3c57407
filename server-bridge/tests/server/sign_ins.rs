//! Codes that sign a page in without a password.

use reqwest::header::{ORIGIN, SET_COOKIE};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::{Page, TestClient, TestServer, json, program};

async fn code_of(client: &TestClient) -> String {
    let (status, answer) = client.send(Method::POST, "/sign-ins", json!({})).await;
    assert_eq!((status, &answer["expires_in_s"]), (201, &json!(300)), "{answer}");
    answer["code"].as_str().unwrap().to_owned()
}

async fn redeem(server: &TestServer, code: &str) -> Response {
    let request = Client::new().post(server.url("/api/v1/sign-ins/redeem")).header(ORIGIN, server.url(""));
    request.json(&json!({"code": code})).send().await.unwrap()
}

#[tokio::test]
async fn a_code_of_a_logged_in_program_signs_one_page_in() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let code = code_of(&alice).await;
    let first = redeem(&server, &code).await;
    assert_eq!(first.status(), StatusCode::OK);
    assert!(first.headers().contains_key(SET_COOKIE));
    assert_eq!(json(first).await["user"]["name"], "alice");
    let second = redeem(&server, &code).await;
    assert_eq!(second.status(), StatusCode::UNAUTHORIZED);
    assert!(json(second).await["error"]["message"].as_str().unwrap().contains("already used"));
    let trail = format!("{:?}", server.store.audit(100, None).await.unwrap());
    assert!(trail.contains("sign_in.issue") && !trail.contains(&code), "{trail}");
    server.stop().await;
}

#[tokio::test]
async fn keys_pages_and_strangers_get_no_code_and_a_code_ends_with_its_session() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for scope in ["full", "exec", "read"] {
        let key = program(&alice, scope, scope).await;
        assert_eq!(key.send(Method::POST, "/sign-ins", json!({})).await.0, 403, "{scope}");
    }
    let page = Page::log_in(&server, "alice").await;
    assert_eq!(page.send(Method::POST, "/sign-ins", json!({})).await.0, 403);
    let nobody = Client::new().post(server.url("/api/v1/sign-ins")).send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    let code = code_of(&alice).await;
    assert_eq!(alice.send(Method::POST, "/logout", Value::Null).await.0, 204);
    assert_eq!(redeem(&server, &code).await.status(), StatusCode::UNAUTHORIZED);
    server.stop().await;
}

#[tokio::test]
async fn guessing_codes_is_rate_limited() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let code = code_of(&alice).await;
    let mut refused = Vec::new();
    while !refused.contains(&StatusCode::TOO_MANY_REQUESTS) {
        assert!(refused.len() < 1000);
        refused.push(redeem(&server, "guessed").await.status());
    }
    assert_eq!(
        redeem(&server, &code).await.status(),
        StatusCode::OK,
        "wrong guesses do not block the right code"
    );
    server.stop().await;
}
