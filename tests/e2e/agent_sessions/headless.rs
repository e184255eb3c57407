//! `sandbridge chat --json`: the output that a program reads for an answer, however the answer ends, and the choice of
//! a chat.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Instant;

use rustix::process::Signal;
use tests::{Output, process};

use super::*;

fn lines(output: &Output) -> Vec<Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(lines: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    types.dedup();
    types
}

/// A program that reads the output line by line.
struct Reading {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Reading {
    fn start(person: &Person, arguments: &[&str]) -> Self {
        let mut command = person.command(arguments);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads lines up to the first one of this type.
    fn until(&mut self, kind: &str) -> Value {
        let mut lines =
            self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        lines.find(|line| line["type"] == kind).unwrap_or_else(|| panic!("no {kind}"))
    }

    fn signal(&self, signal: Signal) {
        process::signal(self.child.id().cast_signed(), signal);
    }

    /// All remaining lines, and the exit code.
    fn rest(mut self) -> (Vec<Value>, i32) {
        let lines = self.lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        (lines, self.child.wait().unwrap().code().unwrap())
    }
}

#[test]
fn a_program_reads_every_step_and_the_end() {
    let world = World::new(obeys);
    let _machine = Machine::start(&world.server, &world.alice, "laptop");
    let output = world.alice.run(&["chat", "--new", "--json", "--approval", "full", "shell echo out"]);
    assert_eq!(output.code, 0, "{output:?}");
    let lines = lines(&output);
    let types = types(&lines);
    assert!(
        types.starts_with(&["tool_start"]) && types.ends_with(&["tool_end", "text", "usage", "done"]),
        "{types:?}"
    );
    let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
    assert_eq!(
        (&of("tool_start")["tool"], &of("tool_start")["command"]),
        (&json!("Shell"), &json!("echo out"))
    );
    assert_eq!((&of("tool_end")["status"], &of("tool_end")["id"]), (&json!("done"), &of("tool_start")["id"]));
    let chat = of("done")["chat_id"].as_str().unwrap();
    assert_eq!(of("done")["exit_code"], 0);
    // Another program continues the chat, which it names by the first characters of its id, or as the latest one.
    for resume in [&["--resume", &chat[..8]][..], &["--resume"]] {
        let output = world.alice.run(&[&["chat", "--json"], resume, &["--", "hello"]].concat());
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains(chat), "{output:?}");
    }
    let said = world.alice.run(&["chat", "--resume", "what is it?"]);
    assert!(said.stdout.contains("I know 4"), "{said:?}");
    let undone = world.alice.run(&["chat", "--json", "/undo"]);
    assert!(undone.stdout.contains(r#""text":"what is it?","type":"input""#), "{undone:?}");
    let list = world.alice.json(&["chat", "list", "--json"]);
    assert_eq!((&list[0]["id"], list.as_array().unwrap().len()), (&json!(chat), 1));
    assert!(world.alice.run(&["chat", "list"]).stdout.contains("shell echo out"));
    let exported = world.alice.json(&["chat", "export", &chat[..6], "--format", "json"]);
    assert_eq!(exported["chat"]["id"], chat);
    assert!(world.alice.run(&["chat", "export", chat]).stdout.starts_with("# shell echo out\n"));
    for (arguments, code) in [
        (&["chat", "export", "ffff"][..], 1),
        (&["chat", "--resume", "ffff", "hello"], 1),
        (&["chat", "--resume", "--new", "hello"], 2),
        (&["chat", "--resume", "no id", "hello"], 2),
        (&["chat", "export"], 2),
    ] {
        assert_eq!(world.alice.run(arguments).code, code, "{arguments:?}");
    }
}

#[test]
fn a_program_gets_an_error_if_the_model_fails() {
    let world = World::new(|_| Reply::Refuse(401, json!({"error": {"message": "no such key"}}).to_string()));
    let output = world.alice.run(&["chat", "--new", "--json", "hello"]);
    let lines = lines(&output);
    assert_eq!((output.code, types(&lines)), (1, vec!["usage", "error", "done"]), "{output:?}");
    assert_eq!((&lines[1]["kind"], &lines[2]["exit_code"]), (&json!("failed"), &json!(1)));
}

#[test]
fn a_program_is_never_left_waiting_for_an_approval() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let begun = Instant::now();
    let output = world.alice.run(&["chat", "--new", "--json", "create a.txt x\nshell touch b.txt"]);
    assert!(begun.elapsed() < PATIENCE && output.code == 0, "{output:?}");
    let lines = lines(&output);
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let asked: Vec<&Value> = of("approval").iter().map(|line| &line["detail"]).collect();
    let asked: Vec<&str> = asked.into_iter().map(|detail| detail.as_str().unwrap()).collect();
    assert!(
        asked[0].starts_with("makes a new file of 1 line\nfile: ") && asked[0].contains("/a.txt\n"),
        "{asked:?}"
    );
    assert!(
        asked[1].starts_with("runs a command\nmachine: laptop\ndirectory: ")
            && asked[1].contains("  | touch b.txt\n")
    );
    assert!(of("tool_end").iter().all(|line| line["status"] == "denied") && of("tool_end").len() == 2);
    assert!(
        output.stdout.contains("--approval full"),
        "the output names the option that would allow it: {output:?}"
    );
    assert!(!machine.workspace().join("a.txt").exists() && !machine.workspace().join("b.txt").exists());
}

#[test]
fn an_interrupted_program_ends_the_turn_that_it_started() {
    let world = World::new(obeys);
    let _machine = Machine::start(&world.server, &world.alice, "laptop");
    let arguments = ["chat", "--new", "--json", "--approval", "full", "shell echo begun; sleep 600"];
    let mut reading = Reading::start(&world.alice, &arguments);
    reading.until("tool_output");
    reading.signal(Signal::INT);
    let (lines, code) = reading.rest();
    assert_eq!(code, 130, "{lines:?}");
    let ended = lines.iter().find(|line| line["type"] == "tool_end").unwrap();
    assert_eq!((&ended["status"], &lines.last().unwrap()["exit_code"]), (&json!("cancelled"), &json!(130)));
}

#[test]
fn a_program_gets_an_error_if_the_server_dies_during_an_answer() {
    let mut world = World::new(obeys);
    let machine = Machine::start_with(&world.server, &world.alice, "laptop", &["--reconnect-max", "0.2"]);
    let arguments = ["chat", "--new", "--json", "--approval", "full", "shell echo begun; sleep 600"];
    let mut reading = Reading::start(&world.alice, &arguments);
    reading.until("tool_output");
    world.server.kill();
    let (lines, code) = reading.rest();
    let last = lines.last().unwrap();
    assert_eq!((code, &last["type"], &last["kind"]), (125, &json!("error"), &json!("lost")), "{lines:?}");
    assert!(last["message"].as_str().unwrap().contains("--resume"), "{last}");
    let options = [&["--docker", "off"], &world.model.options("openai")[..]].concat();
    world.server.restart(&options);
    machine.wait_online(&world.alice, "laptop");
    let output = world.alice.run(&["chat", "--json", "--resume", "--", "hello"]);
    let said: String =
        self::lines(&output).iter().filter_map(|line| line["text"].as_str().map(str::to_owned)).collect();
    assert_eq!((output.code, said.as_str()), (0, "I know 2"), "{output:?}");
}

#[test]
fn a_program_that_was_too_slow_reads_everything_once() {
    /// The number of tool calls in each of the two replies that arrive while the program does not read.
    const CALLS: usize = 120;
    /// The length of the final answer, which is more than a connection buffers.
    const CHARACTERS: usize = 300_000;
    let said: String = (0..CHARACTERS / 10).map(|number| format!("{number:09} ")).collect();
    let (long, go) = (said.clone(), std::sync::Arc::new(std::sync::Barrier::new(2)));
    let gate = go.clone();
    let world = World::new(move |asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "echo begun"}))]),
        1 => {
            gate.wait();
            Reply::Call(vec![("Read", json!({"path": "a.txt"})); CALLS])
        }
        results if results == 1 + CALLS => Reply::Call(vec![("Read", json!({"path": "a.txt"})); CALLS]),
        _ => Reply::Say(long.clone()),
    });
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    fs::write(machine.workspace().join("a.txt"), "界".repeat(1_000)).unwrap();
    let arguments = ["chat", "--new", "--json", "--approval", "full", "read it"];
    let mut reading = Reading::start(&world.alice, &arguments);
    reading.until("tool_end");
    reading.signal(Signal::STOP);
    go.wait();
    let client = Client::login(&world.server, "alice");
    let id = client.call("GET", "/chats").json()[0]["id"].as_str().unwrap().to_owned();
    let chat = Chat { client, id };
    let first = chat.messages()[1]["id"].as_i64().unwrap();
    let path = format!("/chats/{}/messages?after={}&limit=1", chat.id, first - 1);
    eventually("the answer is over", PATIENCE, || {
        let page = chat.client.call("GET", &path).json();
        (page["messages"][0]["agent"]["status"] == "done").then_some(())
    });
    reading.signal(Signal::CONT);
    let (lines, code) = reading.rest();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert_eq!((code, of("tool_start").len(), of("tool_end").len()), (0, 2 * CALLS, 2 * CALLS));
    let read: String = of("text").iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert!(read == said, "{} of {} characters", read.len(), said.len());
    assert!(of("void").is_empty() && lines.last().unwrap()["type"] == "done");
    // If no output had been skipped, this test would prove nothing.
    assert!(of("text").len() < CHARACTERS / 5, "the program was never too slow");
}
