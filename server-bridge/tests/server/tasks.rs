//! Background commands, as the page lists them.

use reqwest::Method;
use serde_json::json;

use crate::support::{TestServer, eventually};

const TASK: &str = "000102030405060708090a0b0c0d0e0f";
const TERMINAL: &str = "100102030405060708090a0b0c0d0e0f";

#[tokio::test]
async fn a_task_is_listed_for_its_owner_and_a_terminal_is_not_listed() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let _runner = alice.connect_runner("laptop").await;
    let mut task = alice.socket("/exec").await;
    task.json(json!({"shell": "hang", "detach": true, "exec_id": TASK})).await;
    task.until(|frame| frame["type"] == "detached").await;
    let mut terminal = alice.socket("/exec").await;
    terminal.json(json!({"pty": {"rows": 24, "columns": 80}, "exec_id": TERMINAL})).await;
    terminal.until(|frame| frame["type"] == "started").await;
    let listed = alice.get("/tasks").await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["exec_id"], &listed[0]["terminal"]), (&json!(TASK), &json!(false)));
    let execs = alice.get("/execs?running=true").await;
    let terminals = execs.as_array().unwrap().iter().filter(|exec| exec["terminal"] == true);
    assert_eq!(terminals.map(|exec| exec["exec_id"].as_str().unwrap()).collect::<Vec<_>>(), [TERMINAL]);
    assert_eq!(bob.get("/tasks").await, json!([]));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(bob.status(method.clone(), &format!("/tasks/{TASK}")).await, 404);
        assert_eq!(alice.status(method.clone(), &format!("/tasks/{TERMINAL}")).await, 404);
        assert_eq!(alice.status(method, "/tasks/nonsense").await, 404);
    }
    let (_, chat) = alice.send(Method::POST, "/chats", json!({})).await;
    let of_chat = format!("/tasks?chat={}", chat["id"].as_str().unwrap());
    assert_eq!(alice.get(&of_chat).await, json!([]));
    assert_eq!(bob.status(Method::GET, &of_chat).await, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_terminal_in_a_page_needs_its_session_and_its_origin() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let page = crate::support::Page::log_in(&server, "alice").await;
    let elsewhere = crate::support::Page {
        cookie: "a=b".to_owned(),
        ..crate::support::Page::log_in(&server, "alice").await
    };
    assert_eq!(elsewhere.socket("/exec").await.err(), Some(401));
    let mut terminal = page.socket("/exec").await.unwrap();
    terminal.json(json!({"pty": {"rows": 24, "columns": 80}, "exec_id": TERMINAL, "linger_s": 60})).await;
    terminal.until(|frame| frame["type"] == "started").await;
    drop(terminal);
    // The page disconnects; the terminal waits for it.
    let running = || async {
        let execs = alice.get("/execs?running=true").await;
        (execs[0]["exec_id"] == TERMINAL).then_some(())
    };
    eventually(running).await;
    server.stop().await;
}
