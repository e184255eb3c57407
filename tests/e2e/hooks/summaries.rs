//! `PreCompact` and `PostCompact`: a conversation is summarised because its user asks for it, or because it is too long.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Reply, eventually};

use super::{PATIENCE, adds, names, recorded, records};
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

/// A message that is worth summarising, in words.
const LONG_WORDS: usize = 8_000;

fn compress(client: &Client, chat: &str) {
    let body = json!({"text": "/compress"}).to_string();
    let answer = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    assert!((200..300).contains(&answer.status), "{}", answer.status);
}

/// Waits for the `count`th message with this text.
fn until_shown(client: &Client, chat: &str, text: &str, count: usize) {
    eventually(text, PATIENCE, || {
        let shown = messages(client, chat);
        let has = |message: &&Value| message["text"].as_str().is_some_and(|said| said.contains(text));
        (shown.iter().filter(has).count() == count).then_some(())
    });
}

#[test]
fn hooks_keep_a_conversation_whole_or_see_its_summary_and_say_what_comes_after_it() {
    let mut is_full = true;
    let world = World::new(move |asked| {
        let last = asked.body["messages"].as_array().unwrap().last().unwrap().to_string();
        match asked.last_of_user().as_str() {
            _ if last.contains("Write a summary that takes its place") => {
                Reply::Say("THE SUMMARY".to_owned())
            }
            "grow" if std::mem::take(&mut is_full) => {
                Reply::Refuse(400, json!({"error": {"message": "prompt is too long"}}).to_string())
            }
            _ => Reply::Say("well".to_owned()),
        }
    });
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    let long = |word: &str| vec![word; LONG_WORDS].join(" ");
    say(&client, &chat, &long("first"));
    ended(&client, &chat, 1);

    world.hooks(json!({
        "PreCompact": records("manual", &json!({"decision": "block", "reason": "keep it whole"})),
        "PostCompact": records("", &json!({})),
    }));
    compress(&client, &chat);
    until_shown(&client, &chat, "was not compressed: keep it whole", 1);
    let payloads = recorded(&world);
    assert_eq!(names(&payloads), ["PreCompact"]);
    assert_eq!(
        (&payloads[0]["trigger"], &payloads[0]["custom_instructions"]),
        (&json!("manual"), &json!(""))
    );
    assert_eq!(payloads[0]["session_id"], json!(chat));
    assert_eq!(world.model.asked().len(), 1, "no summary was asked for");

    world.hooks(json!({
        "PreCompact": [records("auto", &json!({}))[0], records("manual", &json!({}))[0]],
        "PostCompact": records("", &adds("PostCompact", "the plan is in PLAN.md")),
    }));
    compress(&client, &chat);
    until_shown(&client, &chat, "The conversation was compressed", 1);
    let payloads = eventually("both ran", PATIENCE, || Some(recorded(&world)).filter(|all| all.len() == 3));
    assert_eq!(names(&payloads[1..]), ["PreCompact", "PostCompact"]);
    assert_eq!(
        (&payloads[2]["trigger"], &payloads[2]["compact_summary"]),
        (&json!("manual"), &json!("THE SUMMARY"))
    );
    say(&client, &chat, &long("second"));
    ended(&client, &chat, 2);
    let told = world.model.asked().pop().unwrap().raw;
    assert!(told.contains("THE SUMMARY") && told.contains("the plan is in PLAN.md"), "{}", told.len());
    assert_eq!(recorded(&world).len(), 3, "a turn that has room is no event");

    say(&client, &chat, "grow");
    assert_eq!(ended(&client, &chat, 3)["agent"]["status"], "done");
    let payloads = recorded(&world);
    assert_eq!(names(&payloads[3..]), ["PreCompact", "PostCompact"]);
    assert!(payloads[3..].iter().all(|payload| payload["trigger"] == "auto"), "{payloads:?}");
    let told = world.model.asked().pop().unwrap().raw;
    assert!(told.contains("the plan is in PLAN.md") && told.contains("grow"), "{}", told.len());
}
