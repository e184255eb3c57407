//! The time from a cancel until the end of the turn is recorded and none of its processes is left on the machine.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedModel, Server, eventually, process};

use crate::samples::{Row, Samples};

/// The limit that the documentation promises for every cancel.
const PROMISE: Duration = Duration::from_secs(1);
/// The number of cancels of each kind.
const CANCELS: usize = 30;
/// The longest time that a command may take to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of a command's processes that carry its marker.
const PROCESSES: usize = 2;

pub(crate) fn rows() -> Vec<Row> {
    let kinds = [("a command with several processes", ""), ("a command that ignores TERM", "trap '' TERM; ")];
    kinds.iter().map(|(what, begin)| row(what, begin)).collect()
}

fn row(what: &str, begin: &'static str) -> Row {
    let marker = format!("sleep {}", 57_000_000 + std::process::id());
    // One of the processes is in a separate session.
    let command = format!("{begin}setsid {marker} & {marker} & wait");
    let habits = Habits { remembers: false, counts: false, pauses: false };
    let model =
        ScriptedModel::start_with(habits, move |_| Reply::Call(vec![("Shell", json!({"command": command}))]));
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, &alice.name);
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let mode = json!({"mode": "full"}).to_string();
    assert_eq!(client.send("PUT", &format!("/chats/{chat}/approval"), mode.as_bytes()).status, 200);
    let times = (0..CANCELS).map(|_| cancel(&client, &chat, &marker)).collect();
    Samples::new(times).row_within(&format!("cancelling {what}, until all have ended"), PROMISE)
}

fn cancel(client: &Client, chat: &str, marker: &str) -> Duration {
    let posted = client.send("POST", &format!("/chats/{chat}/messages"), br#"{"text":"work"}"#).json();
    let said = posted["messages"][0]["id"].as_i64().unwrap();
    let running = || process::with_command(marker).len();
    eventually("the command runs", PATIENCE, || (running() == PROCESSES).then_some(()));
    let begun = Instant::now();
    assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).json()["cancelled"], 1);
    let is_over = || {
        let path = format!("/chats/{chat}/messages?after={said}&limit=1");
        client.call("GET", &path).json()["messages"][0]["agent"]["status"] == "cancelled"
    };
    while !is_over() || running() > 0 {
        assert!(begun.elapsed() < PATIENCE, "the turn did not end");
        std::thread::sleep(Duration::from_millis(1));
    }
    begun.elapsed()
}
