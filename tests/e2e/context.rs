//! A conversation much longer than its model's window.

mod stale;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::random::{Random, count};
use tests::{Asked, Habits, Machine, Reply, ScriptedModel, Server, eventually};

/// How long any one answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The model's window, in tokens of four bytes.
const WINDOW_TOKENS: usize = 30_000;
/// One turn in so many reads something that is asked for later.
const FACT_EVERY: u64 = 5;
/// How the request for a summary begins.
const SUMMARY: &str = "The conversation so far has become long.";

/// What happened so far, as the model saw it.
#[derive(Default)]
struct Seen {
    last: String,
    /// Bytes of each request that were in the one before, and all of them; but for those right behind a compression.
    shared: u64,
    asked: u64,
    requests: u64,
    compressions: u64,
    maskings: u64,
    recalls: u64,
    too_long: Vec<usize>,
    wrong: Vec<String>,
    is_behind_compression: bool,
    /// The server was started again: the next request must go on where the last one ended.
    is_restarted: bool,
}

impl Seen {
    fn note(&mut self, asked: &Asked, is_summary: bool) {
        let raw = &asked.raw;
        self.requests += 1;
        if raw.len() / 4 > WINDOW_TOKENS {
            self.too_long.push(raw.len() / 4);
        }
        let shared = raw.bytes().zip(self.last.bytes()).take_while(|(one, other)| one == other).count();
        let masks = |raw: &str| raw.matches("[masked:mk_").count();
        let is_masking = masks(raw) > masks(&self.last) && shared + 2 < self.last.len();
        self.maskings += u64::from(is_masking);
        if !is_summary && !self.is_behind_compression {
            self.shared += shared as u64;
            self.asked += raw.len() as u64;
        }
        if self.is_restarted && !is_summary && !is_masking && !self.is_behind_compression {
            // All but the brackets at its end.
            assert!(
                shared + 2 >= self.last.len(),
                "other bytes after a restart: {shared} of {}",
                self.last.len()
            );
            self.is_restarted = false;
        }
        self.compressions += u64::from(is_summary);
        // What the summary was asked with is no beginning of what comes then.
        self.is_behind_compression = is_summary;
        raw.clone_into(&mut self.last);
    }
}

fn messages_of(asked: &Asked) -> &Vec<Value> {
    asked.body["messages"].as_array().unwrap()
}

fn text(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// What the user said last, though it may be in a summary alone.
fn question(asked: &Asked) -> String {
    let last = asked.last_of_user();
    last.rsplit_once("word for word:]\n").map_or(last.clone(), |(_, quote)| quote.to_owned())
}

/// The number behind a prefix.
fn number(text: &str, prefix: &str) -> Option<u64> {
    let digits: String = text.split_once(prefix)?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn ids(text: &str) -> Vec<String> {
    let found = ["ol_", "mk_"].iter().flat_map(|prefix| text.match_indices(prefix));
    let ids = found.filter_map(|(at, _)| text.get(at..at + 11));
    ids.filter(|id| id[3..].bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned).collect()
}

/// What is known of each fact: the fact itself, or the ids it is found by.
#[derive(Default)]
struct Known {
    facts: BTreeMap<u64, String>,
    places: BTreeMap<u64, Vec<String>>,
}

impl Known {
    /// Reads it from all that the model is shown.
    fn of(asked: &Asked) -> Self {
        let mut known = Self::default();
        let mut calls: BTreeMap<&str, &str> = BTreeMap::new();
        for message in messages_of(asked) {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                calls.insert(call["id"].as_str().unwrap(), call["function"]["arguments"].as_str().unwrap());
            }
            known.facts_in(text(message));
            if message["role"] == "tool" {
                let about = calls.get(message["tool_call_id"].as_str().unwrap()).copied().unwrap_or_default();
                known.place(about, text(message));
            } else {
                text(message).lines().for_each(|line| known.place(line, line));
            }
        }
        known
    }

    fn facts_in(&mut self, text: &str) {
        for line in text.lines() {
            if let (Some(number), Some((_, fact))) = (number(line, "FACT "), line.split_once(" is ")) {
                self.facts.insert(number, fact.to_owned());
            }
        }
    }

    fn place(&mut self, about: &str, text: &str) {
        let Some(number) = number(about, "file").filter(|number| number.is_multiple_of(FACT_EVERY)) else {
            return;
        };
        let first = text.lines().next().unwrap_or_default();
        let ids = ids(first);
        if !ids.is_empty() {
            self.places.insert(number, ids);
        }
    }

    fn summary(&self) -> String {
        let mut summary = String::from("## Facts\n");
        for (number, fact) in &self.facts {
            writeln!(summary, "FACT {number} is {fact}").unwrap();
        }
        summary.push_str("## Results that still matter\n");
        for (number, ids) in self.places.iter().filter(|(number, _)| !self.facts.contains_key(number)) {
            writeln!(summary, "file{number}.txt: {}", ids.join(" ")).unwrap();
        }
        summary
    }
}

/// Works, and answers what is asked for out of what it is shown and may recall.
fn script(asked: &Asked, seen: &Mutex<Seen>, done: &Sender<()>) -> Reply {
    let is_summary = asked.last_of_user().starts_with(SUMMARY);
    let mut seen = seen.lock().unwrap();
    seen.note(asked, is_summary);
    if is_summary {
        return Reply::Say(Known::of(asked).summary());
    }
    let question = question(asked);
    let messages = messages_of(asked);
    let from = messages.iter().rposition(|message| text(message).contains(&question)).unwrap();
    let results: Vec<&str> =
        messages[from..].iter().filter(|message| message["role"] == "tool").map(text).collect();
    let reply = if let Some(wanted) = number(&question, "what is fact ") {
        answer(asked, wanted, &results, &mut seen)
    } else if results.is_empty() {
        let number = number(&question, "turn ").unwrap();
        let path = format!("file{number}.txt");
        match number % 2 {
            0 => Reply::Call(vec![("Read", json!({"path": path}))]),
            _ => Reply::Call(vec![("Shell", json!({"command": format!("cat {path}")}))]),
        }
    } else {
        Reply::Say(format!("{question} is done. {}", "I have seen it all. ".repeat(20)))
    };
    if matches!(reply, Reply::Say(_)) {
        done.send(()).unwrap();
    }
    reply
}

fn answer(asked: &Asked, wanted: u64, results: &[&str], seen: &mut Seen) -> Reply {
    let known = Known::of(asked);
    if let Some(fact) = known.facts.get(&wanted) {
        if *fact != fact_of(wanted) {
            seen.wrong.push(format!("fact {wanted} is {fact}"));
        }
        return Reply::Say(format!("It is {fact}."));
    }
    let Some(ids) = known.places.get(&wanted).filter(|_| results.len() < 4) else {
        seen.wrong.push(format!("fact {wanted} is lost: {results:?}"));
        return Reply::Say("I do not know any more.".to_owned());
    };
    seen.recalls += 1;
    match ids.iter().find(|id| id.starts_with("ol_")) {
        Some(id) => {
            let offset = results.len() * 16_000;
            Reply::Call(vec![("offload_recall", json!({"id": id, "offset": offset}))])
        }
        None => Reply::Call(vec![("recall_masked", json!({"id": ids[0]}))]),
    }
}

fn fact_of(number: u64) -> String {
    format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Files of about 600 tokens, and every third one of more than is kept in a conversation; facts stand in the middle.
fn put_files(workspace: &Path, turns: u64) {
    for number in 0..turns {
        let lines = if number.is_multiple_of(3) { 240 } else { 60 };
        let mut content = String::new();
        for line in 0..lines {
            if line == lines / 2 && number.is_multiple_of(FACT_EVERY) {
                writeln!(content, "FACT {number} is {}", fact_of(number)).unwrap();
            }
            writeln!(content, "line {line} of the file of number {number}").unwrap();
        }
        fs::write(workspace.join(format!("file{number}.txt")), content).unwrap();
    }
}

fn say(client: &Client, chat: &str, text: &str) {
    let body = json!({"text": text}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes()).status, 202);
}

fn new_chat(client: &Client) -> String {
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let mode = json!({"mode": "full"}).to_string();
    assert_eq!(client.send("PUT", &format!("/chats/{chat}/approval"), mode.as_bytes()).status, 200);
    chat
}

fn messages(client: &Client, chat: &str) -> Vec<Value> {
    client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"].as_array().unwrap().clone()
}

/// The first notice that contains a text.
fn notice(client: &Client, chat: &str, containing: &str) -> String {
    eventually(containing, PATIENCE, || {
        let notices = messages(client, chat).into_iter().filter(|message| message["role"] == "notice");
        let mut texts = notices.map(|message| message["text"].as_str().unwrap().to_owned());
        texts.find(|text| text.contains(containing))
    })
}

fn wait(done: &Receiver<()>) {
    done.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_long_conversation_stays_within_the_window_and_loses_no_fact() {
    let mut random = Random::seeded();
    let turns = count("SANDBRIDGE_CONTEXT_TURNS", 90);
    let (seen, (sender, done)) = (Arc::new(Mutex::new(Seen::default())), channel());
    let its_seen = seen.clone();
    let habits = Habits { remembers: false, counts: true, pauses: false };
    let model = ScriptedModel::start_with(habits, move |asked| script(asked, &its_seen, &sender));
    let window = WINDOW_TOKENS.to_string();
    let options =
        [&["--docker", "off", "--llm-window-tokens", &window], &model.options("openai")[..]].concat();
    let mut server = Server::start_with(&options);
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &["--reconnect-max", "0.2"]);
    put_files(machine.workspace(), turns);
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client);
    let mut asks = 0;
    for number in 0..turns {
        say(&client, &chat, &format!("turn {number} begins"));
        wait(&done);
        if number % 10 == 9 {
            let wanted = random.within(0..number / FACT_EVERY + 1) * FACT_EVERY;
            say(&client, &chat, &format!("what is fact {wanted} ?"));
            wait(&done);
            asks += 1;
        }
        if number == turns / 2 {
            server.restart(&options);
            machine.wait_online(&alice, "laptop");
            seen.lock().unwrap().is_restarted = true;
        }
    }
    for wanted in (0..turns).step_by(FACT_EVERY as usize) {
        say(&client, &chat, &format!("what is fact {wanted} ?"));
        wait(&done);
        asks += 1;
    }
    let seen = seen.lock().unwrap();
    let hits = seen.shared as f64 / seen.asked as f64;
    println!(
        "{turns} turns, {} requests, {} compressions, {} maskings, {} recalls for {asks} facts, {:.1} % of all bytes were there before",
        seen.requests,
        seen.compressions,
        seen.maskings,
        seen.recalls,
        hits * 100.0
    );
    assert!(seen.too_long.is_empty(), "longer than the window: {:?}", seen.too_long);
    assert!(seen.wrong.is_empty(), "{:?}", seen.wrong);
    assert!(seen.compressions > 0 && seen.maskings > 0 && seen.recalls > 0, "the test tests nothing");
    assert!(hits >= 0.85, "{hits}");
    assert!(notice(&client, &chat, "was compressed: about").contains("of 30,000 tokens"));
}

#[test]
fn a_user_compresses_and_sees_what_fills_the_window_and_a_failing_provider_changes_nothing() {
    let is_down = Arc::new(Mutex::new(true));
    let its_down = is_down.clone();
    let model = ScriptedModel::start(move |asked| match asked.last_of_user() {
        last if last.starts_with(SUMMARY) && *its_down.lock().unwrap() => Reply::Refuse(401, "{}".to_owned()),
        last if last.starts_with(SUMMARY) => Reply::Say("they greeted each other".to_owned()),
        last => Reply::Say(format!("{last} {}", "to you too ".repeat(100))),
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("anthropic")[..]].concat());
    let _alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client);
    say(&client, &chat, "/context");
    notice(&client, &chat, "told nothing");
    say(&client, &chat, "/compress");
    notice(&client, &chat, "nothing was said yet");
    for number in 0..10 {
        say(&client, &chat, &format!("hello {number}"));
    }
    let asked = |last: &str| {
        eventually(last, PATIENCE, || {
            model.asked().into_iter().find(|asked| asked.last_of_user().contains(last))
        })
    };
    asked("hello 9");
    say(&client, &chat, "/compress");
    notice(&client, &chat, "refused the key");
    *is_down.lock().unwrap() = false;
    say(&client, &chat, "all is as it was");
    let before = asked("all is as it was");
    assert!(before.raw.contains("hello 0"), "nothing was changed");
    say(&client, &chat, "/compress");
    notice(&client, &chat, "was compressed: about");
    say(&client, &chat, "and now");
    let after = asked("and now");
    assert!(after.raw.contains("they greeted each other") && !after.raw.contains("hello 0"), "{}", after.raw);
    assert!(after.raw.contains("all is as it was") && after.raw.len() < before.raw.len());
    say(&client, &chat, "/context");
    let context = notice(&client, &chat, "a summary of what was before");
    assert!(context.contains("of 200,000 tokens"), "{context}");
}

#[test]
fn a_model_that_stands_in_writes_the_summary_too() {
    let model = ScriptedModel::start(|asked| match asked.last_of_user() {
        last if last.starts_with(SUMMARY) && asked.body["model"] == "scripted" => {
            Reply::Refuse(402, "{}".to_owned())
        }
        last if last.starts_with(SUMMARY) => Reply::Say("they greeted each other".to_owned()),
        last => Reply::Say(format!("{last} {}", "to you too ".repeat(100))),
    });
    let standing_in = ["--docker", "off", "--llm-model-swift", "small", "--llm-fallback", "swift"];
    let server = Server::start_with(&[&standing_in, &model.options("openai")[..]].concat());
    let _alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client);
    for number in 0..10 {
        say(&client, &chat, &format!("hello {number}"));
    }
    let asked = |last: &str| {
        eventually(last, PATIENCE, || {
            model.asked().into_iter().find(|asked| asked.last_of_user().contains(last))
        })
    };
    asked("hello 9");
    say(&client, &chat, "/compress");
    notice(&client, &chat, "small answers instead");
    notice(&client, &chat, "was compressed: about");
    say(&client, &chat, "and now");
    let after = asked("and now");
    assert!(
        after.raw.contains("they greeted each other") && after.body["model"] == "scripted",
        "{}",
        after.raw
    );
}
