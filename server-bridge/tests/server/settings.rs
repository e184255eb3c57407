//! The setting for the active runner: any existing choice is stored, with a warning if it would not work now.

use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::config::ServeArgs;

use crate::support::{TestClient, TestServer};

async fn choose(client: &TestClient, choice: Value) -> (u16, Value) {
    client.send(Method::PUT, "/settings", json!({"active_runner": choice})).await
}

#[tokio::test]
async fn an_offline_runner_can_be_chosen_with_a_warning() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    alice.add_runner("laptop").await;
    let (status, changed) = choose(&alice, json!("laptop")).await;
    assert_eq!((status, &changed["active_runner"]), (200, &json!("laptop")));
    assert!(changed["warning"].as_str().unwrap().contains("runner laptop is offline"), "{changed}");
    assert_eq!(alice.get("/me").await["active_runner"], "laptop");
    assert!(alice.get("/runners").await[0]["active"].as_bool().unwrap());
    let entry = server.audited("settings.active_runner", "ok").await;
    assert_eq!((entry.user.as_deref(), entry.target.as_str()), (Some("alice"), "laptop"));
    server.stop().await;
}

#[tokio::test]
async fn an_online_runner_is_chosen_without_a_warning() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    assert_eq!(choose(&alice, json!("laptop")).await.1["warning"], Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_choice_that_the_server_does_not_allow_is_stored_with_a_warning() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for choice in ["__docker__", "none"] {
        let (status, changed) = choose(&alice, json!(choice)).await;
        assert_eq!((status, &changed["active_runner"]), (200, &json!(choice)));
        assert!(changed["warning"].is_string(), "{changed}");
    }
    server.stop().await;
}

#[tokio::test]
async fn docker_without_its_runner_is_stored_with_a_warning() {
    let args = ServeArgs { docker: Some("on".to_owned()), ..Default::default() };
    let server = TestServer::start_with(args).await;
    let alice = server.user("alice").await;
    let (status, changed) = choose(&alice, json!("__docker__")).await;
    assert_eq!((status, &changed["active_runner"]), (200, &json!("__docker__")));
    assert!(changed["warning"].as_str().unwrap().contains("SANDBRIDGE_RUNNER_STATIC"), "{changed}");
    server.stop().await;
}

#[tokio::test]
async fn auto_resets_the_choice() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    alice.add_runner("laptop").await;
    for back in [Value::Null, json!("auto")] {
        choose(&alice, json!("laptop")).await;
        assert_eq!(choose(&alice, back).await.1["active_runner"], Value::Null);
        assert_eq!(alice.get("/me").await["active_runner"], Value::Null);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_is_not_registered_cannot_be_chosen() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let (status, error) = choose(&alice, json!("desktop")).await;
    assert_eq!((status, &error["error"]["kind"]), (404, &json!("not_found")));
    assert_eq!(alice.get("/me").await["active_runner"], Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn every_choice_says_whether_it_would_work() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    alice.add_runner("desktop").await;
    let settings = alice.get("/settings").await;
    let summary: Vec<_> = settings["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| {
            (
                choice["name"].as_str().unwrap(),
                choice["available"].as_bool().unwrap(),
                choice["note"].is_string(),
            )
        })
        .collect();
    let expected = [
        ("desktop", false, true),
        ("laptop", true, false),
        ("__docker__", false, true),
        ("none", false, true),
    ];
    assert_eq!(summary, expected);
    server.stop().await;
}
