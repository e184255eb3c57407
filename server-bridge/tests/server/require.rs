//! An admin's policy: runners that lack required layers are shown, but not used.

use reqwest::Method;
use serde_json::json;
use server_bridge::config::ServeArgs;

use crate::support::TestServer;

/// The scripted runner reports `landlock` and nothing about other layers.
async fn server(require: &str) -> TestServer {
    TestServer::start_with(ServeArgs { require: Some(require.to_owned()), ..ServeArgs::default() }).await
}

#[tokio::test]
async fn a_runner_that_lacks_a_required_layer_is_listed_and_refused() {
    let server = server("landlock,mount-namespace").await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let listed = alice.wait_online("laptop", true).await;
    assert_eq!(listed["refused"], json!(["mount-namespace"]));
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "echo hi"})).await;
    let (stdout, _, last) = exec.output().await;
    assert_eq!(
        (stdout.as_slice(), &last["type"], &last["kind"]),
        (&b""[..], &json!("error"), &json!("denied"))
    );
    let message = last["message"].as_str().unwrap();
    assert!(
        message.contains("runner laptop lacks mount-namespace; this server requires it: start it as root"),
        "{message}"
    );
    let entry = server.audited("exec", "denied").await;
    assert_eq!(entry.target, "echo hi");
    let status = alice.status(Method::GET, "/files?path=notes.txt").await;
    assert_eq!(status, 403, "nor can its files be reached");
    let (_, changed) = alice.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    assert!(changed["warning"].as_str().unwrap().contains("lacks mount-namespace"), "{changed}");
    let settings = alice.get("/settings").await;
    assert_eq!(
        (&settings["choices"][0]["online"], &settings["choices"][0]["available"]),
        (&json!(true), &json!(false))
    );
    server.stop().await;
}

#[tokio::test]
async fn a_runner_with_the_required_layers_is_used() {
    let server = server("landlock").await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    assert_eq!(alice.wait_online("laptop", true).await["refused"], json!([]));
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "echo hi"})).await;
    assert_eq!(exec.output().await.2["code"], json!(0));
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_reports_no_users_needs_no_approval_for_one() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    alice.wait_online("laptop", true).await;
    let view = alice.get("/exec/user?run_as=root").await;
    assert_eq!(view, json!({"runner": "laptop", "run_as": "root", "needs_approval": false}));
    assert_eq!(alice.status(Method::GET, "/exec/user").await, 400);
    assert_eq!(alice.status(Method::GET, "/exec/user?run_as=root&on=gone").await, 409);
    server.stop().await;
}
