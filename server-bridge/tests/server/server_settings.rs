//! The settings of the whole server.

use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::config::{ModelArgs, ServeArgs};

use crate::support::{TestServer, program};

const PATH: &str = "/server-settings";

fn args() -> ServeArgs {
    ServeArgs { model: ModelArgs { turns_at_once: Some(5), ..ModelArgs::default() }, ..ServeArgs::default() }
}

#[tokio::test]
async fn what_an_administrator_sets_is_told_audited_and_survives_a_restart() {
    let server = TestServer::start_with(args()).await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let as_started = json!({"turns_at_once": 5, "turns_at_once_default": 5, "context_mode": "full",
        "base_prompt": null, "base_prompt_problem": null});
    assert_eq!(alice.get(PATH).await, as_started);
    let mut events = alice.socket("/events").await;
    let mut others = bob.socket("/events").await;
    std::fs::write(server.home().join("prompt.md"), "Be a pirate.").unwrap();
    let change = json!({"turns_at_once": 2, "context_mode": "no-compression", "base_prompt": "prompt.md"});
    let (status, changed) = alice.send(Method::PUT, PATH, change).await;
    let expected = json!({"turns_at_once": 2, "turns_at_once_default": 5, "context_mode": "no-compression",
        "base_prompt": "prompt.md", "base_prompt_problem": null});
    assert_eq!((status, &changed), (200, &expected));
    let told = events.until(|event| event["type"] == "server_settings").await;
    assert_eq!(told["settings"], expected);
    assert_eq!(server.audited("server.settings", "no-compression").await.target, "context_mode");
    assert_eq!(server.audited("server.settings", "2").await.user.as_deref(), Some("alice"));
    // The others are not notified of it: their next event is another one.
    bob.add_runner("laptop").await;
    let next = others.until(|event| event["type"] != "hello").await;
    assert_eq!(next["type"], "runner");
    drop((events, others));
    let (_, home) = server.stop_and_reopen().await;
    std::fs::remove_file(home.path().join("prompt.md")).unwrap();
    let server = TestServer::start_in(home, args()).await;
    let alice = server.log_in("alice").await;
    let known = alice.get(PATH).await;
    assert_eq!((&known["turns_at_once"], &known["context_mode"]), (&json!(2), &json!("no-compression")));
    assert!(known["base_prompt_problem"].as_str().unwrap().contains("there is no file prompt.md"), "{known}");
    let back = json!({"turns_at_once": null, "context_mode": null, "base_prompt": null});
    assert_eq!(alice.send(Method::PUT, PATH, back).await, (200, as_started));
    assert_eq!(server.audited("server.settings", "default").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn what_a_setting_cannot_be_changes_nothing() {
    let server = TestServer::start_with(args()).await;
    let alice = server.user("alice").await;
    std::fs::write(server.home().join("latin.md"), b"caf\xe9").unwrap();
    let before = alice.get(PATH).await;
    for (change, reason) in [
        (json!({"turns_at_once": 0}), "from 1 to 1000"),
        (json!({"turns_at_once": 1001}), "from 1 to 1000"),
        (json!({"turns_at_once": "many"}), ""),
        (json!({"context_mode": "dreamy", "turns_at_once": 3}), "full, no-compression or none"),
        (json!({"base_prompt": "sandbridge.key", "turns_at_once": 3}), "ends in .md"),
        (json!({"base_prompt": "../prompt.md"}), "ends in .md"),
        (json!({"base_prompt": "gone.md"}), "there is no file"),
        (json!({"base_prompt": "latin.md"}), "not UTF-8"),
    ] {
        let (status, refused) = alice.send(Method::PUT, PATH, change.clone()).await;
        assert_eq!(status, 400, "{change}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(reason), "{refused}");
    }
    assert_eq!(alice.get(PATH).await, before);
    server.stop().await;
}

#[tokio::test]
async fn who_does_not_administer_and_programs_change_no_setting_of_the_server() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let change = || json!({"turns_at_once": 2});
    assert_eq!(bob.status(Method::GET, PATH).await, 403);
    assert_eq!(bob.send(Method::PUT, PATH, change()).await.0, 403);
    let key = program(&alice, "ci", "full").await;
    assert_eq!(key.send(Method::PUT, PATH, change()).await.0, 403);
    assert_eq!(key.get(PATH).await["turns_at_once"], Value::from(16));
    server.stop().await;
}
