//! A user's work through the balancer, and the checks of its results.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::platforms::telegram::{TOKEN, Telegram};
use tests::random::Random;
use tests::{Asked, Machine, Person, Reply, eventually};

use super::terminal::typed;
use crate::groups::tools::fresh;

/// The timeout for any answer during a fault.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// The longest wait for the answer to a request before the request is repeated.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before a request is repeated.
const AGAIN: Duration = Duration::from_millis(200);
/// The number of kinds of work; each round contains each of them, in random order.
const KINDS: usize = 7;
/// The minimum number of rounds of each user, even if the faults end sooner.
const ROUNDS_MIN: usize = 3;
/// The number of commands in one chat.
const COMMANDS_PER_CHAT: usize = 20;
/// The Telegram id of the person on the phone.
const PERSON: i64 = 4001;
/// The steps of the group's chain.
const STEPS: &str = "1. @coder: part A\n2. @coder: part B\n";
/// The states of a turn that has ended.
const ENDED: [&str; 4] = ["done", "failed", "cancelled", "interrupted"];
/// The size of an uploaded file, in bytes.
const FILE_BYTES: u64 = 300_000;

/// The number of tasks that were begun, and the number of those that ended as they would have without faults.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) begun: usize,
    pub(super) ended: usize,
}

/// Counts of a user's work: commands in chats, turns of agents, commands of the CLI and in terminals, runs of a chain, messages from a
/// messenger, and files that were uploaded and read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    commands: Count,
    turns: Count,
    execs: Count,
    terminals: Count,
    chains: Count,
    phone: Count,
    files: Count,
}

impl Tally {
    /// The counts of all kinds.
    pub(super) fn counts(&self) -> [&Count; 7] {
        [&self.commands, &self.turns, &self.execs, &self.terminals, &self.chains, &self.phone, &self.files]
    }
}

/// A user with all clients that generate work.
pub(super) struct Load {
    person: Person,
    machine: Machine,
    telegram: Telegram,
    /// The chats that this test created.
    own: Mutex<HashSet<String>>,
    /// The id of a group with an agent of the user.
    group: String,
    client: Client,
    random: Mutex<Random>,
    seen: Mutex<HashMap<String, Vec<i64>>>,
}

/// The model's script: for `turn N` and each step of a chain it runs a command, and answers `done N` if it gets the output.
pub(super) fn script(asked: &Asked) -> Reply {
    let said = asked.last_of_user();
    // The group's log precedes the request.
    let said = said.rsplit("</log>").next().unwrap_or_default();
    let (mark, file) = if let Some((_, number)) = said.split_once("turn ") {
        (number.trim().to_owned(), "turns")
    } else if let Some((_, number)) = said.split_once("phone ") {
        return Reply::Say(format!("heard {}", number.trim()));
    } else if let (Some((_, run)), Some((_, part))) = (said.split_once("run-"), said.split_once("part ")) {
        (format!("{}{}", run.split('-').next().unwrap(), &part[..1]), "chains")
    } else {
        return Reply::Say("A title".to_owned());
    };
    match fresh(asked).last() {
        None => Reply::Call(vec![("Shell", json!({"command": line(&mark, file)}))]),
        Some(result) if result.contains(&format!("out {mark}")) => Reply::Say(format!("done {mark}")),
        Some(result) => Reply::Say(format!("not done: {result}")),
    }
}

/// A command that appends a line to a file and prints the same line.
pub(super) fn line(number: &str, file: &str) -> String {
    format!("echo {number} >> {file}; sleep 0.2; echo out {number}")
}

impl Load {
    pub(super) fn new(person: &Person, token: &str, url: &str, seed: u64) -> Self {
        let person = person.at(url);
        let machine = Machine::start_at(url, &person, "laptop", &[]);
        let group = person.json(&["group", "create", "Work", "--json"])["id"].to_string();
        person.json(&[
            "group",
            "add-agent",
            &group,
            "coder",
            "--on",
            "laptop",
            "--approval",
            "full",
            "--json",
        ]);
        let set = person.with_stdin(&["group", "chain", "set", &group, "pair", "-"], STEPS.as_bytes());
        assert_eq!(set.code, 0, "{set:?}");
        let telegram = phone(&person);
        let client = Client::at(url, token, REQUEST_TIMEOUT);
        let (random, seen) = (Mutex::new(Random::from(seed)), Mutex::default());
        let own = Mutex::default();
        Self { person, machine, telegram, own, group, client, random, seen }
    }

    pub(super) fn name(&self) -> &str {
        &self.person.name
    }

    pub(super) fn is_online(&self) -> bool {
        let list = self.json("GET", "/runners", b"");
        list.as_array().unwrap().iter().any(|one| one["name"] == "laptop" && one["online"] == true)
    }

    /// Works until the faults are over, and then checks the results.
    pub(super) fn work(&self, is_over: &AtomicBool) -> Tally {
        let (mut commands, mut turns, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut said, mut tally) = (Vec::new(), Tally::default());
        let mut chat = self.new_chat();
        let mut number = 0;
        let mut left = Vec::new();
        while !is_over.load(Ordering::SeqCst) || number < KINDS * ROUNDS_MIN {
            number += 1;
            if left.is_empty() {
                left.extend(0..KINDS);
            }
            let at = self.random.lock().unwrap().within(0..left.len() as u64);
            match left.swap_remove(usize::try_from(at).unwrap()) {
                0 => {
                    if commands.len() % COMMANDS_PER_CHAT == COMMANDS_PER_CHAT - 1 {
                        chat = self.new_chat();
                    }
                    let text = format!("!{}", line(&number.to_string(), "commands"));
                    self.say(&chat, &text, number);
                    commands.push((chat.clone(), number, text));
                }
                1 => {
                    let chat = self.new_chat();
                    let text = format!("turn {number}");
                    self.say(&chat, &text, number);
                    turns.push((chat, number, text));
                }
                2 => {
                    tally.execs.begun += 1;
                    tally.execs.ended += usize::from(self.exec(number));
                }
                3 => {
                    tally.terminals.begun += 1;
                    tally.terminals.ended += usize::from(self.terminal(number));
                }
                4 => {
                    self.stop_asking();
                    let start = json!({"request": format!("run-{number}-"), "send_id": number.to_string()});
                    let path = format!("/groups/{}/chains/pair/runs", self.group);
                    let run = self.json("POST", &path, start.to_string().as_bytes());
                    runs.push((run["id"].as_i64().unwrap(), number));
                }
                5 => {
                    self.telegram.say(PERSON, &format!("phone {number}"));
                    said.push(number);
                }
                _ => {
                    tally.files.begun += 1;
                    self.transfer(number);
                    tally.files.ended += 1;
                }
            }
            self.look(&chat);
        }
        tally.commands = Count { begun: commands.len(), ended: 0 };
        tally.turns = Count { begun: turns.len(), ended: 0 };
        for (chat, number, text) in &commands {
            tally.commands.ended += usize::from(self.check_command(chat, *number, text));
        }
        for (chat, number, text) in &turns {
            tally.turns.ended += usize::from(self.check_turn(chat, *number, text));
        }
        for (run, number) in &runs {
            tally.chains.begun += 1;
            tally.chains.ended += usize::from(self.check_run(*run, *number));
        }
        tally.phone = Count { begun: said.len(), ended: self.check_phone(&said) };
        tally
    }

    /// Repeats a request until it is answered.
    fn insist(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        eventually(&format!("{method} {path} is answered"), PATIENCE, || {
            let answer = self.client.try_send(method, path, body);
            match answer.as_ref().map(|answer| answer.status) {
                Ok(200..=299) => return Some(answer.unwrap().body),
                // The server or the runner is busy or unavailable.
                Ok(409 | 429 | 500..=599) | Err(_) => std::thread::sleep(AGAIN),
                Ok(_) => panic!("{method} {path}: {answer:?}"),
            }
            None
        })
    }

    fn json(&self, method: &str, path: &str, body: &[u8]) -> Value {
        serde_json::from_slice(&self.insist(method, path, body)).unwrap()
    }

    fn new_chat(&self) -> String {
        let chat = self.json("POST", "/chats", b"{}")["id"].as_str().unwrap().to_owned();
        self.own.lock().unwrap().insert(chat.clone());
        self.insist("PUT", &format!("/chats/{chat}/approval"), br#"{"mode":"full"}"#);
        chat
    }

    /// Posts a message once, repeating the request until it is answered.
    fn say(&self, chat: &str, text: &str, number: usize) {
        let body = json!({"text": text, "send_id": number.to_string()}).to_string();
        self.insist("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    }

    fn messages(&self, chat: &str) -> Vec<Value> {
        let mut messages: Vec<Value> = Vec::new();
        loop {
            let before = messages.first().map(|first| format!("?before={}", first["id"]));
            let path = format!("/chats/{chat}/messages{}", before.unwrap_or_default());
            let mut earlier = self.json("GET", &path, b"")["messages"].as_array().unwrap().clone();
            if earlier.is_empty() {
                return messages;
            }
            earlier.append(&mut messages);
            messages = earlier;
        }
    }

    /// Checks that messages seen earlier keep their order, and that none appears above them.
    fn look(&self, chat: &str) {
        let ids: Vec<i64> =
            self.messages(chat).iter().map(|message| message["id"].as_i64().unwrap()).collect();
        assert!(ids.is_sorted(), "{ids:?}");
        let mut seen = self.seen.lock().unwrap();
        let before = seen.entry(chat.to_owned()).or_default();
        assert!(ids.starts_with(before), "{before:?} were seen before {ids:?}");
        *before = ids;
    }

    /// Runs a command through the CLI; true if the CLI reports success.
    fn exec(&self, number: usize) -> bool {
        let number = number.to_string();
        let arguments = ["exec", "--on", "laptop", "--", "sh", "-c", &line(&number, "execs")];
        let (code, stdout) = ended(self.person.command(&arguments));
        let lines = self.lines("execs", &number);
        assert!(lines <= 1, "exec {number} ran {lines} times");
        if code == Some(0) {
            assert_eq!((stdout.as_str(), lines), (format!("out {number}\n").as_str(), 1));
        }
        code == Some(0)
    }

    /// Types a command into a terminal; true if the terminal shows its output. The typed line does not contain the output, and nothing is typed
    /// twice.
    fn terminal(&self, number: usize) -> bool {
        let number = number.to_string();
        let command = format!("echo {number} >> terminals; echo shown ''{number}.");
        let is_shown = typed(&self.person, &command, &format!("shown {number}."));
        let lines = self.lines("terminals", &number);
        assert!(lines <= 1 && (!is_shown || lines == 1), "{number} was typed once and ran {lines} times");
        is_shown
    }

    /// Uploads a file and reads it again.
    fn transfer(&self, number: usize) {
        let seed = self.random.lock().unwrap().within(0..u64::MAX);
        let mut bytes = Random::from(seed);
        let content: Vec<u8> = (0..FILE_BYTES).map(|_| u8::try_from(bytes.within(0..256)).unwrap()).collect();
        let path = format!("/files?path=file-{number}");
        self.insist("PUT", &path, &content);
        let on_disk = fs::read(self.machine.workspace().join(format!("file-{number}"))).unwrap();
        assert!(on_disk == content, "file {number} has {} bytes", on_disk.len());
        assert!(self.insist("GET", &path, b"") == content, "file {number} was read");
        fs::remove_file(self.machine.workspace().join(format!("file-{number}"))).unwrap();
    }

    /// The number of times that the command with this number wrote its line.
    fn lines(&self, file: &str, number: &str) -> usize {
        let content = fs::read_to_string(self.machine.workspace().join(file)).unwrap_or_default();
        content.lines().filter(|line| *line == number).count()
    }

    fn check_said_once(messages: &[Value], text: &str) {
        let said = messages.iter().filter(|message| message["role"] == "user" && message["text"] == text);
        assert_eq!(said.count(), 1, "{text} in {messages:?}");
    }

    /// Checks that a command was posted once, ran at most once, and that its recorded end is right. Returns true if the command exited.
    fn check_command(&self, chat: &str, number: usize, text: &str) -> bool {
        let command = text.trim_start_matches('!');
        let (messages, exec) = eventually("the command's end is on record", PATIENCE, || {
            let messages = self.messages(chat);
            let mut execs = messages.iter().filter(|message| message["exec"]["command"] == command);
            let exec = execs.next()?.clone();
            assert!(execs.next().is_none(), "{text} has two records");
            (exec["exec"]["status"] != "running").then_some((messages, exec))
        });
        Self::check_said_once(&messages, text);
        let lines = self.lines("commands", &number.to_string());
        match exec["exec"]["status"].as_str().unwrap() {
            "exited" => {
                assert_eq!((&exec["exec"]["exit_code"], lines), (&json!(0), 1), "{exec}");
                assert!(exec["text"].as_str().unwrap().contains(&format!("out {number}")), "{exec}");
                true
            }
            "failed" => {
                assert_eq!(lines, 0, "{exec}");
                false
            }
            _ => {
                assert!(lines <= 1, "{exec}");
                false
            }
        }
    }

    /// Checks that a turn was requested once, that its command ran at most once, and that it ended. Returns true if the turn was completed.
    fn check_turn(&self, chat: &str, number: usize, text: &str) -> bool {
        let done = format!("done {number}");
        let messages = eventually("the turn has ended", PATIENCE, || {
            let messages = self.messages(chat);
            let statuses = messages.iter().filter_map(|message| message["agent"]["status"].as_str());
            let ended = statuses.filter(|status| ENDED.contains(status)).count() > 0;
            ended.then_some(messages)
        });
        Self::check_said_once(&messages, text);
        assert!(
            messages.iter().filter(|message| message["text"] == done.as_str()).count() <= 1,
            "{messages:?}"
        );
        let lines = self.lines("turns", &number.to_string());
        let is_done = messages.iter().any(|message| message["text"] == done.as_str());
        assert!(
            lines <= 1 && (!is_done || lines == 1),
            "turn {number} ran its command {lines} times: {messages:?}"
        );
        is_done
    }

    /// Stops the runs that wait for an answer about a failed step: a group has at most 20 runs that have not ended.
    fn stop_asking(&self) {
        let runs = self.json("GET", &format!("/groups/{}/runs", self.group), b"");
        for run in runs.as_array().unwrap().iter().filter(|run| !run["gate"].is_null()) {
            self.insist("POST", &format!("/groups/{}/runs/{}/stop", self.group, run["id"]), b"");
        }
    }

    /// Checks that a run of a chain did each step at most once and in order, and that it ended or asks a person. Returns true if both steps succeeded.
    fn check_run(&self, run: i64, number: usize) -> bool {
        let path = format!("/groups/{}/runs/{run}", self.group);
        let view = eventually("the run has ended, or asks", PATIENCE, || {
            let view = self.json("GET", &path, b"");
            (!view["ended_at"].is_null() || !view["gate"].is_null()).then_some(view)
        });
        let marks = [format!("{number}A"), format!("{number}B")];
        let content = fs::read_to_string(self.machine.workspace().join("chains")).unwrap_or_default();
        let lines: Vec<_> = content.lines().filter(|line| marks.iter().any(|mark| mark == line)).collect();
        assert!(lines.is_sorted(), "run {number}: {lines:?}, {view}");
        let is_done = |(mark, step): (&String, &Value)| {
            let times = lines.iter().filter(|line| *line == mark).count();
            let is_done = step["output"] == format!("done {mark}");
            assert!(times <= 1 && (!is_done || times == 1), "run {number}: {lines:?}, {view}");
            is_done
        };
        marks.iter().zip(view["steps"].as_array().unwrap()).filter(|step| is_done(*step)).count()
            == marks.len()
    }

    /// Checks that each message from the phone is in one chat, once, and was answered, except for answers whose delivery has an
    /// unknown outcome. Returns the number of answers.
    fn check_phone(&self, said: &[usize]) -> usize {
        let status = eventually("nothing waits to be sent", PATIENCE, || {
            let posted = self.posted();
            let status = self.json("GET", "/channels", b"")["channels"][0].clone();
            let is_whole = said.iter().all(|number| posted.contains(number));
            (is_whole && status["waiting"] == 0).then_some(status)
        });
        let mut posted = self.posted();
        posted.sort_unstable();
        assert_eq!(posted, said, "each once");
        let heard = heard(&self.telegram);
        let times = |number: &usize| {
            let answer = format!("heard {number}");
            heard.iter().filter(|text| **text == answer).count()
        };
        let counts: Vec<usize> = said.iter().map(times).collect();
        let (failed, unsure) = (status["failed"].as_u64().unwrap(), status["unsure"].as_u64().unwrap());
        let doubled = counts.iter().filter(|count| **count > 1).count() as u64;
        assert!(counts.iter().all(|count| *count <= 2) && doubled <= unsure, "{counts:?}: {status}");
        let answered = counts.iter().filter(|count| **count > 0).count();
        let cut = heard.iter().filter(|text| text.contains('⚠')).count();
        assert!(
            answered + cut + usize::try_from(failed).unwrap() >= said.len(),
            "{counts:?}: {status}, {heard:?}"
        );
        answered
    }

    /// The numbers of the messages from the phone, in all chats.
    fn posted(&self) -> Vec<usize> {
        let chats = self.json("GET", "/chats", b"");
        let own = self.own.lock().unwrap();
        let ids = chats.as_array().unwrap().iter().map(|chat| chat["id"].as_str().unwrap());
        let messages = ids.filter(|id| !own.contains(*id)).flat_map(|id| self.messages(id));
        let of_user = messages.filter(|message| message["role"] == "user");
        of_user.filter_map(|message| message["text"].as_str()?.strip_prefix("phone ")?.parse().ok()).collect()
    }
}

/// A messenger that is linked with the user.
fn phone(person: &Person) -> Telegram {
    let telegram = Telegram::start();
    telegram.unhurried();
    let api = format!("api={}", telegram.url());
    let add = ["channel", "add", "phone", "telegram", "--secrets-stdin", "--set", &api];
    let added = person.with_stdin(&add, format!("token={TOKEN}\n").as_bytes());
    assert_eq!(added.code, 0, "{added:?}");
    let code = person.json(&["channel", "link", "phone", "--json"])["code"].as_str().unwrap().to_owned();
    telegram.say(PERSON, &code);
    eventually("the person is linked", PATIENCE, || {
        heard(&telegram).iter().any(|text| text.contains("You are linked as")).then_some(())
    });
    telegram
}

/// The bot's messages.
fn heard(telegram: &Telegram) -> Vec<String> {
    let said = telegram.messages();
    said.iter().map(|message| message.parameters["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Runs a command that must end in time; returns its exit code and output.
fn ended(mut command: Command) -> (Option<i32>, String) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let status = eventually("the exec ends", PATIENCE, || child.try_wait().unwrap());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    (status.code(), stdout)
}
