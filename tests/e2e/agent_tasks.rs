//! How a model's commands end, and how the output of those in the background is read.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tests::http::Client;
use tests::{Asked, Machine, Reply, ScriptedModel, Server, eventually, process};

use crate::agent::{ended, messages, new_chat, say};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);

fn server(model: &ScriptedModel) -> Server {
    Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat())
}

#[test]
fn a_cancel_ends_every_process_of_a_command_that_ignores_term() {
    let marker = format!("sleep {}", 58_000_000 + std::process::id());
    // The command ignores TERM, and a part of it is in a separate session.
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
    // The speed of a cancel is measured by `scripts/bench engine`.
    assert_eq!(ended(&client, &chat, 1)["agent"]["status"], "cancelled");
    eventually("nothing is left", PATIENCE, || (left() == 0).then_some(()));
    let card = messages(&client, &chat).pop().unwrap();
    assert!(card["text"].as_str().unwrap().contains("cancelled by the user"), "{card}");
    say(&client, &chat, "and now?");
    assert_eq!(ended(&client, &chat, 2)["text"], "on we go");
}

/// The ids of started tasks, in order.
fn tasks(asked: &Asked) -> Vec<String> {
    let results = asked.results();
    let ids =
        results.iter().filter_map(|result| result.split_once("It continues as task ")?.1.split(' ').next());
    ids.map(str::to_owned).collect()
}

#[test]
fn a_task_is_read_whole_up_to_50_000_bytes() {
    // The commands wait for a file, so that each of them becomes a task.
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
            // The output of both tasks is read in one page after they have ended.
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
    // Long results are offloaded: only their beginning and end are shown.
    assert!(!reads[1].contains("left out: "), "{}", reads[1]);
    assert!(reads[0].contains("… bytes left out: 1 …"), "{}", reads[0]);
}

#[test]
fn a_command_on_a_machine_lost_during_the_turn_is_audited() {
    let is_gone = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&is_gone);
    let model = ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "touch begun"}))]),
        1 => {
            eventually("the machine is offline", PATIENCE, || waits.load(Ordering::SeqCst).then_some(()));
            Reply::Call(vec![("Shell", json!({"command": "echo nowhere"}))])
        }
        _ => Reply::Say("there is no machine".to_owned()),
    });
    let server = server(&model);
    let alice = server.person("alice");
    let mut machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "work");
    eventually("the first one ran", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    machine.stop();
    eventually("the server notices the disconnect", PATIENCE, || (!alice.is_online("laptop")).then_some(()));
    is_gone.store(true, Ordering::SeqCst);
    let entry = eventually("it is in the audit trail", PATIENCE, || {
        let trail = client.call("GET", "/audit?action=exec&limit=10").json();
        trail["entries"].as_array().unwrap().iter().find(|entry| entry["target"] == "echo nowhere").cloned()
    });
    assert_eq!((&entry["outcome"], &entry["user"]), (&json!("offline"), &json!("alice")));
    assert_eq!(
        client.call("GET", "/execs").json().as_array().unwrap().len(),
        1,
        "the refused command has no exec record"
    );
}

#[test]
fn a_viewer_that_leaves_does_not_end_a_models_command() {
    // The command runs for longer than a client's own command would continue without the client.
    let command =
        "touch begun; for s in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo $s; sleep 1; done; echo whole";
    let model = ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": command}))]),
        _ => Reply::Say("done".to_owned()),
    });
    let server = server(&model);
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "work");
    eventually("it runs", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    let execs = client.call("GET", "/execs").json();
    let id = execs[0]["exec_id"].as_str().unwrap().to_owned();
    let mut viewer = alice.command(&["attach", &id]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut output, mut line) = (BufReader::new(viewer.stdout.take().unwrap()), String::new());
    output.read_line(&mut line).unwrap();
    assert!(line.trim().parse::<u8>().is_ok(), "the viewer sees the command's output: {line:?}");
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    ended(&client, &chat, 1);
    assert!(model.asked().pop().unwrap().results()[0].contains("whole\n(exit code 0)"));
    assert_eq!(client.call("GET", "/execs").json()[0]["status"], "exited");
}
