//! A conversation much longer than its model's window.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use agent::approval::Mode;
use serde_json::{Value, json};
use tests::random::{Random, count};
use tests::{Asked, Habits, Reply, ScriptedModel};

use super::super::runner::ScriptedRunner;
use super::super::talk::answered_by;
use super::{Bench, is_for_summary};
use crate::models::{Provider, Tier};

/// The size of the model's window, in tokens of four bytes.
const WINDOW_TOKENS: u32 = 30_000;
/// One turn in this many reads a fact that is asked for later.
const FACT_EVERY: u64 = 5;
/// The record of what the model saw.
#[derive(Default)]
struct Seen {
    last: String,
    /// The number of bytes that requests share with the one before; requests right after a compression are left out.
    shared: u64,
    /// The number of bytes of these requests in all.
    asked: u64,
    requests: u64,
    compressions: u64,
    maskings: u64,
    recalls: u64,
    too_long: Vec<usize>,
    wrong: Vec<String>,
    is_behind_compression: bool,
    /// True right after a restart of the server: the next request must continue the last one.
    is_restarted: bool,
}

impl Seen {
    fn note(&mut self, asked: &Asked, is_summary: bool) {
        let raw = &asked.raw;
        self.requests += 1;
        if raw.len() / 4 > WINDOW_TOKENS as usize {
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
            // All bytes except the closing brackets are shared.
            assert!(
                shared + 2 >= self.last.len(),
                "other bytes after a restart: {shared} of {}",
                self.last.len()
            );
            self.is_restarted = false;
        }
        self.compressions += u64::from(is_summary);
        // The request for a summary is not the beginning of the next request.
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

/// The user's last message, even if only a summary contains it.
fn question(asked: &Asked) -> String {
    let last = asked.last_of_user();
    last.rsplit_once("word for word:]\n").map_or(last.clone(), |(_, quote)| quote.to_owned())
}

/// The number after a prefix.
fn number(text: &str, prefix: &str) -> Option<u64> {
    let digits: String = text.split_once(prefix)?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn ids(text: &str) -> Vec<String> {
    let found = ["ol_", "mk_"].iter().flat_map(|prefix| text.match_indices(prefix));
    let ids = found.filter_map(|(at, _)| text.get(at..at + 11));
    ids.filter(|id| id[3..].bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned).collect()
}

/// The known facts: each fact itself, or the ids of results in which it can be found.
#[derive(Default)]
struct Known {
    facts: BTreeMap<u64, String>,
    places: BTreeMap<u64, Vec<String>>,
}

impl Known {
    /// Collects the facts from everything that the model sees.
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

/// Works, and answers questions from what the model sees and can recall.
fn script(asked: &Asked, seen: &Mutex<Seen>) -> Reply {
    let is_summary = is_for_summary(asked);
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
    if let Some(wanted) = number(&question, "what is fact ") {
        return answer(asked, wanted, &results, &mut seen);
    }
    if !results.is_empty() {
        return Reply::Say(format!("{question} is done. {}", "I have seen it all. ".repeat(20)));
    }
    let number = number(&question, "turn ").unwrap();
    let path = format!("file{number}.txt");
    match number % 2 {
        0 => Reply::Call(vec![("Read", json!({"path": path}))]),
        _ => Reply::Call(vec![("Shell", json!({"command": format!("cat:{path}")}))]),
    }
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

/// Creates files of about 600 tokens, of which every third is longer than a conversation keeps; the facts are in the middle.
fn put_files(runner: &ScriptedRunner, turns: u64) {
    for number in 0..turns {
        let lines = if number.is_multiple_of(3) { 240 } else { 60 };
        let mut content = String::new();
        for line in 0..lines {
            if line == lines / 2 && number.is_multiple_of(FACT_EVERY) {
                writeln!(content, "FACT {number} is {}", fact_of(number)).unwrap();
            }
            writeln!(content, "line {line} of the file of number {number}").unwrap();
        }
        runner.files.write(&format!("file{number}.txt"), &content);
    }
}

#[tokio::test]
async fn a_long_conversation_stays_within_the_window_and_loses_no_fact() {
    let mut random = Random::seeded();
    let turns = count("SANDBRIDGE_CONTEXT_TURNS", 90);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let its_seen = seen.clone();
    let habits = Habits { remembers: false, counts: true, pauses: false };
    let model = ScriptedModel::start_with(habits, move |asked| script(asked, &its_seen));
    let mut models = answered_by(&model, Provider::OpenAi);
    let (subscription, _) = models.server.as_mut().unwrap();
    subscription.models.get_mut(&Tier::Balance).unwrap().window_tokens = Some(WINDOW_TOKENS);
    let mut bench = Bench::asking(models.clone()).await;
    let mut runner = bench.connect("laptop").await;
    put_files(&runner, turns);
    let mut talk = bench.talk(Mode::Full).await;
    let mut asks = 0;
    for number in 0..turns {
        talk.say(&format!("turn {number} begins")).await;
        if number % 10 == 9 {
            let wanted = random.within(0..number / FACT_EVERY + 1) * FACT_EVERY;
            talk.say(&format!("what is fact {wanted} ?")).await;
            asks += 1;
        }
        if number == turns / 2 {
            bench = bench.restarted(models.clone()).await;
            bench.take_over(&mut runner, "laptop").await;
            talk = bench.talk(Mode::Full).await;
            seen.lock().unwrap().is_restarted = true;
        }
    }
    for wanted in (0..turns).step_by(FACT_EVERY as usize) {
        talk.say(&format!("what is fact {wanted} ?")).await;
        asks += 1;
    }
    assert!(talk.notice("was compressed: about").await.contains("of 30,000 tokens"));
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
    assert!(!seen.is_restarted, "nothing was asked behind the restart that shows it");
    assert!(hits >= 0.85, "{hits}");
}
