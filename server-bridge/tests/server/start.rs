//! Problems that prevent a server from starting, each reported in one clear line, and how the server stops.

use std::fs;

use server_bridge::config::{Config, ServeArgs};
use server_bridge::serve::Server;
use tokio::net::TcpListener;

use crate::support::{Frame, TestServer};

fn args(listen: &str) -> ServeArgs {
    ServeArgs { listen: Some(listen.to_owned()), docker: Some("off".to_owned()), ..ServeArgs::default() }
}

async fn refusal(args: ServeArgs) -> String {
    let home = tempfile::tempdir().unwrap();
    let config = Config::load(args, Some(home.path())).unwrap();
    Server::bind(config).await.err().expect("the server does not start").to_string()
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = refusal(args(&other.local_addr().unwrap().to_string())).await;
    assert!(error.contains("the port is in use") && error.contains("--listen"), "{error}");
}

#[tokio::test]
async fn an_address_that_this_machine_lacks_is_named() {
    let error = refusal(args("192.0.2.1:8080")).await;
    assert!(error.starts_with("cannot listen on 192.0.2.1:8080"), "{error}");
}

#[tokio::test]
async fn a_missing_certificate_is_named() {
    let tls = ServeArgs {
        tls_cert: Some("/nowhere/c.pem".into()),
        tls_key: Some("/nowhere/k.pem".into()),
        ..args("127.0.0.1:0")
    };
    let error = refusal(tls).await;
    assert!(error.contains("cannot read the certificate /nowhere/c.pem"), "{error}");
}

#[test]
fn a_home_whose_parent_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = Config::load(args("127.0.0.1:0"), Some(&folder.path().join("a/b"))).unwrap_err().to_string();
    assert!(error.contains("does not exist; make it, or pass --home"), "{error}");
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn a_configuration_file_that_is_not_json_is_named() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.json"), "{listen").unwrap();
    let error = Config::load(args("127.0.0.1:0"), Some(home.path())).unwrap_err().to_string();
    assert!(error.contains("config.json") && error.contains("not a JSON object"), "{error}");
}

#[tokio::test]
async fn a_stopping_server_leaves_commands_running_and_waits_for_nothing() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    let id = "000102030405060708090a0b0c0d0e0f";
    let mut exec = alice.socket("/exec").await;
    exec.json(serde_json::json!({"shell": "linger", "exec_id": id})).await;
    exec.until(|frame| frame["type"] == "started").await;
    // This socket has sent no request yet, and the server must not wait for it.
    let _silent = alice.socket("/exec").await;
    let (store, _home) = server.stop_and_reopen().await;
    let record = store.exec(user, &store::ExecId::parse(id).unwrap()).await.unwrap();
    assert_eq!(record.status, store::ExecStatus::Running);
    // The socket closes without a last frame, so the client reconnects.
    while exec.next().await != Frame::Closed {}
}

#[tokio::test]
async fn a_server_stops_while_sockets_are_open() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let runner = alice.connect_runner("laptop").await;
    let mut events = alice.socket("/events").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(serde_json::json!({"shell": "hang"})).await;
    exec.until(|frame| frame["type"] == "started").await;
    server.stop().await;
    while exec.next().await != Frame::Closed {}
    while events.next().await != Frame::Closed {}
    assert_eq!(runner.closed().await, Some(proto::session::CloseCode::GoingAway));
}
