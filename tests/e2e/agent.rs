//! A model that works in a sandbox, in both wire formats, while turns are cancelled, requests fail and runners are lost.

mod goes_on;

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually, process};

use crate::docker::Cleanup;

/// The timeout for each wait.
const PATIENCE: Duration = Duration::from_secs(120);

const ADD: &str = "add() { echo $(($1 - $2)); }\n";
const TEST: &str = "#!/bin/sh\n. ./add.sh\n[ \"$(add 2 3)\" = 5 ] || { echo \"add 2 3 is $(add 2 3)\"; exit 1; }\necho passed\n";

/// A script that makes the project's failing test pass: it looks around, runs the test, changes a line, runs the test again, and reports.
fn mends(asked: &Asked) -> Reply {
    match asked.results().len() {
        0 => Reply::Call(vec![
            ("Glob", json!({"pattern": "*.sh"})),
            ("Read", json!({"path": "add.sh"})),
            ("Read", json!({"path": "test.sh"})),
            ("Shell", json!({"command": "sh test.sh"})),
        ]),
        4 => Reply::Call(vec![
            ("FileReplace", json!({"path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"})),
            ("Shell", json!({"command": "sh test.sh"})),
        ]),
        _ => Reply::Say("It subtracted. Now it adds, and the test passes.".to_owned()),
    }
}

pub(crate) fn lines(output: &tests::Output) -> Vec<Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn put_project(workspace: &Path) {
    fs::write(workspace.join("add.sh"), ADD).unwrap();
    fs::write(workspace.join("test.sh"), TEST).unwrap();
    fs::write(workspace.join("AGENTS.md"), "Shell scripts are POSIX.").unwrap();
}

/// Has the model repair the failing test; checks the output of `--json`, and what the model received.
fn check_mended(model: &ScriptedModel, alice: &Person, place: &str) {
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", "make the test pass"]);
    assert_eq!(output.code, 0, "{output:?}");
    let lines = lines(&output);
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let started: Vec<&str> = of("tool_start").iter().map(|line| line["tool"].as_str().unwrap()).collect();
    assert_eq!(started, ["Glob", "Read", "Read", "Shell", "FileReplace", "Shell"], "{output:?}");
    assert!(of("tool_start").iter().all(|line| line["runner"] == place), "{output:?}");
    let statuses: Vec<&str> = of("tool_end").iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["done", "done", "done", "failed", "done", "done"], "{output:?}");
    let said: String = of("text").iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(said, "It subtracted. Now it adds, and the test passes.");
    assert_eq!(
        (&of("usage")[0]["input_tokens"], &of("usage")[0]["output_tokens"]),
        (&json!(300), &json!(30))
    );
    let last = model.asked().pop().unwrap();
    let results = last.results();
    assert!(results[1].contains("1\tadd() { echo $(($1 - $2)); }"), "{results:?}");
    assert!(results[3].contains("add 2 3 is -1\n(exit code 1)"), "{results:?}");
    assert!(results[5].contains("passed\n(exit code 0)"), "{results:?}");
}

fn mends_on_a_runner(provider: &str) {
    let model = ScriptedModel::start(mends);
    let server = Server::start_with(&[&["--docker", "off"], &model.options(provider)[..]].concat());
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    put_project(machine.workspace());
    check_mended(&model, &alice, "laptop");
    assert!(fs::read_to_string(machine.workspace().join("add.sh")).unwrap().contains("$1 + $2"));
    let asked = model.asked();
    assert!(asked[0].raw.contains("Shell scripts are POSIX."), "the project's instructions");
    assert_eq!(asked.len(), 3);
    // The earlier conversation is sent unchanged, byte for byte, so that a provider's cache matches it.
    for pair in asked.windows(2) {
        let shared =
            pair[0].raw.bytes().zip(pair[1].raw.bytes()).take_while(|(left, right)| left == right).count();
        assert!(shared * 100 >= pair[0].raw.len() * 85, "{shared} of {}", pair[0].raw.len());
    }
}

#[test]
fn a_failing_test_is_fixed_in_openais_wire_format() {
    mends_on_a_runner("openai");
}

#[test]
fn a_failing_test_is_fixed_in_anthropics_wire_format() {
    mends_on_a_runner("anthropic");
}

#[test]
fn a_failing_test_is_fixed_in_a_container_and_on_the_server_itself() {
    tests::docker::ready();
    let model = ScriptedModel::start(mends);
    let docker = ["--docker", "on", "--docker-image", tests::docker::IMAGE, "--local", "admins"];
    let server = Server::start_with(&[&docker[..], &model.options("openai")].concat());
    let alice = server.person("alice");
    let _cleanup = Cleanup::of(&server);
    for place in ["__docker__", "none"] {
        assert_eq!(alice.run(&["use", place]).code, 0);
        for (file, content) in [("add.sh", ADD), ("test.sh", TEST)] {
            let source = tempfile::NamedTempFile::new().unwrap();
            fs::write(source.path(), content).unwrap();
            let copied = alice.run(&["cp", source.path().to_str().unwrap(), &format!(":{file}")]);
            assert_eq!(copied.code, 0, "{copied:?}");
        }
        check_mended(&model, &alice, place);
    }
}

#[test]
fn a_cancel_stops_the_command_and_keeps_what_was_done() {
    let marker = format!("{}", 55_000_000 + std::process::id());
    let sleep = format!("echo begun; touch ready; sleep {marker}");
    let model = ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "echo first"}))]),
        1 => Reply::Call(vec![("Shell", json!({"command": sleep}))]),
        _ => Reply::Say("on we go".to_owned()),
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "sleep a little");
    eventually("it sleeps", PATIENCE, || machine.workspace().join("ready").exists().then_some(()));
    assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).json()["cancelled"], 1);
    let turn = ended(&client, &chat, 1);
    assert_eq!(turn["agent"]["status"], "cancelled", "{turn}");
    eventually("nothing is left of it", Duration::from_secs(60), || {
        process::with_marker(&format!("sleep {marker}")).is_empty().then_some(())
    });
    // The conversation continues, and contains a result for every call.
    say(&client, &chat, "and now?");
    assert_eq!(ended(&client, &chat, 2)["text"], "on we go");
    let results = model.asked().pop().unwrap().results();
    assert!(results[0].contains("first") && results[1].contains("cancelled"), "{results:?}");
}

#[test]
fn the_terminal_shows_why_an_answer_fails_is_retried_or_waits() {
    let (go, gate) = mpsc::channel::<()>();
    let mut breaks = true;
    let model = ScriptedModel::start(move |asked| match asked.last_of_user().as_str() {
        "with no key" => Reply::Refuse(401, json!({"error": {"message": "no such key"}}).to_string()),
        "again" if std::mem::take(&mut breaks) => Reply::Break("half an answer".to_owned()),
        "first" => {
            gate.recv_timeout(PATIENCE).unwrap();
            Reply::Say("that was the first".to_owned())
        }
        _ => Reply::Say("whole".to_owned()),
    });
    let one = ["--docker", "off", "--turns-at-once", "1"];
    let server = Server::start_with(&[&one, &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let key = alice.run(&["chat", "with no key"]);
    assert!(key.code == 1 && key.stderr.contains("refused the key"), "{key:?}");
    let again = alice.run(&["chat", "again"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.contains("trying again") && again.stdout.ends_with("whole\n"), "{again:?}");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "first");
    eventually("the first one is asked", PATIENCE, || {
        model.asked().pop().filter(|asked| asked.last_of_user() == "first")
    });
    let held_up = std::thread::spawn(move || alice.run(&["chat", "--new", "second"]));
    eventually("it waits", PATIENCE, || {
        let chats = client.call("GET", "/chats").json();
        let ids = chats.as_array().unwrap().iter().filter_map(|chat| chat["id"].as_str().map(str::to_owned));
        ids.into_iter()
            .find(|id| messages(&client, id).iter().any(|message| message["agent"]["waits"] == true))
    });
    go.send(()).unwrap();
    let output = held_up.join().unwrap();
    assert!(output.code == 0 && output.stdout.contains("Other answers are under way"), "{output:?}");
    assert!(output.stdout.ends_with("whole\n"), "{output:?}");
}

#[test]
fn a_runner_that_disconnects_ends_the_turn_and_nothing_runs_elsewhere() {
    let model = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "touch ready; sleep 600"}))]),
        _ => Reply::Say("I am back".to_owned()),
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let mut machine = Machine::start_with_token(&server, "laptop", &token, &[]);
    machine.wait_online(&alice, "laptop");
    let other = Machine::start(&server, &alice, "other");
    alice.run(&["use", "laptop"]);
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "work");
    eventually("it works", PATIENCE, || machine.workspace().join("ready").exists().then_some(()));
    machine.stop();
    let token = token.clone();
    machine.restart(&server, "laptop", &token, &[]);
    let turn = ended(&client, &chat, 1);
    assert!(["failed", "done"].contains(&turn["agent"]["status"].as_str().unwrap()), "{turn}");
    machine.wait_online(&alice, "laptop");
    say(&client, &chat, "go on");
    assert_eq!(ended(&client, &chat, 2)["agent"]["status"], "done");
    assert!(!other.workspace().join("ready").exists(), "nothing ran elsewhere");
}

/// Creates a chat in this approval mode; returns its id.
pub(crate) fn new_chat(client: &Client, mode: &str) -> String {
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let body = json!({"mode": mode}).to_string();
    assert_eq!(client.send("PUT", &format!("/chats/{chat}/approval"), body.as_bytes()).status, 200);
    chat
}

pub(crate) fn say(client: &Client, chat: &str, text: &str) {
    let body = json!({"text": text}).to_string();
    let answer = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    assert_eq!(answer.status, 202);
}

pub(crate) fn messages(client: &Client, chat: &str) -> Vec<Value> {
    client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"].as_array().unwrap().clone()
}

/// The message of the `number`th answer, after that answer has ended.
pub(crate) fn ended(client: &Client, chat: &str, number: usize) -> Value {
    eventually("the answer is over", PATIENCE, || {
        let messages = messages(client, chat);
        // The first message of an answer follows the user's message; several answers may be queued.
        let handles =
            messages.iter().filter(|message| !message["agent"]["usage"].is_null() || is_cut(message));
        let handle = handles.take(number).nth(number - 1)?.clone();
        Some(handle)
    })
}

/// Returns true for an answer that was cut off because its server stopped.
fn is_cut(message: &Value) -> bool {
    message["agent"]["status"] == "interrupted"
}
