//! Commands over the exec socket.

use reqwest::Method;
use serde_json::{Value, json};
use store::ExecStatus;

use crate::support::{Frame, TestServer, eventually};

const ID: &str = "000102030405060708090a0b0c0d0e0f";

#[tokio::test]
async fn a_command_streams_its_output_and_ends_with_its_code() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"argv": ["echo", "hello"], "exec_id": ID})).await;
    let started = exec.until(|_| true).await;
    assert_eq!(started, json!({"type": "started", "exec_id": ID, "runner": "laptop"}));
    let (stdout, stderr, exit) = exec.output().await;
    assert_eq!((stdout.as_slice(), stderr.as_slice()), (&b"hello on laptop\n"[..], &b""[..]));
    assert_eq!(
        (&exit["type"], &exit["code"], &exit["runner"]),
        (&json!("exit"), &json!(0), &json!("laptop"))
    );
    assert_eq!((&exit["signal"], &exit["duration_ms"]), (&Value::Null, &json!(1)));
    let entry = server.audited("exec", "exited 0").await;
    assert_eq!((entry.location.as_deref(), entry.target.as_str()), (Some("laptop"), "echo hello"));
    server.stop().await;
}

#[tokio::test]
async fn a_failing_command_tells_its_error_and_code() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "fail 3"})).await;
    let (stdout, stderr, exit) = exec.output().await;
    assert_eq!((stdout.as_slice(), stderr.as_slice(), &exit["code"]), (&b""[..], &b"bad\n"[..], &json!(3)));
    server.stop().await;
}

#[tokio::test]
async fn standard_input_reaches_the_command_until_it_ends() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "cat", "stdin": true})).await;
    exec.binary(b"\0one ".to_vec()).await;
    exec.binary(b"\0two\xff".to_vec()).await;
    exec.binary(b"\0".to_vec()).await;
    let (stdout, _, exit) = exec.output().await;
    assert_eq!((stdout.as_slice(), &exit["code"]), (&b"one two\xff"[..], &json!(0)));
    server.stop().await;
}

#[tokio::test]
async fn a_cancel_ends_the_command() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "hang"})).await;
    exec.until(|frame| frame["type"] == "started").await;
    exec.json(json!({"type": "cancel"})).await;
    let (_, _, exit) = exec.output().await;
    assert_eq!((&exit["cancelled"], &exit["signal"]), (&json!(true), &json!(15)));
    server.audited("exec", "cancelled 15").await;
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_is_gone_cancels_its_command() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "hang", "exec_id": ID})).await;
    exec.until(|frame| frame["type"] == "started").await;
    drop(exec);
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    let id = store::ExecId::parse(ID).unwrap();
    let status = eventually(|| async {
        let status = server.store.exec(user, &id).await.unwrap().status;
        (status != ExecStatus::Running).then_some(status)
    });
    assert_eq!(status.await, ExecStatus::Cancelled);
    server.stop().await;
}

#[tokio::test]
async fn an_offline_runner_is_an_error_and_nothing_else_runs_it() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _other = alice.connect_runner("desktop").await;
    alice.add_runner("laptop").await;
    alice.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "echo hi"})).await;
    let (stdout, _, error) = exec.output().await;
    assert_eq!(
        (stdout.as_slice(), &error["type"], &error["kind"]),
        (&b""[..], &json!("error"), &json!("offline"))
    );
    assert_eq!(error["message"], "runner laptop is offline");
    server.stop().await;
}

#[tokio::test]
async fn on_names_another_place_than_the_active_one() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let (_laptop, _desktop) = (alice.connect_runner("laptop").await, alice.connect_runner("desktop").await);
    alice.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    for (on, output) in [(Value::Null, "hi on laptop\n"), (json!("desktop"), "hi on desktop\n")] {
        let mut exec = alice.socket("/exec").await;
        exec.json(json!({"shell": "echo hi", "on": on})).await;
        assert_eq!(exec.output().await.0, output.as_bytes());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_runner_that_vanishes_makes_its_command_lost() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "hang"})).await;
    exec.until(|frame| frame["type"] == "started").await;
    runner.vanish();
    let (_, _, error) = exec.output().await;
    assert_eq!((&error["type"], &error["kind"]), (&json!("error"), &json!("lost")));
    server.stop().await;
}

#[tokio::test]
async fn an_id_runs_once() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    for (shell, kind) in
        [("echo a", Value::Null), ("echo a", json!("conflict")), ("echo b", json!("conflict"))]
    {
        let mut exec = alice.socket("/exec").await;
        exec.json(json!({"shell": shell, "exec_id": ID})).await;
        assert_eq!(exec.output().await.2["kind"], kind);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_answered_and_closed() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for text in ["nonsense", "{}", r#"{"argv":[]}"#] {
        let mut exec = alice.socket("/exec").await;
        exec.text(text).await;
        let (_, _, error) = exec.output().await;
        assert_eq!((&error["type"], &error["kind"]), (&json!("error"), &json!("invalid")), "{text}");
    }
    let mut exec = alice.socket("/exec").await;
    exec.binary(vec![0; 4]).await;
    assert!(matches!(exec.next().await, Frame::Json(error) if error["kind"] == "invalid"));
    server.stop().await;
}
