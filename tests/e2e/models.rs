//! Which model answers: the server's, one's own, one behind a runner, and what happens where it does not answer.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Machine, Person, Reply, ScriptedModel, Server, eventually};

use crate::agent::{PATIENCE, ended, messages, new_chat, say};

const KEY: &str = "sk-scripted-0123456789abcd";

/// A server without Docker that does not wait long for models.
const QUICK: [&str; 6] = ["--docker", "off", "--llm-retry-attempts", "2", "--llm-retry-delay-ms", "1"];

fn says(text: &str) -> ScriptedModel {
    ScriptedModel::with(vec![Reply::Say(text.to_owned())])
}

/// A subscription of OpenAI's words at that address, as the interface takes it.
fn document(model: &ScriptedModel, more: Value) -> Value {
    let mut document = json!({
        "provider": "openai",
        "base_url": model.url(),
        "models": {"balance": {"name": "m", "price": {"input": 1.0, "output": 10.0}}},
    });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    document
}

fn add(client: &Client, name: &str, mut document: Value) {
    document["name"] = json!(name);
    let added = client.send("POST", "/models", document.to_string().as_bytes());
    assert_eq!(added.status, 201, "{}", added.json());
}

fn choose(client: &Client, path: &str, model: &str) -> tests::http::Answer {
    client.send("PUT", path, json!({"model": model}).to_string().as_bytes())
}

/// What a fresh chat of a model answers; the whole conversation.
fn asked(client: &Client, model: &str) -> (Value, Vec<Value>) {
    let chat = new_chat(client, "full");
    let chosen = choose(client, &format!("/chats/{chat}/model"), model);
    assert_eq!(chosen.status, 200, "{}", chosen.json());
    say(client, &chat, "hello");
    let turn = ended(client, &chat, 1);
    (turn, messages(client, &chat))
}

fn notices(messages: &[Value]) -> String {
    let notices = messages.iter().filter(|message| message["role"] == "notice");
    notices.map(|message| message["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn holds(folder: &Path, text: &str) -> bool {
    let files =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files
        .into_iter()
        .any(|file| fs::read(file).unwrap().windows(text.len()).any(|window| window == text.as_bytes()))
}

fn add_by_cli(person: &Person, model: &ScriptedModel) {
    let arguments =
        ["model", "add", "mine", "--provider", "openai", "--base-url", model.url(), "--model", "big"];
    let more = ["--swift", "small", "--api-key-stdin", "--use", "--price", "big=2/20"];
    let added = person.with_stdin(&[&arguments[..], &more].concat(), KEY.as_bytes());
    assert_eq!(added.code, 0, "{added:?}");
}

#[test]
fn a_model_of_ones_own_answers_and_is_nobody_elses() {
    let model = says("mine");
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "a long random text that nobody knows").unwrap();
    let sealed = ["--encryption-key-file", secret.path().to_str().unwrap()];
    let mut server = Server::start_with(&[&QUICK[..], &sealed].concat());
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let _machine = Machine::start(&server, &alice, "laptop");
    add_by_cli(&alice, &model);
    let listed = alice.json(&["model", "list", "--json"]);
    assert_eq!((&listed["chosen"], &listed["models"][0]["api_key_end"]), (&json!("mine"), &json!("abcd")));
    assert!(!listed.to_string().contains("0123456789"), "{listed}");
    let tried = alice.json(&["model", "test", "--json", "mine/swift"]);
    assert_eq!((&tried["answer"], &tried["model"]), (&json!("mine"), &json!("small")));
    let chat = alice.run(&["chat", "--approval", "full", "hello"]);
    assert!(chat.code == 0 && chat.stdout.contains("mine"), "{chat:?}");
    let asked = model.asked();
    assert_eq!((&asked[0].body["model"], &asked[1].body["model"]), (&json!("small"), &json!("big")));
    assert!(asked.iter().all(|asked| asked.headers.contains(&format!("authorization: bearer {KEY}"))));

    // To another user there is no such thing.
    let eve = Client::login(&server, "bob");
    let listed = eve.call("GET", "/models").json();
    assert_eq!(listed, json!({"chosen": null, "models": []}));
    for (method, path) in [("PUT", "/models/mine"), ("DELETE", "/models/mine"), ("POST", "/models/mine/test")]
    {
        let body = if method == "PUT" { document(&model, json!({})) } else { json!({}) };
        assert_eq!(eve.send(method, path, body.to_string().as_bytes()).status, 404, "{method} {path}");
    }
    assert_eq!(choose(&eve, "/models/default", "mine").status, 404);
    let none = bob.run(&["chat", "hello"]);
    assert!(none.stdout.contains("sandbridge model add"), "{none:?}");
    assert_eq!(model.asked().len(), 2, "nobody else spends it");

    // The key is nowhere in what lies on disk, and opens with the encryption key alone.
    assert!(!holds(server.home(), KEY));
    server.restart(&[&QUICK[..], &sealed].concat());
    assert_eq!(alice.run(&["model", "test"]).code, 0);
    server.restart(&QUICK);
    let lost = alice.run(&["model", "test", "mine"]);
    assert!(lost.code != 0 && lost.stderr.contains("SANDBRIDGE_ENCRYPTION_KEY"), "{lost:?}");
    assert_eq!(alice.run(&["model", "remove", "mine"]).code, 0);
    assert_eq!(alice.json(&["model", "list", "--json"])["models"], json!([]));
}

#[test]
fn a_key_stays_with_the_address_it_was_given_for() {
    let (model, other) = (says("mine"), says("theirs"));
    let server = Server::start_with(&QUICK);
    server.person("alice");
    let alice = Client::login(&server, "alice");
    add(&alice, "mine", document(&model, json!({"api_key": KEY})));
    let change = |document: Value| alice.send("PUT", "/models/mine", document.to_string().as_bytes());
    let moved = change(document(&other, json!({})));
    assert_eq!((moved.status, moved.kind().as_str()), (400, "invalid"), "{}", moved.json());
    assert_eq!(change(document(&model, json!({"fallback": "mine/n"}))).json()["api_key_end"], "abcd");
    assert_eq!(change(document(&other, json!({"api_key": ""}))).json()["api_key_end"], Value::Null);
    for (bad, kind) in [
        (document(&model, json!({"models": {}})), "invalid"),
        (document(&model, json!({"models": {"huge": {"name": "m"}}})), "invalid"),
        (document(&model, json!({"provider": "other"})), "invalid"),
        (document(&model, json!({"apikey": "x"})), "invalid"),
        (document(&model, json!({"api_key": "two words"})), "invalid"),
        (document(&model, json!({"runner": "laptop"})), "invalid"),
        (document(&model, json!({"base_url": "gopher://a"})), "refused"),
    ] {
        let answer = change(bad.clone());
        assert_eq!(answer.kind(), kind, "{bad}: {}", answer.json());
    }
    for name in ["server", "default", "swift", "UPPER", "../x"] {
        let mut document = document(&model, json!({}));
        document["name"] = json!(name);
        assert_eq!(alice.send("POST", "/models", document.to_string().as_bytes()).status, 400, "{name}");
    }
}

#[test]
fn nobody_reaches_the_servers_own_network_by_a_model_of_their_own() {
    let model = says("inside");
    let mut server = Server::start_with(&QUICK);
    server.person("admin");
    let bob = server.person("bob");
    let client = Client::login(&server, "bob");
    let refused = |url: &str| {
        let document =
            json!({"name": "x", "provider": "openai", "base_url": url, "models": {"swift": {"name": "m"}}});
        let answer = client.send("POST", "/models", document.to_string().as_bytes());
        assert_eq!(answer.kind(), "refused", "{url}: {}", answer.json());
    };
    for url in
        [model.url(), "https://localhost", "https://[::1]", "https://169.254.169.254", "https://0x7f.1/"]
    {
        refused(url);
    }
    let by_cli =
        bob.run(&["model", "add", "x", "--provider", "openai", "--base-url", model.url(), "--model", "m"]);
    assert!(by_cli.code != 0 && by_cli.stderr.contains("server's own network"), "{by_cli:?}");
    // What an admin allowed once is asked no more when it is taken back.
    server.restart(&[&QUICK[..], &["--llm-private", "on"]].concat());
    add(&client, "x", document(&model, json!({})));
    assert_eq!(asked(&client, "x").0["text"], "inside");
    server.restart(&QUICK);
    let (turn, _) = asked(&client, "x");
    assert!(turn["agent"]["error"].as_str().unwrap().contains("server's own network"), "{turn}");
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn what_is_set_up_wrongly_is_told_and_nothing_stands_in_for_it() {
    let refusals = ScriptedModel::with(vec![
        Reply::Refuse(401, r#"{"error":{"message":"Incorrect API key"}}"#.to_owned()),
        Reply::Refuse(404, r#"{"error":{"message":"no model m"}}"#.to_owned()),
    ]);
    let backup = says("instead");
    let server = Server::start_with(&QUICK);
    server.person("alice");
    let alice = Client::login(&server, "alice");
    add(&alice, "backup", document(&backup, json!({})));
    add(&alice, "mine", document(&refusals, json!({"fallback": "backup"})));
    for told in ["does not take the key", "no such model"] {
        let (turn, _) = asked(&alice, "mine");
        assert_eq!(turn["agent"]["status"], "failed");
        assert!(turn["agent"]["error"].as_str().unwrap().contains(told), "{turn}");
    }
    assert_eq!((refusals.asked().len(), backup.asked().len()), (2, 0));
    // A model that is gone is told, too.
    let chat = new_chat(&alice, "full");
    choose(&alice, &format!("/chats/{chat}/model"), "backup");
    assert_eq!(alice.call("DELETE", "/models/backup").status, 204);
    say(&alice, &chat, "hello");
    let turn = ended(&alice, &chat, 1);
    assert!(turn["agent"]["error"].as_str().unwrap().contains("/models"), "{turn}");
}

#[test]
fn another_model_stands_in_for_one_that_is_not_there() {
    let down = ScriptedModel::with(vec![Reply::Refuse(503, "overloaded".to_owned())]);
    let (hangs, endless) = (
        ScriptedModel::with(vec![Reply::Hang("I was about".to_owned())]),
        ScriptedModel::with(vec![Reply::Endless("and ".to_owned())]),
    );
    let backup = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "echo ran >> log"}))]),
        _ => Reply::Say("instead".to_owned()),
    });
    let server = Server::start_with(&[&QUICK[..], &["--llm-retry-timeout-ms", "300"]].concat());
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    let alice = Client::login(&server, "alice");
    add(&alice, "backup", document(&backup, json!({})));
    for (name, model, tries) in [("down", &down, 2), ("hangs", &hangs, 2), ("endless", &endless, 2)] {
        add(&alice, name, document(model, json!({"fallback": "backup/other"})));
        let begun = Instant::now();
        let (turn, messages) = asked(&alice, name);
        assert_eq!(turn["agent"]["status"], "done", "{turn}");
        assert_eq!(messages.last().unwrap()["text"], "instead", "{messages:?}");
        let told = notices(&messages);
        assert!(
            told.contains(&format!("{name}/m: ")) && told.contains("backup/other answers instead"),
            "{told}"
        );
        let shown: Vec<&str> = messages.iter().filter_map(|message| message["text"].as_str()).collect();
        assert!(
            !shown.iter().any(|text| text.starts_with("I was about") || text.starts_with("and ")),
            "{shown:?}"
        );
        assert_eq!(model.asked().len(), tries, "{name}: a turn that changed over stays there");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
    assert_eq!(fs::read_to_string(machine.workspace().join("log")).unwrap(), "ran\nran\nran\n");
    let usage = alice.call("GET", "/usage").json();
    let models: Vec<_> = usage["models"].as_array().unwrap().iter().map(|model| &model["model"]).collect();
    assert_eq!(models, [&json!("other")], "{usage}");
    // Nothing is left: the last failure is told.
    add(&alice, "both", document(&down, json!({"fallback": "down"})));
    let (turn, _) = asked(&alice, "both");
    assert!(turn["agent"]["status"] == "done", "the fallback's own fallback: {turn}");
    alice.call("DELETE", "/models/backup");
    let (turn, _) = asked(&alice, "both");
    assert!(turn["agent"]["error"].as_str().unwrap().contains("overloaded"), "{turn}");
}

#[test]
fn a_model_behind_a_runner_is_asked_through_it_and_through_no_other() {
    let model = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "echo ran >> log"}))]),
        _ => Reply::Say("behind the runner".to_owned()),
    });
    let key = tempfile::NamedTempFile::new().unwrap();
    fs::write(key.path(), "sk-of-the-runner").unwrap();
    let server = Server::start_with(&QUICK);
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let token = alice.add_runner("desk");
    let key = key.path().to_str().unwrap();
    let options = ["--llm-url", model.url(), "--llm-key-file", key, "--llm-provider", "anthropic"];
    let mut desk = Machine::start_with_token(&server, "desk", &token, &options);
    desk.wait_online(&alice, "desk");
    let bare = Machine::start(&server, &alice, "bare");
    let added =
        ["model", "add", "local", "--provider", "anthropic", "--model", "m", "--use", "--runner", "desk"];
    assert_eq!(alice.run(&added).code, 0);
    assert_eq!(alice.run(&["use", "bare"]).code, 0);
    let chat = alice.run(&["chat", "--approval", "full", "hello"]);
    assert!(chat.code == 0 && chat.stdout.contains("behind the runner"), "{chat:?}");
    let asked = model.asked();
    assert!(asked.iter().all(|asked| asked.path == "/v1/messages"), "{asked:?}");
    assert!(asked[0].headers.contains("x-api-key: sk-of-the-runner"), "{}", asked[0].headers);
    assert_eq!(
        fs::read_to_string(bare.workspace().join("log")).unwrap(),
        "ran\n",
        "tools run where the chat is"
    );

    let other = ["model", "add", "theirs", "--provider", "anthropic", "--model", "m", "--runner", "desk"];
    let refused = bob.run(&other);
    assert!(refused.code != 0 && refused.stderr.contains("no runner of that name"), "{refused:?}");
    let none = ["model", "add", "keyless", "--provider", "openai", "--model", "m", "--runner", "bare"];
    assert_eq!(alice.run(&none).code, 0);
    let told = alice.run(&["model", "test", "keyless"]);
    assert!(told.code != 0 && told.stderr.contains("--llm-url"), "{told:?}");
    desk.stop();
    eventually("it is offline", PATIENCE, || (!alice.is_online("desk")).then_some(()));
    let told = alice.run(&["chat", "--new", "--approval", "full", "hello"]);
    assert!(told.code != 0 && format!("{told:?}").contains("runner desk is offline"), "{told:?}");
    assert_eq!(model.asked().len(), asked.len());
}

#[test]
fn so_many_answers_are_under_way_and_others_wait_their_turn() {
    let shared = ScriptedModel::start(|asked| match asked.last_of_user().as_str() {
        "wait" => Reply::Hang("one moment".to_owned()),
        _ => Reply::Say("answered".to_owned()),
    });
    let options = [&QUICK[..], &["--turns-at-once", "2"], &shared.options("openai")].concat();
    let server = Server::start_with(&options);
    server.person("alice");
    server.person("bob");
    let (alice, bob) = (Client::login(&server, "alice"), Client::login(&server, "bob"));
    let waits = |client: &Client, chat: &str| {
        eventually("it waits", PATIENCE, || notices(&messages(client, chat)).contains('⏳').then_some(()));
    };
    let cancel = |client: &Client, chat: &str| {
        assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).status, 200)
    };
    let is_asked =
        |count: usize| eventually("it is asked", PATIENCE, || (shared.asked().len() == count).then_some(()));

    // In the whole server, whoever asks.
    let chats: Vec<String> = (0..2).map(|_| new_chat(&alice, "full")).collect();
    chats.iter().for_each(|chat| say(&alice, chat, "wait"));
    is_asked(2);
    let third = new_chat(&bob, "full");
    say(&bob, &third, "hello");
    waits(&bob, &third);
    assert_eq!(shared.asked().len(), 2);
    cancel(&alice, &chats[0]);
    assert_eq!(ended(&bob, &third, 1)["text"], "answered");
    cancel(&alice, &chats[1]);
    ended(&alice, &chats[1], 1);

    // Of one's own model one at a time, while the server's goes on answering; a cancel ends the wait, too.
    add(&alice, "mine", document(&shared, json!({})));
    let (first, second) = (new_chat(&alice, "full"), new_chat(&alice, "full"));
    for chat in [&first, &second] {
        choose(&alice, &format!("/chats/{chat}/model"), "mine");
    }
    say(&alice, &first, "wait");
    is_asked(4);
    say(&alice, &second, "hello");
    waits(&alice, &second);
    say(&alice, &chats[0], "hello");
    assert_eq!(ended(&alice, &chats[0], 2)["text"], "answered");
    cancel(&alice, &second);
    assert_eq!(ended(&alice, &second, 1)["agent"]["status"], "cancelled");
    say(&alice, &second, "hello");
    cancel(&alice, &first);
    assert_eq!(ended(&alice, &second, 2)["text"], "answered");
}

#[test]
fn a_chat_keeps_its_model_and_what_models_took_is_accounted_for() {
    let model = says("answered");
    let prices = ["--llm-model-swift", "small", "--llm-price", "scripted=1/10", "--llm-price", "small=0.5/5"];
    let options = [&QUICK[..], &model.options("openai"), &prices].concat();
    let mut server = Server::start_with(&options);
    server.person("alice");
    server.person("bob");
    let alice = Client::login(&server, "alice");
    let chat = new_chat(&alice, "full");
    let told = |text: &str| {
        say(&alice, &chat, text);
        let notices = messages(&alice, &chat).into_iter().rev().find(|message| message["role"] == "notice");
        notices.unwrap()["text"].as_str().unwrap().to_owned()
    };
    let listed = told("/models");
    assert!(listed.contains("scripted, unless you say otherwise   ◀ answers here"), "{listed}");
    assert!(told("/model theirs").contains("no model \"theirs\""));
    assert!(told("/model swift").contains("server/small answers in this chat"));
    say(&alice, &chat, "hello");
    ended(&alice, &chat, 1);
    server.restart(&options);
    say(&alice, &chat, "hello again");
    ended(&alice, &chat, 2);
    assert!(told("/model default").contains("server/scripted answers"));
    let other = new_chat(&alice, "full");
    say(&alice, &other, "hello");
    ended(&alice, &other, 1);
    let names: Vec<Value> = model.asked().iter().map(|asked| asked.body["model"].clone()).collect();
    assert_eq!(names, [json!("small"), json!("small"), json!("scripted")]);

    // 100 tokens read and 10 written each time.
    let usage = told("/usage");
    let line = |name: &str| usage.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("this chat").ends_with("$0.0002") && line("server/small").contains("200"), "{usage}");
    assert!(line("30 days").ends_with("$0.0004") && line("server/scripted").ends_with("$0.0002"), "{usage}");
    assert_eq!(alice.call("DELETE", &format!("/chats/{chat}")).status, 204);
    let all = alice.call("GET", "/usage").json();
    assert_eq!((&all["total"]["calls"], &all["total"]["cost_micros"]), (&json!(3), &json!(400)), "{all}");
    assert_eq!(all["today"], all["total"]);
    let of_chat = alice.call("GET", &format!("/usage?chat={chat}&days=1")).json();
    assert_eq!(
        (&of_chat["total"]["input_tokens"], &of_chat["total"]["cost_micros"]),
        (&json!(200), &json!(200))
    );
    let bob = Client::login(&server, "bob");
    assert_eq!(bob.call("GET", &format!("/usage?chat={chat}")).json()["total"]["calls"], 0);
    assert_eq!(choose(&bob, &format!("/chats/{other}/model"), "swift").status, 404);
}
