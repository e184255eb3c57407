//! Completions while a user types: commands, file names, and attached files.

use reqwest::Method;
use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn the_slash_commands_are_listed() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let commands = alice.get("/commands").await;
    let help = commands.as_array().unwrap().iter().find(|command| command["word"] == "help").unwrap();
    assert_eq!((&help["usage"], &help["about"]), (&json!("/help"), &json!("this list")));
    server.stop().await;
}

#[tokio::test]
async fn an_attachment_is_stored_on_the_chats_runner_and_named_in_the_message() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (_, chat) = alice.send(Method::POST, "/chats", json!({})).await;
    let path = format!("/chats/{}", chat["id"].as_str().unwrap());
    let upload = |name: &'static str, body: Vec<u8>| {
        alice.request(Method::POST, &format!("{path}/attachments?name={name}")).body(body).send()
    };
    assert_eq!(upload("a.png", vec![1]).await.unwrap().status(), 403, "there is no runner yet");
    let _runner = alice.connect_runner("laptop").await;
    let content = b"\x89PNG\r\n\x1a\nrest".to_vec();
    let made = upload("../my%20shot.png", content.clone()).await.unwrap();
    assert_eq!(made.status(), 201);
    let made: serde_json::Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
    assert_eq!((&made["name"], &made["place"]), (&json!("my_shot.png"), &json!("laptop")));
    assert_eq!((&made["is_image"], &made["size_bytes"]), (&json!(true), &json!(content.len())));
    let file = made["path"].as_str().unwrap();
    let read = alice.request(Method::GET, &format!("/files?path={file}")).send().await.unwrap();
    assert_eq!(read.bytes().await.unwrap(), content);
    let say = json!({"text": "look", "attachments": [file]});
    let (_, said) = alice.send(Method::POST, &format!("{path}/messages"), say).await;
    assert_eq!(said["messages"][0]["text"], format!("look\n\n[attached: {file}]"));
    let odd = json!({"text": "look", "attachments": ["/etc/passwd"]});
    assert_eq!(alice.send(Method::POST, &format!("{path}/messages"), odd).await.0, 400);
    let large = alice.request(Method::POST, &format!("{path}/attachments?name=a")).body(vec![0; 33 << 20]);
    let refused = large.send().await.map(|response| response.status().as_u16());
    assert!(refused.is_err() || refused.is_ok_and(|status| status == 413));
    let bobs =
        bob.request(Method::POST, &format!("{path}/attachments?name=a")).body("x").send().await.unwrap();
    assert_eq!(bobs.status(), 404);
    server.stop().await;
}

#[tokio::test]
async fn names_are_completed_from_the_directory_they_are_in() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    for name in ["main.rs", "makefile", "other", ".hidden"] {
        let write =
            alice.request(Method::PUT, &format!("/files?path={name}")).body("x").send().await.unwrap();
        assert_eq!(write.status(), 200);
    }
    let paths = async |query: &str| -> Vec<String> {
        let found = alice.get(&format!("/files/complete?{query}")).await;
        let entries = found["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths("prefix=ma").await, ["main.rs", "makefile"]);
    assert_eq!(paths("").await, ["main.rs", "makefile", "other"]);
    assert_eq!(paths("prefix=.").await, [".hidden"]);
    assert_eq!(alice.get("/files/complete?prefix=ma&limit=1").await["more"], true);
    let long = "x".repeat(1025);
    assert_eq!(alice.status(Method::GET, &format!("/files/complete?prefix={long}")).await, 400);
    assert_eq!(alice.status(Method::GET, "/files/complete?on=nowhere").await, 409);
    server.stop().await;
}
