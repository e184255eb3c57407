//! Callbacks: functions of the server that hooks call by name.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Server, eventually};

use super::{PATIENCE, calls};
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

/// One group with a callback.
fn callback(matcher: &str, name: &str, input: Value) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "callback", "name": name, "input": input}]}])
}

/// The names of the callbacks in the table of their section in `docs/hooks.md`.
fn documented() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hooks.md");
    let text = fs::read_to_string(page).unwrap();
    let section = text.split("## Callbacks\n").nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name.to_owned()).filter(|name| name != "name").collect()
}

#[test]
fn callbacks_are_listed_checked_when_saved_and_run_without_a_machine() {
    let world = World::on(calls("Shell", json!({"command": "touch mark"})), &[], Server::start_logged);
    let client = Client::login(&world.server, "alice");
    let listed = client.call("GET", "/hooks").json()["callbacks"].clone();
    let listed = listed.as_array().unwrap();
    let names: Vec<&str> = listed.iter().map(|callback| callback["name"].as_str().unwrap()).collect();
    assert_eq!(names, documented());
    let shown = world.alice.run(&["hook", "list"]).stdout;
    assert!(shown.contains(&format!("callbacks that a hook can name: {}", names.join(", "))), "{shown}");

    for (hooks, why) in [
        (
            json!({"PreToolUse": callback("", "approve", json!({}))}),
            "there is no callback \"approve\"; the callbacks are approval, audit, logging, timing",
        ),
        (
            json!({"PreToolUse": callback("", "timing", json!({}))}),
            "the callback timing has no effect here; use it at PostToolUse, PostToolUseFailure",
        ),
        (json!({"PreToolUse": callback("", "approval", json!({"resaon": "x"}))}), "unknown field `resaon`"),
    ] {
        let document = json!({"hooks": hooks}).to_string();
        let refused = world.alice.with_stdin(&["hook", "set", "-"], document.as_bytes());
        assert!(refused.code != 0 && refused.stderr.contains(why), "{refused:?}");
        let body = json!({"text": document}).to_string();
        let refused = client.send("PUT", "/hooks/document", body.as_bytes());
        assert!(
            refused.status == 400 && refused.json().to_string().contains("hooks.PreToolUse[0].hooks[0]"),
            "{}",
            refused.json()
        );
    }

    world.hooks(json!({
        "PreToolUse": callback("Shell", "approval", json!({"reason": "look at: ${tool_input.command}"})),
        "PostToolUse": callback("Shell", "timing", json!({"over_seconds": 0})),
        "PostToolBatch": callback("", "logging", json!({})),
    }));
    // A trial leaves no record that could be taken for a real one.
    let tried = world.alice.json(&["hook", "test", "--event", "PostToolBatch", "--json"]);
    let run = &tried["runs"][0];
    assert!(run["output"].as_str().unwrap().contains("event=PostToolBatch a hook logs {"), "{tried}");
    assert!(run["outcome"].as_str().unwrap().starts_with("a trial writes nothing"), "{tried}");
    assert!(!world.server.log().contains("a hook logs"));

    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    let card = eventually("the call needs an approval", PATIENCE, || {
        messages(&client, &chat).into_iter().find(|message| message["agent"]["status"] == "asking")
    });
    assert!(card["agent"]["approval"].to_string().contains("look at: touch mark"), "{card}");
    assert!(!world.path("mark").exists());
    let body = json!({"message_id": card["id"], "allow": true}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/approvals"), body.as_bytes()).status, 204);
    ended(&client, &chat, 1);
    assert!(world.path("mark").exists());
    let shown = messages(&client, &chat);
    let took = |message: &Value| {
        message["text"].as_str().is_some_and(|text| text.starts_with("Hook (your hooks): Shell took "))
    };
    assert!(shown.iter().any(took), "{shown:?}");
    let log = world.server.log();
    let line = log.lines().find(|line| line.contains("a hook logs")).expect("a line in the log");
    assert!(line.contains("PostToolBatch") && line.contains("touch mark") && line.contains(&chat), "{line}");
    let runs = world.alice.json(&["hook", "log", "--json"]);
    assert_eq!(runs.as_array().unwrap().len(), 3, "{runs}");

    // Of a person without a machine, as the administrator wishes.
    let managed = json!({"hooks": {"UserPromptSubmit": callback("", "audit", json!({}))}});
    fs::write(world.server.home().join("hooks.json"), managed.to_string()).unwrap();
    let tried = world.alice.run(&["hook", "test", "--event", "UserPromptSubmit"]).stdout;
    assert!(
        tried.contains("a trial writes nothing") && tried.contains("  | alice hook.UserPromptSubmit ok: {"),
        "{tried}"
    );
    let trail = client.call("GET", "/audit?action=hook.UserPromptSubmit&limit=10").json().to_string();
    assert!(!trail.contains("hook.UserPromptSubmit"), "{trail}");
    let bob = world.server.person("bob");
    bob.run(&["chat", "--new", "--json", "--approval", "full", "are you there?"]);
    let trail = client.call("GET", "/audit?action=hook.UserPromptSubmit&limit=10").json().to_string();
    assert!(trail.contains("bob") && trail.contains("are you there?"), "{trail}");
    // One that is not there closes its event, as any of the administrator's hooks that cannot be loaded.
    let wrong = json!({"hooks": {"PreToolUse": callback("", "adit", json!({}))}});
    fs::write(world.server.home().join("hooks.json"), wrong.to_string()).unwrap();
    fs::remove_file(world.path("mark")).unwrap();
    world.run(&["hook", "clear"]);
    world.chat("full");
    assert!(
        !world.path("mark").exists() && world.last_result().contains("there is no callback"),
        "{}",
        world.last_result()
    );
}
