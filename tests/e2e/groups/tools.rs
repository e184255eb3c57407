//! The tools with which agents ask each other: `SendMessage`, `HandOff` and others.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Reply, eventually};

use super::private::{obedient, wish};
use super::{PATIENCE, Team, echo, handle};
use crate::agent_tools::asking;
use crate::http_tools;

/// The tool results of this turn.
pub(crate) fn fresh(asked: &Asked) -> Vec<String> {
    let messages = asked.body["messages"].as_array().unwrap();
    let turn = messages.iter().rev().take_while(|message| message["role"] != "user").count();
    let all = asked.results();
    let count = messages[messages.len() - turn..].iter().filter(|message| message["role"] == "tool").count();
    all[all.len() - count..].to_vec()
}

fn send(to: &str, message: &str) -> (&'static str, Value) {
    ("SendMessage", json!({"to": to, "message": message}))
}

pub(super) fn later(to: &str, message: &str) -> (&'static str, Value) {
    ("SendMessage", json!({"to": to, "message": message, "background": true}))
}

fn hand_off(to: &str, task: &str) -> (&'static str, Value) {
    ("HandOff", json!({"to": to, "task": task}))
}

/// A team in which bob lets alice ask his writer, with a grant of the mode `own`.
pub(super) fn team(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Team {
    let team = Team::new(script);
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    team
}

/// The coder makes these calls, and then reports their results; other agents repeat what they are asked.
fn calling(calls: Vec<(&'static str, Value)>) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    move |asked| {
        let results = fresh(asked);
        if handle(asked) != "coder" {
            echo(asked)
        } else if results.is_empty() {
            Reply::Call(calls.clone())
        } else {
            Reply::Say(format!("done: {}", results.join(" | ")))
        }
    }
}

#[test]
fn an_agent_asks_another_one_and_uses_its_answer() {
    let team = team(calling(vec![send("@Writer", "write a line")]));
    let posted = team.post(&team.world.alice, "@coder go");
    let said = team.until_said(3);
    assert_eq!(said[0], ("coder".to_owned(), "@writer write a line".to_owned()));
    assert_eq!(said[1], ("writer".to_owned(), "writer heard: write a line".to_owned()));
    assert!(said[2].1.starts_with("done: ") && said[2].1.contains("writer heard: write a line"), "{said:?}");
    let asks: Vec<_> =
        team.entries().into_iter().filter(|entry| entry["asks"] == json!(["writer"])).collect();
    assert_eq!((asks.len(), &asks[0]["author"]), (1, &json!("coder")));
    let calls = team.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls.iter().all(|call| call["asked_by"] == "alice"), "{calls:?}");
    team.until_call(&posted["calls"][0]["id"], "done");
    let model = &team.world.model;
    let asked = model.asked().into_iter().find(|asked| handle(asked) == "writer").unwrap();
    assert!(asked.last_of_user().contains("@coder asks you on behalf of alice"), "{}", asked.last_of_user());
    assert!(
        asked.tools().contains(&"SendMessage".to_owned()) && asked.tools().contains(&"HandOff".to_owned())
    );
}

#[test]
fn agents_outside_of_groups_have_no_group_tools() {
    let team = team(echo);
    team.world.run(&["chat", "hello"]);
    let asked = team.world.model.asked().pop().unwrap();
    assert!(
        !asked.tools().iter().any(|tool| tool == "SendMessage" || tool == "HandOff"),
        "{:?}",
        asked.tools()
    );
}

#[test]
fn an_agent_has_only_the_tools_that_its_owner_chose() {
    let shop = http_tools::echo();
    let team = Team::with(obedient, http_tools::OPEN);
    let tools = http_tools::Tools::of(&team.world);
    for name in ["notes_read", "notes_add", "payroll"] {
        tools
            .put(&http_tools::document(name, &format!("http://127.0.0.1:{}/{name}", shop.port()), json!({})))
            .unwrap();
    }
    let add = ["add-agent", &team.group, "coder", "--on", "laptop", "--approval", "full"];
    let add = |tools: &str| team.alice(&[&add[..], &["--tools", tools]].concat());
    let offered = |text: &str| {
        let before = team.said().len();
        team.post(&team.world.alice, text);
        let said = team.until_said(before + 1).pop().unwrap().1;
        (team.world.model.asked().pop().unwrap().tools(), said)
    };
    let group = add("Read, http__notes_*");
    let coder = group["agents"].as_array().unwrap().iter().find(|agent| agent["handle"] == "coder").unwrap();
    assert_eq!(coder["tools"], json!(["Read", "http__notes_*"]));
    let calls = [
        ("search_tools", json!({"query": "asks the shop", "limit": 10})),
        ("search_tools", json!({"query": "select:http__payroll"})),
        ("http__payroll", json!({})),
        ("Shell", json!({"command": "touch made"})),
        ("SendMessage", json!({"to": "writer", "message": "hello"})),
    ];
    let (names, said) = offered(&format!("@coder go\n{}", wish(&calls)));
    assert_eq!(names.iter().filter(|name| !name.starts_with("http__notes_")).count(), 2, "{names:?}");
    assert!(names.contains(&"Read".to_owned()) && names.contains(&"search_tools".to_owned()), "{names:?}");
    let results: Vec<_> = said.split(" | ").collect();
    assert_eq!(results.len(), calls.len(), "{said}");
    assert!(results[0].contains("http__notes_read") && results[0].contains("http__notes_add"), "{said}");
    assert!(results[1].starts_with("coder heard") || results[1].contains("No tool matches"), "{said}");
    for result in &results[2..] {
        assert!(result.contains("there is no tool"), "{said}");
    }
    assert!(!team.world.machine.workspace().join("made").exists());
    assert!(!said.contains("payroll:"), "{said}");

    // The agent's sub-agent has no additional tools.
    add("Read,SubAgent");
    let below = json!([["Shell", {"command": "touch made"}]]).to_string();
    let (names, said) = offered(&format!("@coder go\n{}", wish(&[("SubAgent", json!({"task": below}))])));
    // The tool that the agent called before is still declared, as unavailable.
    assert_eq!(names, ["Read", "SubAgent", "search_tools"]);
    assert!(
        said.contains("there is no tool") && !team.world.machine.workspace().join("made").exists(),
        "{said}"
    );

    // The agent keeps its list of tools when other settings change, until the owner gives it all tools again.
    let group = team.alice(&["add-agent", &team.group, "coder", "--on", "laptop", "--approval", "full"]);
    let coder = group["agents"].as_array().unwrap().iter().find(|agent| agent["handle"] == "coder").unwrap();
    assert_eq!(coder["tools"], json!(["Read", "SubAgent"]));
    let group = add("*");
    let coder = group["agents"].as_array().unwrap().iter().find(|agent| agent["handle"] == "coder").unwrap();
    assert_eq!(coder["tools"], Value::Null);
    let (names, _) = offered("@coder hello");
    assert!(names.contains(&"Shell".to_owned()) && names.contains(&"SendMessage".to_owned()), "{names:?}");
    // A permission rule about any of these tools refers to an existing tool.
    let client = Client::login(&team.world.server, "alice");
    for name in &names {
        let rule = json!({"effect": "ask", "rule": name}).to_string();
        let added = client.send("POST", "/rules", rule.as_bytes());
        assert_eq!(added.status, 201, "{name} {added:?}");
        assert_eq!(added.json()["warnings"], json!([]), "{name}");
    }

    for tools in ["Read;Shell", "Read, ", "a/b", &"x".repeat(65)] {
        let add = ["group", "add-agent", &team.group, "coder", "--on", "laptop", "--tools", tools];
        let refused = team.world.alice.run(&add);
        assert!(
            refused.code != 0 && refused.stderr.contains("is not the name of a tool"),
            "{tools} {refused:?}"
        );
    }
}

#[test]
fn an_agent_that_cannot_be_asked_is_named_and_nothing_is_posted() {
    let calls = vec![
        send("coder", "hello"),
        send("nobody", "hello"),
        send("all", "hello"),
        send("writer", "  "),
        send("writer", "hello"),
        hand_off("writer", "hello"),
    ];
    let team = Team::new(calling(calls));
    team.post(&team.world.alice, "@coder go");
    let said = team.until_said(1);
    let expected = [
        "you are @coder yourself",
        "there is no agent @nobody in this group; you can ask @writer",
        "only a person can ask everyone",
        "the message is empty",
        "alice asked you, and bob has not let alice ask @writer",
    ];
    let results: Vec<_> = said[0].1.split(" | ").collect();
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{result} is not {expected}");
    }
    assert!(results[5].contains(expected[4]), "{}", results[5]);
    assert_eq!((team.calls().len(), team.said().len()), (1, 1));
}

#[test]
fn agents_that_would_wait_for_each_other_get_an_error() {
    let team = team(|asked| match (handle(asked).as_str(), fresh(asked).as_slice()) {
        ("coder", []) => Reply::Call(vec![send("writer", "ask me")]),
        (_, []) => Reply::Call(vec![send("coder", "and you?"), hand_off("coder", "do it")]),
        (who, results) => Reply::Say(format!("{who}: {}", results.join(" | "))),
    });
    team.post(&team.world.alice, "@coder go");
    let said = team.until_said(3);
    assert_eq!(said[1].0, "writer");
    assert_eq!(said[1].1.matches("@coder is waiting for your answer").count(), 2, "{said:?}");
    assert!(said[2].1.starts_with("coder: "), "{said:?}");
    assert_eq!((team.calls().len(), team.said().len()), (2, 3));
}

#[test]
fn a_message_is_posted_once_over_a_kill_and_its_answer_arrives_later() {
    let mut team = team(|asked| {
        let text = asked.last_of_user();
        match (handle(asked).as_str(), fresh(asked).as_slice()) {
            ("coder", _) if text.contains("@builder answers what you asked it on behalf of alice") => {
                Reply::Say(format!("heard it: {}", text.contains("builder heard: build")))
            }
            ("coder", []) => Reply::Call(vec![send("builder", "build")]),
            ("coder", results) => Reply::Say(results.join(" | ")),
            _ => echo(asked),
        }
    });
    let token = team.world.alice.add_runner("box");
    team.alice(&["add-agent", &team.group, "builder", "--on", "box"]);
    team.post(&team.world.alice, "@coder go");
    let said = team.until_said(2);
    assert!(said[1].1.contains("@builder has not answered yet (runner box is offline)"), "{said:?}");
    let options = [&["--docker", "off"], &team.world.model.options("openai")[..]].concat();
    let options: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    for _ in 0..2 {
        team.world.server.kill();
        team.world.server.restart(&options);
    }
    let _machine = Machine::start_with_token(&team.world.server, "box", &token, &[]);
    let said = team.until_said(4);
    let texts: Vec<_> = said.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!((texts[0], texts[2], texts[3]), ("@builder build", "builder heard: build", "heard it: true"));
    let calls = team.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls.iter().all(|call| call["state"] == "done"), "{calls:?}");
}

#[test]
fn an_agent_that_hands_over_does_not_answer_and_the_other_does() {
    let team = team(calling(vec![hand_off("writer", "write it")]));
    team.post(&team.world.alice, "@coder go");
    let heard = |who: &str, text: &str| (who.to_owned(), text.to_owned());
    let said = team.until_said(2);
    assert_eq!(said, [heard("coder", "@writer write it"), heard("writer", "writer heard: write it")]);
    eventually("all calls are done", PATIENCE, || {
        team.calls().iter().all(|call| call["state"] == "done").then_some(())
    });
    assert_eq!(team.said().len(), 2);
    // In a chain the step's output is the answer of the agent that took over.
    let run = team.begin("1. @coder: begin\n2. @writer: end\n");
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][0]["output"], "writer heard: write it", "{done}");
    let writer = team.world.model.asked().pop().unwrap();
    assert!(writer.last_of_user().contains("writer heard: write it"), "{}", writer.last_of_user());
}

#[test]
fn a_stopped_agent_stops_those_it_waits_for() {
    let team = team(|asked| match handle(asked).as_str() {
        "coder" => Reply::Call(vec![send("writer", "take your time")]),
        _ => Reply::Hang("one moment".to_owned()),
    });
    let call = team.post(&team.world.alice, "@coder go")["calls"][0]["id"].clone();
    let other = eventually("the writer is asked", PATIENCE, || {
        let calls = team.calls();
        calls.iter().find(|call| call["agent"] == "writer" && call["state"] == "running").cloned()
    });
    team.alice(&["cancel", &team.group, &call.to_string()]);
    team.until_call(&call, "stopped");
    team.until_call(&other["id"], "stopped");
}

#[test]
fn a_chosen_send_id_cannot_impersonate_a_call() {
    let team = team(calling(vec![send("writer", "in bob's name")]));
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    team.post(&team.bob, "@coder go");
    team.until_said(3);
    let chat = eventually("the agent has a chat", PATIENCE, || {
        team.alice(&["show", &team.group])["agents"][0]["chat_id"].as_str().map(str::to_owned)
    });
    let client = Client::login(&team.world.server, "alice");
    let body = json!({"text": "go on", "send_id": "call/99"}).to_string();
    let sent = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    assert!(sent.status < 300, "{sent:?}");
    let told = eventually("the agent was told", PATIENCE, || {
        let asked = team.world.model.asked();
        asked
            .iter()
            .flat_map(fresh)
            .find(|result| result.contains("the request that you are working on has ended"))
    });
    assert!(told.starts_with("Error"), "{told}");
    assert_eq!(team.said().len(), 3);
}

#[test]
fn an_agent_of_another_owner_in_between_requires_the_machine_owners_approval() {
    let team = team(|asked| match (handle(asked).as_str(), fresh(asked).as_slice()) {
        ("writer", []) => Reply::Call(vec![send("coder", "make it")]),
        ("coder", []) => Reply::Call(vec![("Shell", json!({"command": "touch made"}))]),
        (who, _) => Reply::Say(format!("{who} is done")),
    });
    team.post(&team.world.alice, "@writer go");
    let chat = eventually("the coder has a chat", PATIENCE, || {
        team.alice(&["show", &team.group])["agents"][0]["chat_id"].as_str().map(str::to_owned)
    });
    let client = Client::login(&team.world.server, "alice");
    let ask = asking(&client, &chat, "made");
    assert!(!team.world.path("made").exists(), "in the mode `full` the file would be created");
    let allow = json!({"message_id": ask["id"], "allow": true, "always": false});
    assert_eq!(crate::agent_tools::post(&client, &chat, "approvals", &allow), 204);
    team.until_said(3);
    assert!(team.world.path("made").exists());
}

#[test]
fn agents_discuss_in_rounds_and_the_one_that_began_gets_their_messages() {
    let call = json!({"agents": ["writer", "@critic"], "topic": "is rain good?", "rounds": 2});
    let team = Team::new(move |asked| {
        let text = asked.last_of_user();
        let round = text.split_once("This is round ").map(|(_, rest)| &rest[..1]).unwrap_or_default();
        match (handle(asked).as_str(), fresh(asked).as_slice()) {
            ("coder", []) => Reply::Call(vec![("CreateChat", call.clone())]),
            ("coder", results) => Reply::Say(results.join(" | ")),
            (who, []) if who == "critic" && round == "1" => {
                Reply::Call(vec![("CreateChat", json!({"agents": ["coder", "writer"], "topic": "more"}))])
            }
            (who, results) => Reply::Say(format!(
                "{who} in round {round} after {}{}",
                text.matches("<output step=").count(),
                results.join("")
            )),
        }
    });
    team.of(&team.bob, &["grant", &team.group, "writer", "alice"]);
    team.alice(&["add-agent", &team.group, "critic", "--on", "laptop"]);
    let posted = team.post(&team.world.alice, "@coder go");
    team.until_call(&posted["calls"][0]["id"], "done");
    let said = team.said();
    assert_eq!(said.len(), 6, "{said:?}");
    assert_eq!(said[0].1, "A discussion among @writer, @critic begins: is rain good?");
    let words: Vec<_> = said[1..5].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(words[0], "writer in round 1 after 0");
    assert!(words[1].starts_with("critic in round 1 after 1Error: a step of a chain"), "{words:?}");
    assert_eq!(words[2..], ["writer in round 2 after 2", "critic in round 2 after 3"]);
    let result = &said[5].1;
    assert!(result.starts_with("Run 1 is done."), "{result}");
    assert!(words.iter().all(|word| result.contains(word.lines().next().unwrap())), "{result}");
}

#[test]
fn an_agent_that_cannot_discuss_is_named_and_nothing_begins() {
    let discuss = |agents: Value, rounds: u32| {
        ("CreateChat", json!({"agents": agents, "topic": "rain", "rounds": rounds}))
    };
    let calls = vec![
        discuss(json!(["writer"]), 1),
        discuss(json!(["writer", "critic"]), 9),
        discuss(json!(["writer", "Writer"]), 1),
        discuss(json!(["writer", "nobody"]), 1),
        discuss(json!(["writer", "coder"]), 1),
        discuss(json!(["bold", "critic"]), 1),
        ("Chain", json!({"name": "none", "request": "rain"})),
        ("Chain", json!({"name": "own", "request": "rain"})),
    ];
    let team = team(calling(calls));
    team.alice(&["add-agent", &team.group, "critic", "--on", "laptop"]);
    team.of(&team.bob, &["add-agent", &team.group, "bold", "--on", "desk", "--approval", "full"]);
    team.of(&team.bob, &["grant", &team.group, "bold", "alice", "--mode", "own"]);
    let set = ["group", "chain", "set", &team.group, "own", "-"];
    assert_eq!(team.world.alice.with_stdin(&set, b"1. @coder: begin\n").code, 0);
    team.post(&team.world.alice, "@coder go");
    let said = team.until_said(1);
    let results: Vec<_> = said[0].1["done: ".len()..].split(" | ").collect();
    let expected = [
        "2 to 8 agents and 1 to 5 rounds",
        "2 to 8 agents and 1 to 5 rounds",
        "@writer is listed twice",
        "there is no agent @nobody in this group",
        "you are @coder yourself",
        "@bold changes its machine without asking bob",
        "there is no chain",
        "@coder is waiting for your answer",
    ];
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.starts_with("Error") && result.contains(expected), "{result} is not {expected}");
    }
    assert_eq!((results.len(), team.said().len(), team.calls().len()), (8, 1, 1));
    assert_eq!(team.alice(&["chain", "runs", &team.group]), json!([]));
}

#[test]
fn an_agent_runs_a_chain_and_stopping_the_agent_stops_the_run() {
    let team = Team::new(|asked| match (handle(asked).as_str(), fresh(asked).as_slice()) {
        ("coder", []) if asked.last_of_user().contains("list them") => {
            Reply::Call(vec![("Chain", json!({}))])
        }
        ("coder", []) => {
            Reply::Call(vec![("Chain", json!({"name": "story", "request": "a story about rain"}))])
        }
        ("coder", results) => Reply::Say(results.join(" | ")),
        (_, _) if asked.last_of_user().contains("slowly") => Reply::Hang("one moment".to_owned()),
        _ => echo(asked),
    });
    team.of(&team.bob, &["grant", &team.group, "writer", "alice"]);
    let set = |steps: &str| {
        let set = ["group", "chain", "set", &team.group, "story", "-", "--replace"];
        assert_eq!(team.world.alice.with_stdin(&set, steps.as_bytes()).code, 0);
    };
    set("1. @writer: write it\n");
    team.post(&team.world.alice, "@coder list them");
    assert!(team.until_said(1)[0].1.contains("# story\n1. @writer: write it"));
    team.post(&team.world.alice, "@coder run it");
    let said = team.until_said(4);
    assert!(said[3].1.contains("Run 1 is done.") && said[3].1.contains("writer heard: write it"), "{said:?}");
    // A gate asks a person, and the agent continues with the outputs so far.
    set("1. @writer: write it [gate]\n");
    team.post(&team.world.alice, "@coder run it");
    let said = team.until_said(7);
    assert!(said[6].1.contains("Run 2 is waiting for a person"), "{said:?}");
    team.alice(&["chain", "stop", &team.group, "2"]);
    set("1. @writer: write it slowly\n");
    let call = team.post(&team.world.alice, "@coder run it")["calls"][0]["id"].clone();
    eventually("the step is in progress", PATIENCE, || {
        team.calls().iter().any(|call| call["agent"] == "writer" && call["state"] == "running").then_some(())
    });
    team.alice(&["cancel", &team.group, &call.to_string()]);
    team.until_run(&json!(3), "stopped");
}

#[test]
fn templates_are_valid_chains_and_a_chain_is_read_as_it_was_set() {
    let team = Team::new(echo);
    let templates = team.alice(&["chain", "template"]);
    let templates = templates.as_array().unwrap();
    assert_eq!(templates.len(), 4, "{templates:?}");
    for template in templates {
        let name = template["name"].as_str().unwrap();
        let text = team.world.alice.run(&["group", "chain", "template", name]).stdout;
        let handle =
            |line: &str| line.split_once(". @").map(|(_, rest)| rest.split(':').next().unwrap().to_owned());
        let named = text
            .lines()
            .filter_map(handle)
            .fold(text.clone(), |text, handle| text.replace(&format!("@{handle}:"), "@coder:"));
        let set =
            team.world.alice.with_stdin(&["group", "chain", "set", &team.group, name, "-"], named.as_bytes());
        assert_eq!(set.code, 0, "{set:?}");
        let got = team.world.alice.run(&["group", "chain", "get", &team.group, name]);
        assert_eq!(got.stdout.trim_end(), named.trim_end());
    }
    // The page shows the same templates, in its reader's language.
    let alice = Client::login(&team.world.server, "alice");
    let of_page = |language: &str| {
        let told = [("accept-language", language)];
        let answer = alice.send_with("GET", "/chain-templates", &told, b"").json();
        answer
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["name"].clone(), one["text"].clone()))
            .collect::<Vec<_>>()
    };
    let of_client: Vec<_> = templates.iter().map(|one| (one["name"].clone(), one["text"].clone())).collect();
    assert_eq!(of_page("en"), of_client);
    let (english, chinese) = (of_page("en"), of_page("zh"));
    assert!(english.iter().zip(&chinese).all(|(one, other)| one.0 == other.0 && one.1 != other.1));
    assert_eq!(Client::anonymous(&team.world.server).call("GET", "/chain-templates").status, 401);
    let unknown = team.world.alice.run(&["group", "chain", "template", "none"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("the templates are article, change"), "{unknown:?}");
    let none = team.world.alice.run(&["group", "chain", "get", &team.group, "none"]);
    assert!(none.code != 0 && none.stderr.contains("there is no chain"), "{none:?}");
}
