//! Hooks at the beginning and the end of a session.

use std::fs;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Reply, eventually};

use super::{PATIENCE, command};
use crate::agent::{ended, new_chat, say};
use crate::world::World;

/// The events so far, each with its name, its reason or source, and its chat.
fn events(world: &World) -> Vec<(String, String, String)> {
    let text = fs::read_to_string(world.path("sessions")).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let word = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let of = |event: Value| {
        let why = if event["reason"].is_null() { "source" } else { "reason" };
        (word(&event, "hook_event_name"), word(&event, why), word(&event, "session_id"))
    };
    events.map(of).collect()
}

fn until(world: &World, count: usize) -> Vec<(String, String, String)> {
    eventually("the hooks wrote", PATIENCE, || Some(events(world)).filter(|events| events.len() >= count))
}

/// The log of hooks, as soon as this number of hooks ran at the end of a session.
fn until_logged(world: &World, count: usize) -> String {
    eventually("they are in the log", PATIENCE, || {
        let log = world.alice.json(&["hook", "log", "--json"]).to_string();
        (log.matches(r#""event":"SessionEnd""#).count() == count).then_some(log)
    })
}

fn another(client: &Client, chat: &str) {
    let body = json!({"text": "/new"}).to_string();
    let answer = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    assert!((200..300).contains(&answer.status), "{}", answer.status);
}

#[test]
fn a_session_ends_when_another_chat_begins_or_its_own_is_deleted() {
    let world = World::new(|_| Reply::Say("well".to_owned()));
    let write = "cat >> sessions; echo >> sessions";
    world.hooks(json!({"SessionStart": command("", write), "SessionEnd": command("", write)}));
    let client = Client::login(&world.server, "alice");
    let answer = |chat: &str, text: &str, number: usize| {
        say(&client, chat, text);
        ended(&client, chat, number);
    };
    let (first, silent) = (new_chat(&client, "full"), new_chat(&client, "full"));
    answer(&first, "hello", 1);
    another(&client, &first);
    let expected = |rows: &[(&str, &str, &str)]| -> Vec<(String, String, String)> {
        rows.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
    };
    assert_eq!(
        until(&world, 2),
        expected(&[("SessionStart", "startup", &first), ("SessionEnd", "clear", &first)])
    );
    // This session has ended, and the chat without an answer never began one.
    another(&client, &first);
    assert_eq!(client.call("DELETE", &format!("/chats/{silent}")).status, 204);
    answer(&first, "hello again", 2);
    assert_eq!(client.call("DELETE", &format!("/chats/{first}")).status, 204);
    let rest = until(&world, 4);
    assert_eq!(rest[2..], expected(&[("SessionStart", "resume", &first), ("SessionEnd", "other", &first)]));
    until_logged(&world, 2);
}

#[test]
fn deleting_a_chat_waits_for_no_hook_and_a_prompt_hook_reports_that_it_needs_a_turn() {
    let world = World::new(|_| Reply::Say("well".to_owned()));
    let prompt = json!([{"matcher": "", "hooks": [{"type": "prompt", "prompt": "is it over?"}]}]);
    let slow = json!([{"matcher": "", "hooks": [{"type": "command", "command": "while [ ! -e go ]; do sleep 0.05; done; echo over > over"}]}]);
    let both = [prompt.as_array().unwrap().clone(), slow.as_array().unwrap().clone()].concat();
    world.hooks(json!({"SessionEnd": both}));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "hello");
    ended(&client, &chat, 1);
    assert_eq!(client.call("DELETE", &format!("/chats/{chat}")).status, 204);
    assert!(!world.path("over").exists());
    fs::write(world.path("go"), "").unwrap();
    eventually("the hook ends", PATIENCE, || world.path("over").exists().then_some(()));
    let log = until_logged(&world, 2);
    assert!(log.contains("the end of a session has none"), "{log}");
}
