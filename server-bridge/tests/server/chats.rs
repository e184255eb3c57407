//! Chats over HTTP, with their output as events.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{TestClient, TestServer};

async fn new_chat(client: &TestClient) -> String {
    let (status, chat) = client.send(Method::POST, "/chats", json!({})).await;
    assert_eq!(status, 201);
    format!("/chats/{}", chat["id"].as_str().unwrap())
}

async fn say(client: &TestClient, chat: &str, text: &str) -> Value {
    let (status, posted) =
        client.send(Method::POST, &format!("{chat}/messages"), json!({"text": text})).await;
    assert_eq!(status, 202, "{posted}");
    posted
}

#[tokio::test]
async fn a_command_in_a_chat_shows_where_and_how_it_ended() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut events = alice.socket("/events").await;
    events.until(|event| event["type"] == "hello").await;
    let chat = new_chat(&alice).await;
    let posted = say(&alice, &chat, "!echo hi").await;
    assert_eq!(posted["messages"][0]["role"], "user");
    let ended = |event: &Value| event["message"]["exec"]["status"] == "exited";
    let message = events.until(ended).await["message"].clone();
    assert_eq!((&message["exec"]["runner"], &message["exec"]["exit_code"]), (&json!("laptop"), &json!(0)));
    assert_eq!(message["text"], "hi on laptop\n");
    let page = alice.get(&format!("{chat}/messages")).await;
    assert_eq!(
        page["messages"].as_array().unwrap().last(),
        Some(&message),
        "the stored message equals the one in the event"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_chat_is_bound_without_a_message_and_only_to_ones_own_runner() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let _runner = alice.connect_runner("laptop").await;
    let chat = new_chat(&alice).await;
    let path = format!("{chat}/runner");
    let (status, bound) = alice.send(Method::PUT, &path, json!({"runner": "laptop"})).await;
    assert_eq!((status, &bound["chat"]["runner"], &bound["warning"]), (200, &json!("laptop"), &Value::Null));
    let (status, error) = alice.send(Method::PUT, &path, json!({"runner": "elsewhere"})).await;
    assert_eq!((status, &error["error"]["kind"]), (404, &json!("not_found")), "{error}");
    let (status, _) = bob.send(Method::PUT, &path, json!({"runner": null})).await;
    assert_eq!(status, 404);
    assert_eq!(alice.get(&chat).await["runner"], "laptop");
    let (_, bound) = alice.send(Method::PUT, &path, json!({"runner": "__docker__"})).await;
    assert!(bound["warning"].is_string(), "{bound}");
    let (_, bound) = alice.send(Method::PUT, &path, json!({"runner": null})).await;
    assert_eq!(bound["chat"]["runner"], Value::Null);
    assert_eq!(alice.get(&format!("{chat}/messages")).await["messages"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_running_command_is_cancelled() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut events = alice.socket("/events").await;
    let chat = new_chat(&alice).await;
    say(&alice, &chat, "!hang").await;
    events.until(|event| event["message"]["exec"]["status"] == "running").await;
    let (_, cancelled) = alice.send(Method::POST, &format!("{chat}/cancel"), json!({})).await;
    assert_eq!(cancelled, json!({"cancelled": 1}));
    events.until(|event| event["message"]["exec"]["status"] == "cancelled").await;
    server.stop().await;
}

#[tokio::test]
async fn a_command_whose_poster_disconnected_runs_to_its_end() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut events = alice.socket("/events").await;
    events.until(|event| event["type"] == "hello").await;
    let chat = new_chat(&alice).await;
    let body = json!({"text": "!echo hi"}).to_string();
    for _ in 0..20 {
        let mut connection = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "POST /api/v1{chat}/messages HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            server.address,
            alice.token,
            body.len()
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        drop(connection);
        let ended = |event: &Value| event["message"]["exec"]["status"] == "exited";
        assert_eq!(events.until(ended).await["message"]["text"], "hi on laptop\n");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_new_command_answers_with_the_chat_to_switch_to() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let chat = new_chat(&alice).await;
    let posted = say(&alice, &chat, "/new").await;
    assert!(posted["chat"]["id"].is_string(), "{posted}");
    assert_eq!(alice.get("/chats").await.as_array().unwrap().len(), 2);
    server.stop().await;
}

#[tokio::test]
async fn messages_come_in_pages_oldest_first() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let chat = new_chat(&alice).await;
    for text in ["/help", "/help", "/help"] {
        say(&alice, &chat, text).await;
    }
    let last = alice.get(&format!("{chat}/messages?limit=2")).await;
    let ids: Vec<_> =
        last["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect();
    assert!(ids.len() == 2 && ids[0] < ids[1] && last["more"] == true, "{last}");
    let before = alice.get(&format!("{chat}/messages?before={}", ids[0])).await;
    assert_eq!(before["more"], false);
    assert!(
        before["messages"].as_array().unwrap().iter().all(|message| message["id"].as_i64().unwrap() < ids[0])
    );
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_chat_is_not_found_and_its_deletion_is_an_event() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut events = alice.socket("/events").await;
    let chat = new_chat(&alice).await;
    assert_eq!(alice.status(Method::DELETE, &chat).await, 204);
    let removed = events.until(|event| event["type"] == "chat_removed").await;
    assert_eq!(format!("/chats/{}", removed["id"].as_str().unwrap()), chat);
    assert_eq!(alice.status(Method::GET, &format!("{chat}/messages")).await, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_chat_is_renamed_and_exported_as_either_kind_of_file() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let chat = new_chat(&alice).await;
    say(&alice, &chat, "/help").await;
    let (status, named) = alice.send(Method::PUT, &chat, json!({"title": "  About\nfences "})).await;
    assert_eq!((status, &named["title"]), (200, &json!("About\nfences")));
    for bad in [json!({"title": " "}), json!({"title": "x".repeat(201)}), json!({})] {
        assert_eq!(alice.send(Method::PUT, &chat, bad.clone()).await.0, 400, "{bad}");
    }
    let whole = alice.get(&format!("{chat}/export")).await;
    assert_eq!((&whole["version"], &whole["chat"]["title"]), (&json!(1), &json!("About\nfences")));
    assert_eq!(whole["messages"], alice.get(&format!("{chat}/messages")).await["messages"]);
    let markdown =
        alice.request(Method::GET, &format!("{chat}/export?format=markdown")).send().await.unwrap();
    assert!(markdown.text().await.unwrap().starts_with("# About fences\n\n## You\n\n/help\n"));
    assert_eq!(alice.status(Method::GET, &format!("{chat}/export?format=pdf")).await, 400);
    server.stop().await;
}
