//! Searching chats, and a chat's other data: its title, approval mode and usage.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{TestClient, TestServer};

async fn chat(client: &TestClient, title: &str, text: &str) -> String {
    let (_, chat) = client.send(Method::POST, "/chats", json!({})).await;
    let id = chat["id"].as_str().unwrap().to_owned();
    client.send(Method::POST, &format!("/chats/{id}/messages"), json!({"text": text})).await;
    client.send(Method::PUT, &format!("/chats/{id}"), json!({"title": title})).await;
    id
}

fn titles(page: &Value) -> Vec<&str> {
    page.as_array().unwrap().iter().map(|chat| chat["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn chats_are_found_by_their_words_and_listed_page_by_page() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    for (title, text) in [("one", "the needle is here"), ("needle two", "nothing"), ("three", "nothing")] {
        chat(&alice, title, text).await;
    }
    chat(&bob, "needle", "needle").await;
    let found = alice.get("/chats?query=NEEDLE").await;
    assert_eq!(titles(&found), ["needle two", "one"]);
    assert!(found[0].get("found").is_none());
    assert_eq!(found[1]["found"]["excerpt"], "the needle is here");
    assert!(found[1]["found"]["message_id"].is_i64());
    let first = alice.get("/chats?limit=2").await;
    assert_eq!(titles(&first), ["three", "needle two"]);
    let last = first[1]["id"].as_str().unwrap();
    assert_eq!(titles(&alice.get(&format!("/chats?limit=2&before={last}")).await), ["one"]);
    assert_eq!(bob.status(Method::GET, &format!("/chats?before={last}")).await, 404);
    assert_eq!(alice.status(Method::GET, "/chats?limit=x").await, 400);
    assert_eq!(alice.status(Method::GET, "/chats?query=a+b+c+d+e+f+g+h+i").await, 400);
    server.stop().await;
}

#[tokio::test]
async fn a_chats_detail_has_its_title_approval_mode_and_usage() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let id = chat(&alice, "one", "hello").await;
    let path = format!("/chats/{id}");
    alice.send(Method::PUT, &format!("{path}/approval"), json!({"mode": "plan"})).await;
    let detail = alice.get(&path).await;
    assert_eq!((&detail["title"], &detail["approval"]), (&json!("one"), &json!("plan")));
    assert_eq!((&detail["context"], &detail["busy"]), (&Value::Null, &json!(false)));
    assert_eq!((&detail["usage"]["calls"], &detail["parent_id"]), (&json!(0), &Value::Null));
    assert_eq!(bob.status(Method::GET, &path).await, 404);
    server.stop().await;
}
