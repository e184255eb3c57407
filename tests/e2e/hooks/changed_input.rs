//! A hook changes a call: its access is determined again, the rules and the person are asked about the changed call.

use std::fs;

use serde_json::{Value, json};
use tests::eventually;
use tests::http::Client;

use super::{PATIENCE, calls, command};
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

/// A hook that replaces the arguments of a tool's calls.
fn replaces(tool: &str, input: &Value) -> Value {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input}});
    json!({"PreToolUse": command(tool, &format!("echo '{answer}'"))})
}

/// The card of the call that waits for an approval.
fn asking(client: &Client, chat: &str) -> Value {
    eventually("the call needs an approval", PATIENCE, || {
        messages(client, chat).into_iter().find(|message| message["agent"]["status"] == "asking")
    })
}

fn answer(client: &Client, chat: &str, card: &Value, allow: bool, always: bool) {
    let body = json!({"message_id": card["id"], "allow": allow, "always": always}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/approvals"), body.as_bytes()).status, 204);
}

#[test]
fn a_call_that_reads_and_is_changed_into_one_that_writes_is_asked_about_as_the_latter() {
    let world = World::new(calls("config", json!({"action": "get", "key": "language"})));
    let set = json!({"action": "set", "key": "language", "value": "Esperanto"});
    world.hooks(replaces("config", &set));
    let client = Client::login(&world.server, "alice");
    let language = || client.call("GET", "/settings").json()["language"].clone();
    let before = language();
    // In `plan` mode, nothing is changed.
    world.chat("plan");
    assert!(world.last_result().contains("plan mode"), "{}", world.last_result());
    // Each change of a setting is asked about in every mode, and a hook cannot allow it.
    for allows in [false, true] {
        let chat = new_chat(&client, "full");
        say(&client, &chat, "go");
        let card = asking(&client, &chat);
        let shown = card["agent"]["approval"].to_string();
        assert!(
            shown.contains("Esperanto") && shown.contains("language"),
            "the question is about the changed call: {card}"
        );
        assert_eq!(language(), before);
        answer(&client, &chat, &card, allows, false);
        ended(&client, &chat, 1);
    }
    assert!(world.last_result().contains("language is Esperanto now"), "{}", world.last_result());
}

#[test]
fn a_changed_path_or_command_is_judged_by_the_rules_and_asked_about_as_it_will_run() {
    let world = World::new(calls("Read", json!({"path": "open.txt"})));
    fs::write(world.path("open.txt"), "open words\n").unwrap();
    fs::write(world.path("secret.txt"), "hidden words\n").unwrap();
    assert_eq!(world.alice.run(&["rule", "add", "deny", "Read(/secret.txt)"]).code, 0);
    world.hooks(replaces("Read", &json!({"path": "secret.txt"})));
    world.chat("full");
    let result = world.last_result();
    assert!(result.contains("denied by the user's rule") && !result.contains("hidden words"), "{result}");

    let world = World::new(calls("Shell", json!({"command": "ls"})));
    assert_eq!(world.alice.run(&["rule", "add", "deny", "Bash(touch denied*)"]).code, 0);
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "go");
    answer(&client, &chat, &asking(&client, &chat), true, true);
    ended(&client, &chat, 1);
    // `ls` is allowed for good in this chat, and what a hook makes of it is not. The hook's own answer cannot lift a denial.
    world.hooks(json!({"PreToolUse": command("Bash", &format!("echo '{}'", json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": {"command": "touch mark"}}})))}));
    say(&client, &chat, "go");
    let card = asking(&client, &chat);
    let shown = card["agent"]["approval"].to_string();
    assert!(shown.contains("touch mark") && !shown.contains("\"ls\""), "{card}");
    answer(&client, &chat, &card, false, false);
    ended(&client, &chat, 2);
    assert!(!world.path("mark").exists());
    world.hooks(replaces("Bash", &json!({"command": "touch denied"})));
    say(&client, &chat, "go");
    ended(&client, &chat, 3);
    let result = world.last_result();
    assert!(result.contains("denied by the user's rule") && result.contains("touch denied"), "{result}");
    assert!(!world.path("denied").exists());
    // The administrator's hooks run last, and see the changed command.
    let guard = "case $(cat) in *'touch mark'*) echo 'no marks' >&2; exit 2;; esac";
    let managed = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": command("Shell", guard)}});
    fs::write(world.server.home().join("hooks.json"), managed.to_string()).unwrap();
    world.hooks(replaces("Bash", &json!({"command": "touch mark"})));
    world.chat("full");
    assert!(
        !world.path("mark").exists() && world.last_result().contains("no marks"),
        "{}",
        world.last_result()
    );
}

#[test]
fn a_hook_replaces_what_the_model_reads_of_a_result() {
    let world = World::new(calls("Shell", json!({"command": "echo the word is swordfish"})));
    let output = json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "the word is hidden"}});
    world.hooks(json!({"PostToolUse": command("Shell", &format!("echo '{output}'"))}));
    world.chat("full");
    let result = world.last_result();
    assert!(
        result.starts_with("the word is hidden") && result.contains("A hook changed the result"),
        "{result}"
    );
    assert!(!world.model.asked().pop().unwrap().raw.contains("is swordfish\\n"));
}
