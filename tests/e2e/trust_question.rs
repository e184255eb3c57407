//! `/trust`: the chat asks about everything that a workspace defines, and approves it exactly as it was shown, or not
//! now.

use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Reply, eventually};

use crate::agent::{messages, new_chat, say};
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// The newest card of `/trust` in this state.
fn card(client: &Client, chat: &str, status: &str) -> Value {
    eventually(&format!("a question about trust is {status}"), PATIENCE, || {
        let is =
            |message: &Value| message["agent"]["tool"] == "trust" && message["agent"]["status"] == status;
        messages(client, chat).into_iter().rev().find(is)
    })
}

fn answer(client: &Client, chat: &str, card: &Value, text: &str) -> u16 {
    let said = json!({"message_id": card["id"], "text": text}).to_string();
    client.send("POST", &format!("/chats/{chat}/answers"), said.as_bytes()).status
}

fn states(world: &World) -> Vec<String> {
    let list = world.alice.json(&["trust", "list", "--json"]);
    list["items"].as_array().unwrap().iter().map(|item| item["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn waiting_definitions_are_shown_and_approved_as_shown_or_not_now() {
    let mut world = World::new(|_| Reply::Say("done".to_owned()));
    world.put("skills/talk/SKILL.md", "---\nalways: true\n---\nBe kind.");
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "/trust");
    let asked = card(&client, &chat, "asking");
    let detail = asked["agent"]["detail"].as_str().unwrap();
    assert!(detail.contains("- skill talk") && detail.contains("SKILL.md"), "{asked}");
    assert_eq!(asked["agent"]["data"]["options"], json!(["Approve all of it", "Not now"]));
    assert_eq!(answer(&client, &chat, &asked, "Not now"), 204);
    assert!(card(&client, &chat, "denied").to_string().contains("Nothing was approved"));
    assert_eq!(states(&world), ["waiting"]);
    assert_ne!(answer(&client, &chat, &asked, "Approve all of it"), 204, "the question was already answered");

    say(&client, &chat, "/trust");
    let asked = card(&client, &chat, "asking");
    // A change after the question was shown is not approved.
    world.put("skills/talk/SKILL.md", "---\nalways: true\n---\nBe kind, and quick.");
    assert_eq!(answer(&client, &chat, &asked, "Approve all of it"), 204);
    let text = card(&client, &chat, "done")["agent"]["detail"].to_string();
    assert!(text.contains("Approved: 0.") && text.contains("not approved: 1"), "{text}");
    assert_eq!(states(&world), ["waiting"]);

    say(&client, &chat, "/trust");
    let asked = card(&client, &chat, "asking");
    // A server that dies leaves no open question that nobody waits for.
    world.kill_and_restart(&[]);
    let client = Client::login(&world.server, "alice");
    let ended = card(&client, &chat, "cancelled");
    assert_eq!(ended["id"], asked["id"], "{ended}");
    eventually("the runner is back", PATIENCE, || world.alice.is_online("laptop").then_some(()));
    say(&client, &chat, "/trust");
    let asked = card(&client, &chat, "asking");
    assert_eq!(answer(&client, &chat, &asked, "Approve all of it"), 204);
    eventually("it is approved", PATIENCE, || (states(&world) == ["approved"]).then_some(()));
    world.put("skills/talk/SKILL.md", "---\nalways: true\n---\nBe kind again.");
    say(&client, &chat, "/trust");
    let asked = card(&client, &chat, "asking");
    assert!(asked["agent"]["detail"].as_str().unwrap().contains("changed since you approved it"), "{asked}");
    assert_eq!(answer(&client, &chat, &asked, "Approve all of it"), 204);
    eventually("it is approved", PATIENCE, || (states(&world) == ["approved"]).then_some(()));
    say(&client, &chat, "/trust");
    eventually("nothing waits", PATIENCE, || {
        let last = messages(&client, &chat).pop()?;
        last.to_string().contains("Nothing in this workspace waits").then_some(())
    });
}
