//! The time that hooks add to a tool call of a model.
//!
//! A scripted model calls a tool that only looks into the store, again and again: without hooks, with hooks of other tools, and with a
//! command hook of this tool. What a bare exec costs is measured in the same way: a call of `Shell` with `true` instead. The kinds take
//! turns, each in a chat of its own, and a sample is the time from the end of an answer to the whole next request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedModel, Server};

use crate::samples::{Row, Samples, WARM_UPS, shown};

/// How often each kind has its turn.
const ROUNDS: usize = 4;
/// Answers of one turn: all but the last one call a tool.
const ITERATIONS: usize = 60;
/// The most that hooks of other tools may add to a call.
const NONE_FIT: Duration = Duration::from_micros(100);
/// The most that a command hook may take beyond a bare exec.
const COMMAND: Duration = Duration::from_millis(5);
/// As for the engine's rows.
const HABITS: Habits = Habits { remembers: false, counts: false, pauses: true };

pub(crate) fn rows() -> Vec<Row> {
    let runs_shell = Arc::new(AtomicBool::new(false));
    let (said, done) = channel();
    let (shell, mut answers) = (Arc::clone(&runs_shell), 0);
    let model = ScriptedModel::start_with(HABITS, move |_| {
        answers += 1;
        if answers % ITERATIONS == 0 {
            said.send(()).unwrap();
            return Reply::Say("done".to_owned());
        }
        match shell.load(Ordering::Relaxed) {
            true => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
            false => Reply::Call(vec![("offload_recall", json!({"id": "x"}))]),
        }
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, &alice.name);
    let hook = |matcher: &str| {
        json!({"enable_command_hooks": true, "hooks": {"PreToolUse": [
            {"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}
        ]}})
    };
    // The kinds: their hooks, and true if the model runs a command itself.
    let kinds: [(Option<Value>, bool); 4] = [
        (None, false),
        (Some(hook("NoSuchTool")), false),
        (Some(hook("offload_recall")), false),
        (None, true),
    ];
    let mut samples: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for ((document, is_shell), samples) in kinds.iter().zip(&mut samples) {
            runs_shell.store(*is_shell, Ordering::Relaxed);
            let text = document.as_ref().map(Value::to_string);
            let set = client.send("PUT", "/hooks/document", json!({"text": text}).to_string().as_bytes());
            assert_eq!(set.status, 200);
            let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
            let mode = client.send("PUT", &format!("/chats/{chat}/approval"), br#"{"mode": "full"}"#);
            assert_eq!(mode.status, 200);
            let before = model.times().len();
            let answer = client.send("POST", &format!("/chats/{chat}/messages"), br#"{"text": "work"}"#);
            assert_eq!(answer.status, 202);
            done.recv().unwrap();
            // The end of the turn is stored after its last answer; the next kind must not wait for that.
            std::thread::sleep(Duration::from_millis(50));
            let times = model.times().split_off(before);
            samples.extend(times.windows(2).skip(WARM_UPS).map(|pair| pair[1].0 - pair[0].1));
        }
    }
    let [none, others, command, exec] = samples.map(Samples::new);
    let added = |samples: &Samples| samples.p50().saturating_sub(none.p50());
    let within = |row: Row, what: &str, added: Duration, limit: Duration| Row {
        against: format!("{what}: adds {}", shown(added)),
        ratio: format!("{:.2} ×", added.as_secs_f64() / limit.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
        ..row
    };
    let beyond = added(&command).saturating_sub(added(&exec));
    vec![
        none.row("engine, a call without hooks"),
        within(
            others.row("engine, a call with hooks of other tools"),
            "at most 0.1 ms more than without",
            added(&others),
            NONE_FIT,
        ),
        exec.row("engine, a call that runs `true`"),
        within(
            command.row("engine, a call with a command hook `true`"),
            "at most 5 ms more than a bare exec",
            beyond,
            COMMAND,
        ),
    ]
}
