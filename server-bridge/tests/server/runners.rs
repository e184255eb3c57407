//! Adding runners, and the line to paste for each.

use reqwest::Method;
use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn adding_a_runner_shows_its_token_once_and_the_line_to_paste() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let (status, added) = alice.send(Method::POST, "/runners", json!({"name": "laptop"})).await;
    assert_eq!(status, 201);
    let (token, command) = (added["token"].as_str().unwrap(), added["command"].as_str().unwrap());
    assert!(token.starts_with("sbr_") && command.contains(token));
    assert!(command.contains(&format!("--server 'ws://{}'", server.address)), "{command}");
    let listed = alice.get("/runners").await;
    assert_eq!((&listed[0]["name"], &listed[0]["online"]), (&json!("laptop"), &json!(false)));
    assert!(!listed.to_string().contains(token));
    let entry = server.audited("runner.add", "ok").await;
    assert!(!entry.target.contains(token));
    server.stop().await;
}

#[tokio::test]
async fn invalid_runner_names_are_refused() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    alice.add_runner("laptop").await;
    for (name, status) in
        [("laptop", 409), ("none", 400), ("auto", 400), ("Laptop", 400), ("../x", 400), ("", 400)]
    {
        let (answer, error) = alice.send(Method::POST, "/runners", json!({"name": name})).await;
        assert_eq!(answer, status, "{name}: {error}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_line_to_paste_contains_the_public_address() {
    let args = server_bridge::config::ServeArgs {
        public_url: Some("https://bridge.example".to_owned()),
        ..Default::default()
    };
    let server = TestServer::start_with(args).await;
    let alice = server.user("alice").await;
    let (_, added) = alice.send(Method::POST, "/runners", json!({"name": "laptop"})).await;
    assert!(added["command"].as_str().unwrap().contains("'wss://bridge.example'"), "{added}");
    server.stop().await;
}

#[tokio::test]
async fn the_line_to_paste_ends_with_the_quoted_workspace() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let new = json!({"name": "laptop", "enrol": true, "workspace": "~/it's $(here)"});
    let (status, added) = alice.send(Method::POST, "/runners", new).await;
    assert_eq!(status, 201, "{added}");
    assert!(added["command"].as_str().unwrap().ends_with(r" --workspace ~/'it'\''s $(here)'"), "{added}");
    for workspace in ["/a\nb", "", "/a\u{0}", &"x".repeat(5_000)] {
        let new = json!({"name": "desk", "workspace": workspace});
        let (status, error) = alice.send(Method::POST, "/runners", new).await;
        assert_eq!((status, &error["error"]["kind"]), (400, &json!("invalid")), "{error}");
    }
    assert_eq!(alice.get("/runners").await.as_array().unwrap().len(), 1, "nothing was registered");
    server.stop().await;
}
