//! Messages that are sent again by a client that got no response.

use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::config::ServeArgs;

use crate::support::{TestClient, TestServer};

async fn chat(client: &TestClient) -> String {
    let (_, chat) = client.send(Method::POST, "/chats", json!({})).await;
    format!("/chats/{}/messages", chat["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_message_sent_again_gets_the_same_answer_and_is_handled_once() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let path = chat(&alice).await;
    let new = json!({"text": "/new", "send_id": "one"});
    let (status, first) = alice.send(Method::POST, &path, new.clone()).await;
    assert_eq!((status, first["messages"].as_array().unwrap().len()), (202, 2));
    let (status, again) = alice.send(Method::POST, &path, new).await;
    assert_eq!(status, 202);
    assert_eq!((&again["chat"]["id"], &again["messages"]), (&first["chat"]["id"], &first["messages"]));
    assert_eq!(alice.get("/chats").await.as_array().unwrap().len(), 2, "one chat was created");
    let (_, refused) = alice.send(Method::POST, &path, json!({"text": "/nonsense", "send_id": "two"})).await;
    let (_, again) = alice.send(Method::POST, &path, json!({"text": "/nonsense", "send_id": "two"})).await;
    assert_eq!((&refused["error"], &again), (&json!("invalid"), &refused));
    let (status, other) = alice.send(Method::POST, &path, json!({"text": "else", "send_id": "one"})).await;
    assert_eq!((status, &other["error"]["kind"]), (409, &json!("conflict")));
    for odd in ["", &"x".repeat(65)] {
        let (status, _) = alice.send(Method::POST, &path, json!({"text": "x", "send_id": odd})).await;
        assert_eq!(status, 400);
    }
    server.stop().await;
}

#[tokio::test]
async fn simultaneous_repetitions_post_a_message_once() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let path = chat(&alice).await;
    let say = || alice.send(Method::POST, &path, json!({"text": "hello", "send_id": "one"}));
    let (a, b, c, d) = tokio::join!(say(), say(), say(), say());
    assert!([&a, &b, &c, &d].iter().all(|(status, _)| *status == 202));
    assert!([&b, &c, &d].iter().all(|(_, body)| body["messages"][0] == a.1["messages"][0]));
    let messages = alice.get(&path).await;
    let roles: Vec<&Value> = messages["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["user", "notice"], "{messages}");
    server.stop().await;
}

#[tokio::test]
async fn a_restarted_server_knows_posted_messages_and_answers_the_open_one() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let path = chat(&alice).await;
    let hello = json!({"text": "hello", "send_id": "one"});
    let (_, first) = alice.send(Method::POST, &path, hello.clone()).await;
    // The state that a server leaves if it dies after storing a message and before responding to it.
    let id = path.trim_start_matches("/chats/").trim_end_matches("/messages");
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    let chat = store::ChatId::parse(id).unwrap();
    server.store.say_once(user, &chat, "two", "/help", store::Author::Owner).await.unwrap();
    let (_, home) = server.stop_and_reopen().await;
    let server = TestServer::start_in(home, ServeArgs::default()).await;
    let alice = server.log_in("alice").await;
    assert_eq!(alice.send(Method::POST, &path, hello).await.1, first);
    let help = json!({"text": "/help", "send_id": "two"});
    let (_, done) = alice.send(Method::POST, &path, help.clone()).await;
    assert_eq!(done["messages"][1]["role"], "notice", "{done}");
    assert_eq!(alice.send(Method::POST, &path, help).await.1, done);
    assert_eq!(alice.get(&path).await["messages"].as_array().unwrap().len(), 4);
    server.stop().await;
}

#[tokio::test]
async fn another_users_chat_accepts_no_message_under_any_send_id() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let path = chat(&alice).await;
    let say = json!({"text": "hello", "send_id": "one"});
    alice.send(Method::POST, &path, say.clone()).await;
    assert_eq!(bob.send(Method::POST, &path, say).await.0, 404);
    server.stop().await;
}
