//! Tools with which a model manages its user's extensions and reads the server's log: every change needs a confirmation, and every
//! secret is hidden.

use std::time::Duration;

use serde_json::json;
use tests::http::Client;
use tests::{Asked, Reply, eventually};

use crate::agent::{ended, messages, new_chat, say};
use crate::workspace_trust::tools;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// A model that makes this call once, and then repeats its result.
fn calls(tool: &'static str, arguments: serde_json::Value) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    move |asked| {
        let last = asked.body["messages"].as_array().and_then(|messages| messages.last());
        match last.is_some_and(|message| message["role"] == "tool") {
            true => Reply::Say("that is all".to_owned()),
            false => Reply::Call(vec![(tool, arguments.clone())]),
        }
    }
}

#[test]
fn a_server_is_added_only_after_its_user_agreed_in_every_mode() {
    let definition = json!({"command": "true"});
    let world = World::new(calls(
        "ManageTools",
        json!({"action": "add", "kind": "mcp_server", "name": "mine", "definition": definition}),
    ));
    world.run(&["rule", "add", "allow", "ManageTools"]);
    let servers = || world.alice.json(&["mcp-server", "list", "--json"])["servers"].as_array().unwrap().len();
    for mode in ["plan", "ask", "auto-edit", "full"] {
        world.alice.run(&["chat", "--new", "--json", "--approval", mode, "go"]);
        assert_eq!(servers(), 0, "nobody could be asked in the mode {mode}");
    }
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    let card = eventually("something is asked", PATIENCE, || {
        messages(&client, &chat).into_iter().find(|message| message["agent"]["status"] == "asking")
    });
    assert!(card.to_string().contains("mine"), "{card}");
    let body = json!({"message_id": card["id"], "allow": true}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/approvals"), body.as_bytes()).status, 204);
    ended(&client, &chat, 1);
    assert_eq!(servers(), 1);
    let again = world.last_result();
    assert!(again.contains("was added"), "{again}");
}

#[test]
fn only_an_administrator_can_read_the_log() {
    let world = World::new(calls("Logs", json!({"lines": 50})));
    world.chat("full");
    let first = world.model.asked().remove(0);
    // Alice is the first user, and therefore an administrator.
    assert!(tools(&first).iter().any(|name| name == "Logs"), "{:?}", tools(&first));
    let shown = world.last_result();
    assert!(!shown.is_empty() && !shown.contains("administrator"), "{shown}");
    let bob = world.server.person("bob");
    let before = world.model.asked().len();
    bob.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    let asked = world.model.asked();
    assert!(asked.len() > before);
    assert!(!tools(&asked[before]).iter().any(|name| name == "Logs"));
}
