//! How a model's commands end, and what is read of those that go on by themselves.

use std::time::Duration;

use serde_json::json;
use tests::http::Client;
use tests::{Asked, Machine, Reply, ScriptedModel, Server, eventually, process};

use crate::agent::{ended, messages, new_chat, say};

/// How long any one answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn server(model: &ScriptedModel) -> Server {
    Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat())
}

#[test]
fn a_cancel_leaves_nothing_of_a_command_that_does_not_want_to_end() {
    let marker = format!("sleep {}", 58_000_000 + std::process::id());
    // It does not hear TERM, and a part of it is in a session of its own.
    let command = format!("trap '' TERM; echo begun; setsid {marker} & {marker} & wait");
    let model = ScriptedModel::start(move |asked| match asked.last_of_user().as_str() {
        "work" => Reply::Call(vec![("Shell", json!({"command": command}))]),
        _ => Reply::Say("on we go".to_owned()),
    });
    let server = server(&model);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    let left = || process::with_command(&marker).len();
    say(&client, &chat, "work");
    eventually("it runs", PATIENCE, || (left() == 2).then_some(()));
    assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).json()["cancelled"], 1);
    // How fast that is, `scripts/bench engine` says.
    assert_eq!(ended(&client, &chat, 1)["agent"]["status"], "cancelled");
    eventually("nothing is left", PATIENCE, || (left() == 0).then_some(()));
    let card = messages(&client, &chat).pop().unwrap();
    assert!(card["text"].as_str().unwrap().contains("cancelled by the user"), "{card}");
    say(&client, &chat, "and now?");
    assert_eq!(ended(&client, &chat, 2)["text"], "on we go");
}

/// The ids of tasks that were begun, in order.
fn tasks(asked: &Asked) -> Vec<String> {
    let results = asked.results();
    let ids =
        results.iter().filter_map(|result| result.split_once("It goes on as task ")?.1.split(' ').next());
    ids.map(str::to_owned).collect()
}

#[test]
fn a_task_is_read_whole_up_to_50_000_bytes() {
    // They wait for a word, so that each of them becomes a task.
    let writes = |bytes: usize| {
        let command = format!("until [ -e go ]; do sleep 0.02; done; head -c {bytes} /dev/zero | tr '\\0' x");
        ("Shell", json!({"command": command, "background": true}))
    };
    let model = ScriptedModel::start(move |asked| {
        let results = asked.results();
        let last = results.last().map(String::as_str).unwrap_or_default();
        match results.len() {
            0 => Reply::Call(vec![writes(50_000), writes(50_001), ("Shell", json!({"command": "touch go"}))]),
            _ if last.contains("xxx") => Reply::Say("read".to_owned()),
            // Both on one page, once they are over.
            _ if last.matches("exit code 0:").count() == 2 => {
                Reply::Call(tasks(asked).iter().map(|id| ("task_read", json!({"id": id}))).collect())
            }
            _ => Reply::Call(vec![("Shell", json!({"command": "sleep 0.1"})), ("task_status", json!({}))]),
        }
    });
    let server = server(&model);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "work");
    let turn = ended(&client, &chat, 1);
    let last = model.asked().pop().unwrap();
    assert_eq!(turn["agent"]["status"], "done", "{turn}: {:?}", last.results().last());
    let reads: Vec<String> = last.results().into_iter().rev().take(2).collect();
    // Long results are put aside, and their beginning and end are shown.
    assert!(!reads[1].contains("left out …"), "{}", reads[1]);
    assert!(reads[0].contains("… 1 bytes left out …"), "{}", reads[0]);
}
