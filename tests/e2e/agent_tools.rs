//! A model's tools other than files and commands: reading the internet, asking questions, notes, and chat history, with
//! the settings that they need.

use std::fs;
use std::os::unix::fs::chown;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::http::Client;
use tests::terminal::Terminal;
use tests::{Asked, Machine, Page, Pages, Reply, ScriptedModel, Server, eventually};

use crate::agent::{ended, lines, messages, new_chat, say};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An image of a single pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A model that makes these calls, all in one reply, and then answers `done`.
fn calls(calls: Vec<(&'static str, Value)>) -> ScriptedModel {
    ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(calls.clone()),
        _ => Reply::Say("done".to_owned()),
    })
}

fn server(model: &ScriptedModel, options: &[&str]) -> Server {
    Server::start_with(&[&["--docker", "off"], &model.options("openai")[..], options].concat())
}

/// The model's last request.
fn told(model: &ScriptedModel) -> Asked {
    model.asked().pop().unwrap()
}

/// The card that waits for an answer, as soon as there is one.
pub(crate) fn asking(client: &Client, chat: &str, hint: &str) -> Value {
    eventually(&format!("{hint} asks"), PATIENCE, || {
        let waits = |message: &Value| {
            message["agent"]["status"] == "asking"
                && message["agent"]["hint"].as_str().unwrap().contains(hint)
        };
        messages(client, chat).into_iter().find(waits)
    })
}

pub(crate) fn post(client: &Client, chat: &str, to: &str, body: &Value) -> u16 {
    client.send("POST", &format!("/chats/{chat}/{to}"), body.to_string().as_bytes()).status
}

fn internet() -> Pages {
    Pages::start(|path| match path {
        "/page" => Page::Is("text/html", b"<title>Doors</title><p>The <a href=/red>red</a> one".to_vec()),
        "/file" => Page::Is("application/octet-stream", vec![0, 1, 2]),
        "/moved" => Page::Moved("page".to_owned()),
        "/round" => Page::Moved("/round".to_owned()),
        "/inside" => Page::Moved("http://169.254.169.254/latest/meta-data".to_owned()),
        "/inside6" => Page::Moved("http://[::ffff:10.0.0.1]/".to_owned()),
        "/elsewhere" => Page::Moved("https://example.com/".to_owned()),
        "/endless" => Page::Endless,
        path if path.starts_with("/search?") => {
            let hit = json!({"url": "https://a.example/", "title": "A door", "content": "It is red."});
            Page::Is("application/json", json!({"query": "q", "results": [hit]}).to_string().into_bytes())
        }
        _ => Page::Status(404),
    })
}

#[test]
fn each_tool_works_through_a_runner() {
    let pages = internet();
    let port = pages.port();
    let local = |path: &str| format!("http://localhost:{port}{path}");
    let todos =
        json!([{"content": "look", "status": "completed"}, {"content": "mend", "status": "in_progress"}]);
    let model = calls(vec![
        ("todo_write", json!({"items": todos})),
        ("todo_list", json!({})),
        ("ChatHistory", json!({"query": "GREEN door"})),
        ("DownloadFile", json!({"url": format!("http://127.0.0.1:{port}/file"), "path": "deep/file"})),
        ("Fetch", json!({"url": local("/moved")})),
        ("WebSearch", json!({"query": "red doors", "max_results": 3})),
        ("config", json!({"action": "list"})),
        ("Read", json!({"path": "pixel"})),
        ("Glob", json!({"pattern": "odd*"})),
        ("Read", json!({"path": "x".repeat(10 * 1024 * 1024)})),
    ]);
    let base = format!("http://127.0.0.1:{port}");
    let options = ["--fetch-allow", "localhost", "--search-provider", "searxng", "--search-base-url", &base];
    let server = server(&model, &options);
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &["--download-allow", "127.0.0.1"]);
    fs::write(machine.workspace().join("pixel"), STANDARD.decode(PNG).unwrap()).unwrap();
    fs::write(machine.workspace().join("odd\nname"), "").unwrap();
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", "was it the green door?"]);
    assert_eq!(output.code, 0, "{output:?}");
    let last = told(&model);
    let results = last.results();
    assert_eq!(results[0], "[x] look\n[~] mend");
    assert_eq!(results[1], results[0]);
    assert!(results[2].contains("user in \"was it the green door?\""), "{}", results[2]);
    assert_eq!(results[3], "deep/file has 3 bytes now");
    assert_eq!(fs::read(machine.workspace().join("deep/file")).unwrap(), [0, 1, 2]);
    let page = format!("(now at {})\n# Doors\n\nThe [red]({}) one", local("/page"), local("/red"));
    assert_eq!(results[4], page);
    assert_eq!(results[5], "1. A door\n   https://a.example/\n   It is red.");
    assert!(pages.asked().iter().any(|head| head.starts_with("GET /search?q=red+doors&format=json ")));
    assert!(
        results[6].contains("active_runner = auto") && results[6].contains("approval = full"),
        "{results:?}"
    );
    assert!(results[7].starts_with("pixel: image/png, 1×1"), "{}", results[7]);
    assert!(last.raw.contains(&format!("data:image/png;base64,{PNG}")), "the image itself");
    assert_eq!(results[8], "odd\\nname");
    assert!(results[9].contains("do it in parts"), "{}", results[9]);
    assert!(last.raw.len() < 1024 * 1024, "an argument that is too long is not sent again");
    let client = Client::login(&server, "alice");
    let chat = client.call("GET", "/chats").json()[0]["id"].as_str().unwrap().to_owned();
    let card = messages(&client, &chat).into_iter().find(|message| message["agent"]["tool"] == "todo_write");
    assert_eq!(card.unwrap()["agent"]["data"], json!({"kind": "todos", "items": todos}));
}

#[test]
fn a_fetch_reaches_nothing_of_the_servers_own_network() {
    let pages = internet();
    let port = pages.port();
    let urls = [
        format!("http://127.0.0.2:{port}/page"),
        format!("http://2130706434:{port}/page"),
        format!("http://[::1]:{port}/page"),
        format!("http://[::ffff:127.0.0.1]:{port}/page"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://0.0.0.0/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        // This name is not allowed itself, although it resolves to an allowed address.
        format!("http://localhost:{port}/page"),
    ];
    let allowed = ["/inside", "/inside6", "/elsewhere", "/round", "/file", "/nothing", "/endless"];
    let all = urls.into_iter().chain(allowed.map(|path| format!("http://127.0.0.1:{port}{path}")));
    let model = calls(all.map(|url| ("Fetch", json!({"url": url, "max_chars": 10}))).collect());
    let server = server(&model, &["--fetch-allow", "127.0.0.1"]);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", "read"]);
    assert_eq!(output.code, 0, "{output:?}");
    let results = told(&model).results();
    for refused in &results[..10] {
        assert!(refused.contains("the server's own network"), "{refused}");
    }
    assert!(!pages.asked().iter().any(|head| head.starts_with("GET /page")), "{:?}", pages.asked());
    let ends = [
        "which is another host, port or scheme",
        "redirects more than 5 times",
        "not text",
        "answered 404",
        "there is more of it",
    ];
    for (result, end) in results[10..].iter().zip(ends) {
        assert!(result.contains(end), "{result}");
    }
}

/// Asks one question, and repeats the answer that it receives.
fn asks() -> ScriptedModel {
    let question = json!({"question": "Which door?", "options": ["red", "blue"]});
    ScriptedModel::start(move |asked| match asked.last_of_user().as_str() {
        "thanks" => Reply::Say("bye".to_owned()),
        _ => match asked.results().pop() {
            None => Reply::Call(vec![("AskUser", question.clone())]),
            Some(result) => Reply::Say(format!("so: {result}")),
        },
    })
}

#[test]
fn a_program_gets_no_answer_and_a_person_answers_there_or_elsewhere() {
    let model = asks();
    let server = server(&model, &[]);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let output = alice.run(&["chat", "--new", "--json", "open it"]);
    assert_eq!(output.code, 0, "{output:?}");
    let notices: Vec<Value> = lines(&output).into_iter().filter(|line| line["type"] == "notice").collect();
    assert!(notices[0]["text"].as_str().unwrap().contains("Which door?"), "{notices:?}");
    assert!(told(&model).results()[0].contains("Nobody answered"));

    let mut terminal = Terminal::start(alice.command(&["chat", "--new", "open it"]), 24, 80);
    terminal.sees("2) blue");
    terminal.sees("empty for none: ");
    terminal.types("2\n");
    terminal.sees("so: blue");
    assert_eq!(terminal.ends(), 0);

    // Meanwhile the program follows events, because the question is answered elsewhere.
    let mut terminal = Terminal::start(alice.command(&["chat", "--new", "open it"]), 24, 80);
    terminal.sees("empty for none: ");
    let client = Client::login(&server, "alice");
    let chat = client.call("GET", "/chats").json()[0]["id"].as_str().unwrap().to_owned();
    let id = asking(&client, &chat, "Which door?")["id"].as_i64().unwrap();
    assert_eq!(post(&client, &chat, "answers", &json!({"message_id": id, "text": "both"})), 204);
    terminal.sees("so: both");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_model_needs_an_approval_for_each_command_as_the_privileged_user() {
    let shell = |user: &str, command: &str| {
        ("Shell", json!({"command": command, "run_as": user, "reason": "to see"}))
    };
    let model = calls(vec![
        shell("www-data", "id -un"),
        shell("root", "id -un"),
        shell("root", "id -un"),
        shell("nobody", "id -un"),
    ]);
    let server = server(&model, &[]);
    let alice = server.person("alice");
    let options = ["--run-as-default", "www-data", "--run-as-privileged", "root"];
    let machine = Machine::start_with(&server, &alice, "laptop", &options);
    chown(machine.workspace(), Some(33), Some(33)).unwrap();
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "who?");
    for (always, allow) in [(true, true), (false, false)] {
        let card = asking(&client, &chat, "id -un");
        let approval = &card["agent"]["approval"];
        assert_eq!(approval["place"]["user"], "root");
        let parts = json!([{"label": "command", "text": "id -un"}, {"label": "reason that the model gives", "text": "to see"}]);
        assert_eq!(approval["parts"], parts);
        assert!(approval["always"].is_null() && approval["only_once"].is_string(), "{approval}");
        assert_eq!(card["agent"]["data"], json!({"kind": "once"}));
        let said = json!({"message_id": card["id"], "allow": allow, "always": always});
        assert_eq!(post(&client, &chat, "approvals", &said), 204);
        eventually("it goes on", PATIENCE, || {
            let now =
                messages(&client, &chat).into_iter().find(|message| message["id"] == card["id"]).unwrap();
            (now["agent"]["status"] != "asking").then_some(())
        });
    }
    assert_eq!(ended(&client, &chat, 1)["agent"]["status"], "done");
    let results = told(&model).results();
    assert!(results[0].starts_with("www-data\n") && results[1].starts_with("root\n"), "{results:?}");
    assert!(results[2].contains("does not allow") && results[3].contains("Error"), "{results:?}");
}
