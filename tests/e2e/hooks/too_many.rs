//! An event may have ten hooks in all layers together: the eleventh is never cut silently.

use std::fs;

use serde_json::{Value, json};
use tests::Reply;
use tests::http::Client;

use super::command;
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

/// A document with this many hooks of one event.
fn document(event: &str, count: usize) -> String {
    let handlers: Vec<Value> =
        (0..count).map(|number| json!({"type": "command", "command": format!("true {number}")})).collect();
    json!({"enable_command_hooks": true, "hooks": {event: [{"hooks": handlers}]}}).to_string()
}

#[test]
fn an_eleventh_hook_is_refused_when_it_is_saved_and_when_it_is_loaded() {
    let world = World::new(|_| Reply::Say("hello".to_owned()));
    let client = Client::login(&world.server, "alice");
    let set =
        |count: usize| world.alice.with_stdin(&["hook", "set", "-"], document("Stop", count).as_bytes());
    assert_eq!(set(10).code, 0);
    let kept = world.alice.run(&["hook", "show"]).stdout;
    let refused = set(11);
    let why = "hooks.Stop: this event would have 11 hooks (11 of yours, 0 of your plugins, 0 of the administrator), and it can have 10; \
               remove some, or have one command do the work of several";
    assert!(refused.code != 0 && refused.stderr.contains(why), "{refused:?}");
    let body = json!({"text": document("Stop", 11)}).to_string();
    let refused = client.send("PUT", "/hooks/document", body.as_bytes());
    assert_eq!((refused.status, refused.kind().as_str()), (400, "invalid"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains(why), "{}", refused.json());
    assert_eq!(world.alice.run(&["hook", "show"]).stdout, kept, "the old document is kept");

    // The administrator's hooks count, and may come later.
    let managed = world.server.home().join("hooks.json");
    fs::write(&managed, document("Stop", 1).replace("true 0", "true managed")).unwrap();
    let refused = set(10);
    assert!(
        refused.stderr.contains("11 hooks (10 of yours, 0 of your plugins, 1 of the administrator)"),
        "{refused:?}"
    );
    assert_eq!(set(9).code, 0);
    // Another event is not concerned.
    let other = world.alice.with_stdin(&["hook", "set", "-"], document("SessionStart", 10).as_bytes());
    assert_eq!(other.code, 0, "{other:?}");
    fs::remove_file(&managed).unwrap();

    // A workspace's hook that was approved and has no room is listed, and named in the chat.
    let hooks = json!({"enable_command_hooks": true, "hooks": {"Stop": command("", "touch ran")}});
    world.put(".sandbridge/hooks.json", &hooks.to_string());
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let waiting = listed["hooks"].as_array().unwrap().iter().find(|hook| hook["state"] == "waiting").unwrap();
    world.run(&["hook", "approve", waiting["hash"].as_str().unwrap(), "--yes"]);
    assert_eq!(set(10).code, 0);
    let listed = world.alice.json(&["hook", "list", "--json"]);
    assert!(listed["problems"].to_string().contains("has 10 hooks already"), "{listed}");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    ended(&client, &chat, 1);
    let shown = messages(&client, &chat);
    let notice =
        "A hook does not run (.sandbridge/hooks.json, hooks.Stop[0].hooks[0]): Stop has more than 10 hooks";
    assert!(shown.iter().any(|message| message["text"].as_str().unwrap().contains(notice)), "{shown:?}");
    assert!(!world.path("ran").exists());
    assert_eq!(set(9).code, 0);
    world.chat("full");
    assert!(world.path("ran").exists());
}
