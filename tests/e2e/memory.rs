//! Memory from the command line, and across a restart: memories are added, found, changed with their history, forgotten, and private to
//! each user. Forgotten memories cannot be found in any way.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, ScriptedModel, Server, eventually};

use crate::agent::new_chat;
use crate::backup::sandbridge;

fn json_of(output: &str) -> Value {
    serde_json::from_str(output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn memories_are_added_found_changed_and_forgotten_and_are_private_to_their_user() {
    let server = Server::start();
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let run = |words: &[&str]| {
        let output = alice.run(&[&["memory"], words].concat());
        assert_eq!(output.code, 0, "{words:?}: {output:?}");
        output.stdout
    };
    assert_eq!(run(&["add", "The user likes tabs"]), "remembered as memory 1\n");
    assert_eq!(run(&["add", "the user LIKES tabs"]), "remembered as memory 1\n", "it is known");
    run(&["add", "Be brief.", "--kind", "core", "--name", "persona"]);
    run(&["add", "部署在每周五", "--kind", "procedural"]);
    run(&["edit", "1", "The user likes spaces"]);
    assert!(run(&["show", "1"]).contains("The user likes tabs"), "its history");
    assert!(
        run(&["search", "佈署"]).contains("no memory") && run(&["search", "每週五"]).contains("部署在每周五")
    );
    let listed = json_of(&run(&["list", "--json"]));
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let exported = json_of(&run(&["export"]));
    assert_eq!(exported[0]["history"][0]["text"], "The user likes tabs");
    assert_eq!(run(&["proposals"]), "nothing is proposed\n");
    for words in [&["show", "1"][..], &["edit", "1", "mine"], &["forget", "1"], &["accept", "1"]] {
        let output = bob.run(&[&["memory"], words].concat());
        assert!(output.code != 0 && !output.stdout.contains("tabs"), "{output:?}");
    }
    assert!(bob.run(&["memory", "list"]).stdout.contains("nothing is remembered"));
    let long = "x".repeat(2_001);
    for words in [
        &["add", ""][..],
        &["add", "--kind", "core", "x"],
        &["add", "--kind", "core", "--name", "user", &long],
    ] {
        assert_ne!(alice.run(&[&["memory"], words].concat()).code, 0, "{words:?}");
    }
    assert_eq!(run(&["forget", "--about", "tabs"]), "forgotten memories: 1\n", "by its earlier text");
    assert_eq!(run(&["forget", "3"]), "memory 3 is forgotten\n");
    assert_eq!(run(&["add", "Deploys run on Fridays"]), "remembered as memory 4\n");
    assert_eq!(run(&["add", "Deploys run on Mondays", "--replaces", "4"]), "remembered as memory 5\n");
    assert!(run(&["list"]).contains("Deploys run on Fridays (superseded by 5)"));
    for number in ["4", "77"] {
        assert_ne!(alice.run(&["memory", "add", "Deploys run daily", "--replaces", number]).code, 0);
    }
    assert_ne!(bob.run(&["memory", "add", "Deploys run daily", "--replaces", "5"]).code, 0);
    assert!(
        run(&["mode", "letta", "--from-chats", "on"]).contains("mode letta; proposals from your chats: on")
    );
    assert!(run(&["mode"]).contains("letta"));
}

#[test]
fn a_models_proposal_waits_for_its_user() {
    let model = ScriptedModel::start(|asked| match asked.results().is_empty() {
        true => {
            Reply::Call(vec![("memory_write", json!({"text": "The user works at night", "replaces": [1]}))])
        }
        false => Reply::Say(asked.results().join("|")),
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    alice.run(&["memory", "add", "The user works by day"]);
    let said = alice.run(&["chat", "--new", "--approval", "full", "hello"]);
    assert!(said.stdout.contains("proposed as #2"), "{said:?}");
    let proposals = alice.run(&["memory", "proposals"]).stdout;
    assert!(proposals.contains("The user works at night") && proposals.contains("an agent"), "{proposals}");
    assert!(proposals.contains("(would replace 1: The user works by day)"), "{proposals}");
    assert!(!alice.run(&["memory", "list"]).stdout.contains("superseded"));
    assert_eq!(alice.run(&["memory", "accept", "2"]).stdout, "remembered as memory 2\n");
    let kept = alice.run(&["memory", "list"]).stdout;
    assert!(
        kept.contains("The user works at night") && kept.contains("works by day (superseded by 2)"),
        "{kept}"
    );
}

/// The number of memories that are forgotten, unless `SANDBRIDGE_ROUNDS` sets it.
const FORGOTTEN: usize = 200;
/// The number of forgotten memories that one message matches.
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);
/// A word in every memory that is forgotten; no message in a chat contains it.
const SECRET: &str = "quetzal";

/// A chat as an API client uses it.
struct Chat<'a> {
    client: &'a Client,
    id: String,
}

impl Chat<'_> {
    /// Posts a message and waits for the end of its answer.
    fn say(&self, text: &str) -> Value {
        let body = json!({"text": text}).to_string();
        let posted = self.client.send("POST", &format!("/chats/{}/messages", self.id), body.as_bytes());
        assert_eq!(posted.status, 202, "{posted:?}");
        let id = posted.json()["messages"][1]["id"].clone();
        eventually("the answer is over", PATIENCE, || {
            let page = self.client.call("GET", &format!("/chats/{}/messages", self.id)).json();
            let message =
                page["messages"].as_array().unwrap().iter().find(|message| message["id"] == id)?.clone();
            let is_open = ["queued", "running"].iter().any(|status| message["agent"]["status"] == *status);
            (!is_open).then_some(message)
        })
    }

    fn shown(&self, path: &str) -> String {
        let answer = self.client.call("GET", &format!("/chats/{}{path}", self.id));
        assert_eq!(answer.status, 200, "{path}");
        String::from_utf8(answer.body).unwrap()
    }
}

/// Calls the tool that is named at the end of the user's message, and never repeats the tool's output.
fn shows(asked: &Asked) -> Reply {
    let said = asked.last_of_user();
    let is_new = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
    let words: Vec<&str> = said.split_whitespace().collect();
    let (tool, arguments) = match words.as_slice() {
        _ if !is_new => return Reply::Say("done".to_owned()),
        [.., "memory_list"] => ("memory_list", json!({})),
        [.., word, "memory_search"] => ("memory_search", json!({"query": word})),
        [.., word, "archival_memory_search"] => ("archival_memory_search", json!({"query": word})),
        [.., word, "recall_memory_search"] => ("recall_memory_search", json!({"query": word})),
        [.., word, "ChatHistory"] => ("ChatHistory", json!({"query": word})),
        [.., id, "memory_edit"] => ("memory_edit", json!({"id": id.parse::<i64>().unwrap(), "text": ""})),
        _ => return Reply::Say("done".to_owned()),
    };
    Reply::Call(vec![(tool, arguments)])
}

#[test]
fn none_of_two_hundred_forgotten_memories_can_be_found() {
    let model = ScriptedModel::start(shows);
    let server = Server::start_in_a_file(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let folder = tempfile::tempdir().unwrap();
    let bytes = |file: &str| {
        let home = if file.starts_with('/') { PathBuf::new() } else { server.home().to_owned() };
        std::fs::read(home.join(file)).unwrap_or_default()
    };
    let holds = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    let count = std::env::var("SANDBRIDGE_ROUNDS").map_or(FORGOTTEN, |rounds| rounds.parse().unwrap());
    let keep = |text: &str| {
        let kept = client.send("POST", "/memories", json!({"text": text}).to_string().as_bytes());
        assert!(kept.status < 300, "{kept:?}");
        kept.json()["id"].as_i64().unwrap()
    };
    let own = keep("The lighthouse is white");
    let ids: Vec<i64> = (0..count)
        .map(|n| {
            keep(&format!("The harbour{n}x has a {SECRET}{n}x,{} and \"a gate\"", " blue".repeat(n % 60)))
        })
        .collect();

    // Each memory is recalled with a message, and shown by tools, commands and cards, in a chat and in a copy of it.
    let chat = Chat { client: &client, id: new_chat(&client, "full") };
    let about: Vec<String> = (0..count).map(|n| format!("harbour{n}x")).collect();
    for words in about.chunks(AT_ONCE) {
        chat.say(&words.join(" "));
    }
    let all = model.asked();
    let all = &all.last().unwrap().raw;
    assert!((0..count).all(|n| all.contains(&format!("{SECRET}{n}x"))), "each was recalled");
    let tools = ["memory_list", "harbour7x memory_search", "harbour7x ChatHistory"];
    let show = |chat: &Chat<'_>| {
        for tool in tools {
            chat.say(tool);
        }
        alice.run(&["memory", "mode", "letta"]);
        for tool in ["harbour8x archival_memory_search", "blue recall_memory_search"] {
            chat.say(tool);
        }
        alice.run(&["memory", "mode", "typed"]);
    };
    show(&chat);
    assert!(
        model.asked().pop().unwrap().results().iter().rev().take(5).all(|result| result.contains(SECRET))
    );
    assert!(chat.say("/memory")["text"].as_str().unwrap().contains(SECRET));
    chat.say("harbour9x and the lighthouse");
    assert!(chat.say("/context")["text"].as_str().unwrap().contains(SECRET));
    let copy = client.send("POST", &format!("/chats/{}/fork", chat.id), b"{}").json()["id"].clone();
    let copy = Chat { client: &client, id: copy.as_str().unwrap().to_owned() };
    assert!(copy.shown("/export?format=json").contains(SECRET) && holds(&bytes("sandbridge.db")));

    // One memory is forgotten by the agent, one in the chat, one through the API, and the rest by a word in them.
    chat.say(&format!("Forget that the harbour0x has a bird and a gate: {} memory_edit", ids[0]));
    assert_eq!(model.asked().pop().unwrap().results().pop().unwrap(), "forgotten");
    chat.say(&format!("/memory forget {}", ids[1]));
    assert_eq!(client.call("DELETE", &format!("/memories/{}", ids[2])).status, 204);
    let told = alice.run(&["memory", "forget", "--about", "gate"]).stdout;
    assert_eq!(told, format!("forgotten memories: {}\n", count - 3));

    let from = model.asked().len();
    for chat in [&chat, &copy] {
        chat.say("And harbour7x and the lighthouse?");
        show(chat);
        chat.say("harbour9x");
        for command in ["/memory", "/context"] {
            chat.say(command);
        }
        for path in ["/messages", "/export?format=json", "/export?format=markdown"] {
            assert!(!chat.shown(path).contains(SECRET), "{path}");
        }
    }
    for asked in &model.asked()[from..] {
        assert!(!asked.raw.contains(SECRET), "{}", asked.raw);
    }
    let asked = &model.asked()[from];
    assert!(asked.raw.contains(&format!("- #{} (forgotten)", ids[7])), "{}", asked.raw);
    assert!(asked.raw.contains(&format!("- #{own} semantic (from person; found by lighthouse): ")));
    for words in [&["list"][..], &["search", SECRET], &["export"], &["proposals"]] {
        assert!(!alice.run(&[&["memory"], words].concat()).stdout.contains(SECRET), "{words:?}");
    }
    let found = client.call("GET", &format!("/chats?query={SECRET}"));
    assert!(found.status == 200 && !holds(&found.body), "{found:?}");
    eventually("the database file no longer contains it", PATIENCE, || {
        ["sandbridge.db", "sandbridge.db-wal"].iter().all(|file| !holds(&bytes(file))).then_some(())
    });
    let backup = folder.path().join("backup");
    let made = sandbridge(server.home(), &["backup", backup.to_str().unwrap()]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(!holds(&bytes(backup.to_str().unwrap())) && !bytes(backup.to_str().unwrap()).is_empty());
}
