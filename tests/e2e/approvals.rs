//! Exactly the approved action is done: a question shows the whole action, wherever it appears, and nothing else is done.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::terminal::Terminal;
use tests::{Machine, Page, Pages, Reply, ScriptedModel, Server, eventually};

use crate::agent::{ended, messages, new_chat, say};

const PATIENCE: Duration = Duration::from_secs(60);

/// A call in the table `fixtures/approvals.json`, which the browser's tests read too.
struct Row {
    name: String,
    tool: &'static str,
    arguments: Value,
    shows: Vec<String>,
    hides: Vec<String>,
    refused: Option<String>,
}

fn table() -> (Value, Vec<Row>) {
    let table: Value = serde_json::from_str(include_str!("../fixtures/approvals.json")).unwrap();
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let row = |row: &Value| Row {
        name: row["name"].as_str().unwrap().to_owned(),
        tool: row["tool"].as_str().unwrap().to_owned().leak(),
        arguments: row["arguments"].clone(),
        shows: texts(&row["shows"]),
        hides: texts(&row["hides"]),
        refused: row["refused"].as_str().map(str::to_owned),
    };
    let rows = table["rows"].as_array().unwrap().iter().map(row).collect();
    (table, rows)
}

/// Creates the files and links to which the table refers.
fn furnish(workspace: &Path, table: &Value) {
    for (path, content) in table["files"].as_object().unwrap() {
        let path = workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.as_str().unwrap()).unwrap();
    }
    for (path, target) in table["links"].as_object().unwrap() {
        symlink(target.as_str().unwrap(), workspace.join(path)).unwrap();
    }
}

/// Normalizes text for comparisons: lines may be wrapped, and begin with a mark, where space is short.
fn squashed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '│' | '|')).collect()
}

fn assert_shown(row: &Row, shown: &str) {
    let squashed_shown = squashed(shown);
    for text in &row.shows {
        assert!(squashed_shown.contains(&squashed(text)), "{}: {text:?} is not in {shown}", row.name);
    }
    for text in &row.hides {
        assert!(!squashed_shown.contains(&squashed(text)), "{}: {text:?} is in {shown}", row.name);
    }
}

/// A model that makes these calls, all in one reply.
fn calls(calls: Vec<(&'static str, Value)>) -> ScriptedModel {
    ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(calls.clone()),
        _ => Reply::Say("that is all".to_owned()),
    })
}

fn start(model: &ScriptedModel) -> Server {
    Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat())
}

#[test]
fn a_program_and_a_terminal_are_shown_the_whole_of_hostile_paths_commands_and_edits() {
    let (table, rows) = table();
    assert!(rows.len() >= 40, "{}", rows.len());
    let model = calls(rows.iter().map(|row| (row.tool, row.arguments.clone())).collect());
    let server = start(&model);
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    furnish(machine.workspace(), &table);

    let output = alice.run(&["chat", "--new", "--json", "go"]);
    assert_eq!(output.code, 0, "{output:?}");
    let lines = output.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shown: Vec<Value> = lines.filter(|line| line["type"] == "approval").collect();
    let asked: Vec<&Row> = rows.iter().filter(|row| row.refused.is_none()).collect();
    let names: Vec<&str> = shown.iter().map(|line| line["detail"].as_str().unwrap()).collect();
    assert_eq!(shown.len(), asked.len(), "{names:#?}");
    for (row, line) in asked.iter().zip(&shown) {
        assert_shown(row, line["detail"].as_str().unwrap());
        assert_shown(row, &all_of(&line["approval"]));
        assert_eq!(line["approval"]["place"]["machine"], "laptop", "{}", row.name);
        assert!(line["approval"]["place"]["directory"].is_string(), "{}", row.name);
    }
    let results = model.asked().pop().unwrap().results();
    for (row, result) in rows.iter().zip(&results) {
        match &row.refused {
            Some(why) => assert!(result.contains(why), "{}: {result}", row.name),
            None => assert!(result.contains("nobody could be asked"), "{}: {result}", row.name),
        }
    }
    let untouched = fs::read_to_string(machine.workspace().join("Makefile")).unwrap();
    assert_eq!(untouched, table["files"]["Makefile"].as_str().unwrap());

    let mut terminal = Terminal::start(alice.command(&["chat", "--new", "go"]), 40, 100);
    for row in asked {
        let seen = terminal.sees(&format!("  allow {}? [y]es, [a]lways, [N]o: ", row.tool));
        let card = seen.rsplit("● ").next().unwrap_or_default();
        let card = card.split_once('\n').map_or(card, |(_, card)| card);
        assert_shown(row, card);
        let marked = card
            .lines()
            .all(|line| line.trim().is_empty() || line.starts_with("  │ ") || line.starts_with("  allow "));
        assert!(marked, "{}: {card}", row.name);
        terminal.types("n\r");
    }
    terminal.sees("that is all");
}

/// All strings in a JSON document.
fn all_of(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(all_of).collect(),
        Value::Object(fields) => fields.values().map(all_of).collect(),
        _ => String::new(),
    }
}

/// A chat of alice's, whose model makes some calls one after the other.
struct World {
    model: ScriptedModel,
    machine: Machine,
    client: Client,
    chat: String,
    _server: Server,
}

impl World {
    fn new(mode: &str, made: Vec<(&'static str, Value)>, prepare: impl FnOnce(&Path)) -> Self {
        let model = ScriptedModel::start(move |asked| match made.get(asked.results().len()) {
            Some(call) => Reply::Call(vec![call.clone()]),
            None => Reply::Say("done".to_owned()),
        });
        let server = start(&model);
        let alice = server.person("alice");
        let machine = Machine::start_with(&server, &alice, "laptop", &["--download-allow", "127.0.0.1"]);
        prepare(machine.workspace());
        let client = Client::login(&server, "alice");
        let chat = new_chat(&client, mode);
        say(&client, &chat, "go");
        Self { model, machine, client, chat, _server: server }
    }

    /// The card of an open question, once this many calls have ended.
    fn asks(&self, after: usize) -> Value {
        eventually("something is asked", PATIENCE, || {
            let is_told = self.model.asked().pop()?.results().len() == after;
            let mut messages = messages(&self.client, &self.chat).into_iter();
            messages.find(|message| is_told && message["agent"]["status"] == "asking")
        })
    }

    fn allows(&self, card: &Value, always: bool) {
        let body = json!({"message_id": card["id"], "allow": true, "always": always}).to_string();
        let path = format!("/chats/{}/approvals", self.chat);
        assert_eq!(self.client.send("POST", &path, body.as_bytes()).status, 204);
        // The first answer counts, and a later one is refused as too late.
        let denial = json!({"message_id": card["id"], "allow": false}).to_string();
        let second = self.client.send("POST", &path, denial.as_bytes());
        assert_eq!(second.status, 409, "{}", String::from_utf8_lossy(&second.body));
    }

    fn results(&self) -> Vec<String> {
        ended(&self.client, &self.chat, 1);
        self.model.asked().pop().unwrap().results()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.machine.workspace().join(path)
    }
}

#[test]
fn a_file_or_directory_swapped_after_the_approval_is_not_touched() {
    let make = |path: &str| ("FileCreate", json!({"path": path, "content": "new", "rewrite": true}));
    let change = json!({"path": "c", "old_string": "old", "new_string": "new"});
    let run = ("Shell", json!({"command": "touch ran"}));
    let made = vec![
        make("sub/a"),
        make("b"),
        make("c"),
        ("FileReplace", change),
        ("Cd", json!({"path": "dir"})),
        run,
    ];
    let world = World::new("ask", made, |workspace| {
        for directory in ["other", "dir", "evil"] {
            fs::create_dir(workspace.join(directory)).unwrap();
        }
        fs::write(workspace.join("c"), "old").unwrap();
    });
    let swaps: [(usize, &str, &dyn Fn()); 5] = [
        (0, "a folder becomes a link", &|| symlink("other", world.at("sub")).unwrap()),
        (1, "a file is made", &|| fs::write(world.at("b"), "somebody's").unwrap()),
        (2, "a file is changed", &|| fs::write(world.at("c"), "old, and more").unwrap()),
        (3, "a file is changed again", &|| fs::write(world.at("c"), "old, and yet more").unwrap()),
        (5, "a directory becomes a link", &|| {
            fs::rename(world.at("dir"), world.at("moved")).unwrap();
            symlink("evil", world.at("dir")).unwrap();
        }),
    ];
    for (after, _, swap) in swaps {
        let card = world.asks(after);
        swap();
        world.allows(&card, false);
    }
    let results = world.results();
    for (at, what, _) in swaps {
        let is_told = results[at].contains("nothing was written") || results[at].contains("nothing was run");
        assert!(is_told, "{what}: {}", results[at]);
    }
    let text = |path: &str| fs::read_to_string(world.at(path)).unwrap();
    assert_eq!((text("b").as_str(), text("c").as_str()), ("somebody's", "old, and yet more"));
    for nothing in ["other/a", "evil/ran", "moved/ran", "ran"] {
        assert!(!world.at(nothing).exists(), "{nothing}");
    }
}

#[test]
fn a_permanent_approval_of_a_command_covers_one_directory() {
    let run = || ("Shell", json!({"command": "echo ran >> log"}));
    let cd = |path: &str| ("Cd", json!({"path": path}));
    let made = vec![run(), run(), cd("vendor/evil"), run(), cd("../.."), run()];
    let world =
        World::new("ask", made, |workspace| fs::create_dir_all(workspace.join("vendor/evil")).unwrap());
    world.allows(&world.asks(0), true);
    let card = world.asks(3);
    let directory = card["agent"]["approval"]["place"]["directory"].as_str().unwrap();
    assert!(directory.ends_with("/vendor/evil"), "{card}");
    assert!(
        card["agent"]["approval"]["always"].as_str().unwrap().contains("/vendor/evil on laptop"),
        "{card}"
    );
    world.allows(&card, false);
    world.results();
    assert_eq!(fs::read_to_string(world.at("log")).unwrap(), "ran\nran\nran\n");
    assert_eq!(fs::read_to_string(world.at("vendor/evil/log")).unwrap(), "ran\n");
}

#[test]
fn a_permanent_approval_of_a_command_ends_with_an_unapproved_file_change() {
    let run = || ("Shell", json!({"command": "sh run.sh"}));
    let write = |text: &str| {
        let content = format!("echo {text} >> log\n");
        ("FileCreate", json!({"path": "run.sh", "content": content, "rewrite": true}))
    };
    // There are no questions about files in auto-edit, nor in ask once every change has been allowed permanently.
    for (mode, asked) in [("auto-edit", vec![1, 4]), ("ask", vec![0, 1, 4])] {
        let made = vec![write("good"), run(), run(), write("evil"), run()];
        let world = World::new(mode, made, |_| {});
        let (last, before) = asked.split_last().unwrap();
        for after in before {
            world.allows(&world.asks(*after), true);
        }
        let card = world.asks(*last);
        assert_eq!(fs::read_to_string(world.at("log")).unwrap(), "good\ngood\n", "{mode}");
        assert!(card["agent"]["approval"]["always"].as_str().unwrap().contains("without asking"), "{card}");
        world.allows(&card, false);
        world.results();
    }
}

#[test]
fn a_permanent_approval_of_a_download_covers_one_port_and_one_file() {
    let pages = || Pages::start(|_| Page::Is("text/plain", b"content".to_vec()));
    let (one, two) = (pages(), pages());
    let get = |pages: &Pages, path: &str| {
        let url = format!("http://127.0.0.1:{}/x", pages.port());
        ("DownloadFile", json!({"url": url, "path": path}))
    };
    let made = vec![get(&one, "a"), get(&one, "a"), get(&one, "Makefile"), get(&two, "a")];
    let world = World::new("ask", made, |_| {});
    world.allows(&world.asks(0), true);
    for (after, file) in [(2, "/Makefile"), (3, "/a")] {
        let card = world.asks(after);
        let approval = &card["agent"]["approval"];
        assert!(approval["target"].as_str().unwrap().ends_with(file), "{card}");
        assert!(approval["always"].as_str().unwrap().contains(&format!("{file} on laptop")), "{card}");
        world.allows(&card, false);
    }
    assert!(world.results().iter().all(|result| result.contains("has 7 bytes now")));
}

#[test]
fn invisible_characters_are_not_remembered_and_refused_in_paths() {
    let text = "likes tea\u{e0069}\u{e0067}";
    let world = World::new("ask", vec![("memory_write", json!({"name": "tea", "text": text}))], |_| {});
    let card = world.asks(0);
    assert_eq!(card["agent"]["approval"]["parts"][1]["text"], "likes tea\\u{e0069}\\u{e0067}");
    world.allows(&card, false);
    assert!(world.results()[0].contains("U+E0069"));
    for path in ["a%0Ab", "a%1Bb", "a%E2%80%AEb", "a%C2%85b", "a%E2%80%A8b"] {
        let put = world.client.send("PUT", &format!("/files?path={path}"), b"x");
        assert_eq!(put.status, 400, "{path}: {put:?}");
    }
}
