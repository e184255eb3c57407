//! Commands over the WebSocket for execs.

use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::SinkExt;
use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::limits::SHUTDOWN_TIMEOUT;
use store::ExecStatus;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as WireFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::support::{FakeRunner, Frame, PATIENCE, Socket, TestServer, eventually};

const ID: &str = "000102030405060708090a0b0c0d0e0f";

#[tokio::test]
async fn a_command_streams_its_output_and_ends_with_its_code() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"argv": ["echo", "hello"], "exec_id": ID})).await;
    let started = exec.until(|_| true).await;
    let expected =
        json!({"type": "started", "exec_id": ID, "runner": "laptop", "offset": 0, "stdin_offset": 0});
    assert_eq!(started, expected);
    let (stdout, stderr, exit) = exec.output().await;
    assert_eq!((stdout.as_slice(), stderr.as_slice()), (&b"hello on laptop\n"[..], &b""[..]));
    assert_eq!(
        (&exit["type"], &exit["code"], &exit["runner"]),
        (&json!("exit"), &json!(0), &json!("laptop"))
    );
    assert_eq!((&exit["signal"], &exit["duration_ms"]), (&Value::Null, &json!(1)));
    let entry = server.audited("exec", "ok").await;
    assert_eq!((entry.location.as_deref(), entry.target.as_str()), (Some("laptop"), "echo hello"));
    server.stop().await;
}

#[tokio::test]
async fn a_failing_command_reports_its_error_output_and_code() {
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
async fn a_terminal_is_opened_typed_into_and_resized() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"argv": ["vim"], "pty": {"rows": 24, "columns": 80, "term": "vt100"}})).await;
    exec.json(json!({"type": "resize", "rows": 50, "columns": 132})).await;
    exec.json(json!({"type": "resize", "rows": -1, "columns": 132})).await;
    exec.binary(b"\0keys".to_vec()).await;
    exec.binary(b"\0".to_vec()).await;
    let (shown, _, exit) = exec.output().await;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains(r#"Pty { rows: 24, columns: 80, term: "vt100" }"#), "{shown}");
    assert!(shown.ends_with("resized 50x132\nkeys"), "{shown}");
    assert_eq!(exit["code"], json!(0));
    server.audited("exec", "ok").await;
    // Where there is no terminal, a resize has no effect.
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "cat", "stdin": true})).await;
    exec.json(json!({"type": "resize", "rows": 50, "columns": 132})).await;
    exec.binary(b"\0one".to_vec()).await;
    exec.binary(b"\0".to_vec()).await;
    let (stdout, _, exit) = exec.output().await;
    assert_eq!((stdout.as_slice(), &exit["code"]), (&b"one"[..], &json!(0)));
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
    server.audited("exec", "cancelled").await;
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_its_command() {
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
async fn the_end_of_a_session_cancels_its_command() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let other_session = server.log_in("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let (mut cancelled, mut unharmed) = (alice.socket("/exec").await, other_session.socket("/exec").await);
    cancelled.json(json!({"shell": "hang", "exec_id": ID})).await;
    cancelled.until(|frame| frame["type"] == "started").await;
    unharmed.json(json!({"shell": "cat", "stdin": true})).await;
    unharmed.until(|frame| frame["type"] == "started").await;
    assert_eq!(alice.status(Method::POST, "/logout").await, 204);
    let (_, _, error) = cancelled.output().await;
    assert_eq!((&error["type"], &error["kind"]), (&json!("error"), &json!("unauthorized")));
    let entry = server.audited("exec", "cancelled").await;
    assert_eq!((entry.user.as_deref(), entry.target.as_str()), (Some("alice"), "hang"));
    unharmed.binary(b"\0".to_vec()).await;
    assert_eq!(unharmed.output().await.2["code"], 0);
    server.stop().await;
}

#[tokio::test]
async fn the_removal_of_a_user_cancels_their_commands() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "hang"})).await;
    exec.until(|frame| frame["type"] == "started").await;
    server.store.remove_user("alice").await.unwrap();
    // The user's runner is disconnected as well; whichever event is noticed first ends the command.
    let (_, _, error) = exec.output().await;
    assert_eq!(error["type"], "error");
    assert!(["unauthorized", "lost"].contains(&error["kind"].as_str().unwrap()), "{error}");
    server.stop().await;
}

/// Runs the program itself, with its output in a pipe that is not read for longer than three pings.
#[tokio::test]
async fn a_client_whose_reader_pauses_gets_everything() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let home = tempfile::tempdir().unwrap();
    let address = server.url("");
    let login = json!({"server": address, "logins": {&address: {"token": alice.token, "user": "alice"}}});
    std::fs::write(home.path().join("client.json"), login.to_string()).unwrap();
    let bytes = 16 * 1024 * 1024;
    let mut client = tokio::process::Command::new(env!("CARGO_BIN_EXE_sandbridge"))
        .args(["exec", "--", "flood", &bytes.to_string()])
        .env("SANDBRIDGE_HOME", home.path())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    // This sleep does not wait for an event: the pause itself is tested.
    tokio::time::sleep(3 * server_bridge::limits::SOCKET_PING_INTERVAL + Duration::from_secs(1)).await;
    let mut read = Vec::new();
    let mut stdout = client.stdout.take().unwrap();
    timeout(PATIENCE, stdout.read_to_end(&mut read)).await.expect("everything arrives in time").unwrap();
    assert_eq!(read.len(), bytes);
    assert!(read.iter().enumerate().all(|(at, byte)| *byte == at as u8), "in order");
    assert!(client.wait().await.unwrap().success());
    server.stop().await;
}

#[tokio::test]
async fn clients_that_stopped_reading_delay_neither_records_nor_shutdown() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    let url = format!("{}/exec", alice.base).replacen("http", "ws", 1);
    let mut sockets = Vec::new();
    // Some of these output sizes fit into the buffers, and some do not; execs with the latter end while their last frame is stuck.
    let sizes = (1..=100).map(|step| step * 32 * 1024);
    let ids: Vec<String> = sizes.clone().map(|bytes| format!("{bytes:032x}")).collect();
    for (bytes, id) in sizes.zip(&ids) {
        let mut exec = Socket::connect_narrow(&url, &alice.token).await;
        exec.json(json!({"shell": format!("flood {bytes}"), "exec_id": id})).await;
        exec.until(|frame| frame["type"] == "started").await;
        sockets.push(exec);
    }
    server.audited("exec", "ok").await;
    let began = Instant::now();
    let (store, _home) = server.stop_and_reopen().await;
    assert!(began.elapsed() < SHUTDOWN_TIMEOUT, "{:?}", began.elapsed());
    let mut ends = Vec::new();
    for id in &ids {
        ends.push(store.exec(user, &store::ExecId::parse(id).unwrap()).await.unwrap().status);
    }
    // A command that has not ended yet continues without the server.
    assert!(ends.iter().all(|end| [ExecStatus::Exited, ExecStatus::Running].contains(end)), "{ends:?}");
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
async fn a_refused_command_leaves_an_audit_entry_of_the_request() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for name in ["laptop", "desktop"] {
        alice.add_runner(name).await;
    }
    for (on, kind) in [
        (Value::Null, "no_route"),
        (json!("laptop"), "offline"),
        (json!("nowhere"), "no_route"),
        (json!("__docker__"), "denied"),
        (json!("none"), "denied"),
    ] {
        let mut exec = alice.socket("/exec").await;
        exec.json(json!({"argv": ["rm", "-r", "x"], "on": on})).await;
        assert_eq!(exec.output().await.2["kind"], kind, "{on}");
        let entry = &server.store.audit(1, None).await.unwrap()[0];
        assert_eq!((entry.action.as_str(), entry.outcome.as_str()), ("exec", kind), "{on}");
        assert_eq!((entry.location.as_deref(), entry.target.as_str()), (on.as_str(), "rm -r x"));
        assert_eq!(entry.user.as_deref(), Some("alice"));
    }
    server.stop().await;
}

#[tokio::test]
async fn the_on_parameter_overrides_the_active_runner() {
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
async fn a_command_is_lost_if_its_runner_returns_as_another_process() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    let runner = FakeRunner::connect(&alice.base, &token, "laptop").await.unwrap();
    alice.wait_online("laptop", true).await;
    let mut exec = alice.socket("/exec").await;
    exec.json(json!({"shell": "hang"})).await;
    exec.until(|frame| frame["type"] == "started").await;
    runner.vanish();
    let _another = FakeRunner::connect(&alice.base, &token, "laptop").await.unwrap();
    let (_, _, error) = exec.output().await;
    assert_eq!((&error["type"], &error["kind"]), (&json!("error"), &json!("lost")));
    server.stop().await;
}

#[tokio::test]
async fn an_exec_id_runs_once() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    for (shell, kind) in [("echo a", Value::Null), ("echo a", Value::Null), ("echo b", json!("conflict"))] {
        let mut exec = alice.socket("/exec").await;
        exec.json(json!({"shell": shell, "exec_id": ID})).await;
        let (_, _, end) = exec.output().await;
        assert_eq!((&end["kind"], end["code"] == 0), (&kind, kind.is_null()), "{end}");
        // A repeated request that arrives before the end is recorded goes to the runner, which does not remember the
        // exec.
        server.audited("exec", "ok").await;
    }
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    assert_eq!(server.store.execs(user, 9).await.unwrap().len(), 1);
    server.audited("exec", "conflict").await;
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_request_is_answered_and_its_socket_closed() {
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

#[tokio::test]
async fn a_stopping_server_reports_no_end_to_a_client_that_waits_for_a_runner() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    let runner = FakeRunner::connect(&alice.base, &token, "laptop").await.unwrap();
    alice.wait_online("laptop", true).await;
    let request = json!({"shell": "hang", "exec_id": ID, "acks": true});
    let mut first = alice.socket("/exec").await;
    first.json(request.clone()).await;
    first.until(|frame| frame["type"] == "started").await;
    runner.vanish();
    alice.wait_online("laptop", false).await;
    let mut again = alice.socket("/exec").await;
    again.json(request).await;
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    let (store, _home) = server.stop_and_reopen().await;
    assert_eq!(again.next().await, Frame::Closed, "no last frame: the client reconnects");
    let record = store.exec(user, &store::ExecId::parse(ID).unwrap()).await.unwrap();
    assert_eq!(record.status, ExecStatus::Running);
}

/// The last fragment of this text is empty, and the one before ends in the middle of a character.
#[tokio::test]
async fn a_text_message_that_ends_within_a_character_is_refused() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let mut exec = alice.socket("/exec").await;
    let fragments = [(&b"{\"shell\":\"true\"}\xf0"[..], Data::Text), (&b""[..], Data::Continue)];
    for (at, (bytes, kind)) in fragments.into_iter().enumerate() {
        let frame = WireFrame::message(bytes, OpCode::Data(kind), at == 1);
        exec.0.send(Message::Frame(frame)).await.unwrap();
    }
    let Frame::Json(refused) = exec.next().await else { panic!("no error frame") };
    // The error is not about the JSON, because the text is refused before it is parsed.
    assert!(refused["message"].as_str().unwrap().contains("must be text"), "{refused}");
    server.stop().await;
}
