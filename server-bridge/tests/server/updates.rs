//! Runners that are older than the server, and their updates.

use proto::handshake::{Facts, UPDATE_CAPABILITY};
use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::config::ServeArgs;

use crate::support::{FakeRunner, TestClient, TestServer, facts, program};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Starts a server that offers a runner program for download.
async fn server() -> (TestServer, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let args = ServeArgs { runner_static: Some(file.path().to_owned()), ..ServeArgs::default() };
    (TestServer::start_with(args).await, file)
}

fn runner_of(version: &str, can: bool) -> Facts {
    let capabilities = if can { vec![UPDATE_CAPABILITY.to_owned()] } else { Vec::new() };
    Facts { version: version.to_owned(), capabilities, ..facts("host") }
}

async fn connect(user: &TestClient, token: &str, facts: Facts) -> FakeRunner {
    FakeRunner::connect_as(&user.base.replace("/api/v1", "/runner"), token, facts).await.unwrap()
}

async fn update(user: &TestClient, name: &str) -> (u16, Value) {
    user.send(Method::POST, &format!("/runners/{name}/update"), json!({})).await
}

fn kind(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["kind"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn an_older_runner_is_shown_with_the_newer_version_and_updates_on_request() {
    let (server, _file) = server().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    assert_eq!(alice.get("/runners").await[0]["update"], Value::Null, "no version is known yet");
    let old = connect(&alice, &token, runner_of("0.0.9", true)).await;
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!(shown["update"], json!({"version": VERSION, "can": true}));
    assert!(shown["connected_at"].is_i64() && shown["update_error"].is_null(), "{shown}");
    let mut commands = alice.socket("/exec").await;
    commands.json(json!({"shell": "hang"})).await;
    assert_eq!(commands.until(|_| true).await["type"], "started");
    let answer = update(&alice, "laptop").await;
    assert_eq!(answer, (200, json!({"version": VERSION, "running": 1})));
    assert_eq!(update(&alice, "laptop").await, answer, "a second request joins");
    let entry = server.audited("runner.update", "ok").await;
    assert_eq!((entry.user.as_deref(), entry.location.as_deref()), (Some("alice"), Some("laptop")));
    old.vanish();
    alice.wait_online("laptop", false).await;
    let failed = Facts { update_error: Some("it did not register".to_owned()), ..runner_of("0.0.9", true) };
    let old = connect(&alice, &token, failed).await;
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!(shown["update_error"], "it did not register");
    old.vanish();
    alice.wait_online("laptop", false).await;
    let shown = alice.get("/runners").await;
    assert_eq!(shown[0]["update"]["version"], VERSION, "the version of an offline runner is known, too");
    assert_eq!(shown[0]["connected_at"], Value::Null);
    let _new = connect(&alice, &token, runner_of(VERSION, true)).await;
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!((&shown["update"], &shown["update_error"]), (&Value::Null, &Value::Null));
    server.stop().await;
}

#[tokio::test]
async fn only_a_smaller_three_part_version_counts_as_older() {
    let (server, _file) = server().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    for (version, is_older) in [
        ("0.0.9", true),
        ("0.0.10", true),
        (VERSION, false),
        ("99.0.0", false),
        ("0.0.9-x", false),
        ("", false),
    ] {
        let runner = connect(&alice, &token, runner_of(version, true)).await;
        let shown = alice.wait_online("laptop", true).await;
        assert_eq!(shown["update"].is_object(), is_older, "{version}: {shown}");
        if !is_older {
            assert_eq!(kind(&update(&alice, "laptop").await), (409, "conflict"), "{version}");
        }
        runner.vanish();
        alice.wait_online("laptop", false).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_cannot_be_updated_reports_why_and_what_to_do() {
    let (server, file) = server().await;
    let alice = server.user("alice").await;
    let bob = server.user("bob").await;
    let token = alice.add_runner("laptop").await;
    assert_eq!(kind(&update(&alice, "nobody").await), (404, "not_found"));
    assert_eq!(kind(&update(&bob, "laptop").await), (404, "not_found"));
    assert_eq!(kind(&update(&alice, "laptop").await), (503, "offline"));
    server.audited("runner.update", "offline").await;

    let unable = connect(&alice, &token, runner_of("0.0.9", false)).await;
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!(shown["update"], json!({"version": VERSION, "can": false}));
    let answer = update(&alice, "laptop").await;
    assert_eq!(kind(&answer), (422, "unsupported"));
    let message = answer.1["error"]["message"].as_str().unwrap();
    assert!(message.contains("sandbridge runner rotate laptop"), "{message}");
    let (_, rotated) = alice.send(Method::POST, "/runners/laptop/rotate", json!({})).await;
    assert!(rotated["command"].as_str().unwrap().contains("/install"), "{rotated}");
    unable.vanish();
    alice.wait_online("laptop", false).await;

    let token = rotated["token"].as_str().unwrap();
    let full = Facts { hostname: "full".to_owned(), ..runner_of("0.0.9", true) };
    let full = connect(&alice, token, full).await;
    alice.wait_online("laptop", true).await;
    let answer = update(&alice, "laptop").await;
    assert_eq!(kind(&answer), (507, "no_space"));
    assert_eq!(answer.1["error"]["message"], "no space for the new program");
    let (_, rotated) = alice.send(Method::POST, "/runners/laptop/rotate", json!({})).await;
    assert!(!rotated["command"].as_str().unwrap().contains("/install"), "it can replace itself: {rotated}");
    for scope in ["exec", "read"] {
        assert_eq!(kind(&update(&program(&alice, scope, scope).await, "laptop").await), (403, "forbidden"));
    }
    assert_eq!(kind(&update(&program(&alice, "full", "full").await, "laptop").await), (507, "no_space"));

    drop(file);
    assert_eq!(alice.get("/runners").await[0]["update"], Value::Null, "the server has none to hand out");
    assert_eq!(kind(&update(&alice, "laptop").await), (404, "not_found"));
    full.vanish();
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_lacks_required_layers_can_still_be_updated() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let args = ServeArgs {
        runner_static: Some(file.path().to_owned()),
        require: Some("seccomp".to_owned()),
        ..ServeArgs::default()
    };
    let server = TestServer::start_with(args).await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    let _weak = connect(&alice, &token, runner_of("0.0.9", true)).await;
    let shown = alice.wait_online("laptop", true).await;
    assert_eq!(shown["refused"], json!(["seccomp"]));
    assert_eq!(update(&alice, "laptop").await.0, 200);
    server.stop().await;
}
