//! Rules of a chat and of a workspace, which apply in addition to those of the administrator and the user. A workspace's rules can only restrict.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply};

use crate::agent::{ended, new_chat, say};
use crate::world::World;

/// A model that runs a command, and then repeats the result.
fn runs(command: &'static str) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    move |asked| {
        let last = asked.body["messages"].as_array().and_then(|messages| messages.last());
        match last.is_some_and(|message| message["role"] == "tool") {
            true => Reply::Say("that is all".to_owned()),
            false => Reply::Call(vec![("Shell", json!({"command": command}))]),
        }
    }
}

#[test]
fn a_rule_of_a_chat_applies_only_there_and_is_deleted_with_it() {
    let world = World::new(runs("touch mark"));
    let client = Client::login(&world.server, "alice");
    let (here, elsewhere) = (new_chat(&client, "full"), new_chat(&client, "full"));
    let added = world.alice.json(&[
        "rule",
        "add",
        "deny",
        "Shell(touch *)",
        "--chat",
        &here,
        "--because",
        "not here",
        "--json",
    ]);
    assert_eq!((&added["origin"], &added["chat_id"]), (&json!("chat"), &json!(here)), "{added}");
    say(&client, &here, "go");
    ended(&client, &here, 1);
    assert!(
        !world.path("mark").exists() && world.last_result().contains("not here"),
        "{}",
        world.last_result()
    );
    say(&client, &elsewhere, "go");
    ended(&client, &elsewhere, 1);
    assert!(world.path("mark").exists());
    let of = |chat: &str| {
        world.alice.json(&["rule", "test", "Shell", "touch x", "--chat", chat, "--json"])["verdict"].clone()
    };
    assert_eq!((of(&here), of(&elsewhere)), (json!("deny"), json!("mode")));
    let counted = rules(&world).into_iter().find(|rule| rule["origin"] == "chat").unwrap();
    assert_eq!(counted["hits"], 1, "{counted}");
    assert_eq!(client.call("DELETE", &format!("/chats/{here}")).status, 204);
    assert!(rules(&world).iter().all(|rule| rule["origin"] != "chat"));
    let foreign = world.alice.run(&["rule", "add", "deny", "Fetch", "--chat", &"0".repeat(32)]);
    assert!(foreign.code != 0, "{foreign:?}");
}

#[test]
fn a_workspace_denies_without_approval_and_its_allow_rules_are_listed_without_effect() {
    let world = World::new(runs("touch mark"));
    let settings = json!({"permissions": {"deny": ["Bash(touch *)"], "allow": ["Bash(ls *)"]}});
    world.put(".claude/settings.json", &settings.to_string());
    world.chat("full");
    assert!(!world.path("mark").exists());
    let rules = rules(&world);
    let of_file: Vec<&Value> = rules.iter().filter(|rule| rule["origin"] == "workspace").collect();
    assert_eq!(of_file.len(), 2, "{rules:?}");
    assert!(of_file.iter().all(|rule| rule["file"] == ".claude/settings.json"));
    let allow = of_file.iter().find(|rule| rule["effect"] == "allow").unwrap();
    assert!(!allow["warnings"].as_array().unwrap().is_empty(), "{allow}");
    let tried = world.alice.json(&["rule", "test", "Shell", "true && touch x", "--json"]);
    assert_eq!(
        (&tried["verdict"], &tried["decided_by"]["origin"]),
        (&json!("deny"), &json!("workspace")),
        "{tried}"
    );
    assert_eq!(tried["parts"][1]["matches"][0]["rule"], "Bash(touch *)", "{tried}");
    // The denial stays, despite the user's own allow rule; after that the workspace's file asks instead.
    world.run(&["rule", "add", "allow", "Shell(touch *)"]);
    world.chat("full");
    assert!(!world.path("mark").exists());
    world.put(".claude/settings.json", &json!({"permissions": {"ask": ["Bash(touch *)"]}}).to_string());
    let output = world.alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    assert!(output.stdout.contains("\"approval\""), "nobody could be asked: {output:?}");
    assert!(!world.path("mark").exists());
    world.put(".claude/settings.json", "{");
    assert!(
        self::rules(&world).iter().any(|rule| rule["warnings"].to_string().contains("none of its rules"))
    );
    world.chat("full");
    assert!(world.path("mark").exists());
}

#[test]
fn a_models_change_to_a_workspaces_rules_has_no_effect_in_the_same_turn() {
    let world = World::new(|asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "touch one"}))]),
        1 => Reply::Call(vec![("Shell", json!({"command": "rm .sandbridge/permissions.json"}))]),
        2 => Reply::Call(vec![("Shell", json!({"command": "touch two"}))]),
        _ => Reply::Say("that is all".to_owned()),
    });
    world.put(".sandbridge/permissions.json", &json!({"deny": ["Shell(touch *)"]}).to_string());
    world.chat("full");
    assert!(!world.path(".sandbridge/permissions.json").exists());
    assert!(!world.path("one").exists() && !world.path("two").exists());
}

fn rules(world: &World) -> Vec<Value> {
    world.alice.json(&["rule", "list", "--json"]).as_array().unwrap().clone()
}
