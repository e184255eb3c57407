//! `AgentError`: a turn that failed is an event with the cause in one word.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Reply, eventually};

use super::{PATIENCE, names, recorded, records};
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

#[test]
fn a_failed_turn_is_an_event_with_its_cause_and_no_other_turn_is_one() {
    let refusals = [
        ("key", 401, "authentication_failed"),
        ("credit", 402, "billing_error"),
        ("limit", 429, "rate_limit"),
        ("full", 529, "overloaded"),
        ("broken", 500, "server_error"),
        ("wrong", 400, "invalid_request"),
    ];
    let world = World::with(
        move |asked| match refusals.iter().find(|(word, ..)| asked.last_of_user() == *word) {
            Some((word, status, _)) => {
                Reply::Refuse(*status, json!({"error": {"message": format!("it is {word}")}}).to_string())
            }
            None if asked.last_of_user() == "hang" => Reply::Hang("half".to_owned()),
            None => Reply::Say("well".to_owned()),
        },
        &["--llm-retry-attempts", "1"],
    );
    world.hooks(json!({
        "AgentError": records("", &json!({"systemMessage": "the administrator was told"})),
        "StopFailure": records("overloaded|server_error", &json!({})),
    }));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "hello");
    ended(&client, &chat, 1);
    say(&client, &chat, "hang");
    eventually("it hangs", PATIENCE, || {
        world.model.asked().pop().filter(|asked| asked.last_of_user() == "hang")
    });
    assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).status, 200);
    assert_eq!(ended(&client, &chat, 2)["agent"]["status"], "cancelled");
    assert_eq!(names(&recorded(&world)), Vec::<&str>::new(), "neither of these turns failed");
    let mut expected = Vec::new();
    for (number, (word, _, cause)) in refusals.iter().enumerate() {
        say(&client, &chat, word);
        assert_eq!(ended(&client, &chat, 3 + number)["agent"]["status"], "failed");
        let details = |own: bool| {
            let text = format!("it is {word}");
            match own {
                true => ("AgentError".to_owned(), (*cause).to_owned(), text),
                false => ("StopFailure".to_owned(), (*cause).to_owned(), text),
            }
        };
        expected.push(details(true));
        if ["overloaded", "server_error"].contains(cause) {
            expected.push(details(false));
        }
    }
    let payloads = eventually("the hooks ran", PATIENCE, || {
        Some(recorded(&world)).filter(|payloads| payloads.len() >= expected.len())
    });
    let found = payloads.iter().map(|payload| {
        let text = |name: &str| payload[name].as_str().unwrap_or_default();
        let event = text("hook_event_name");
        let (kind, message) = match event {
            "AgentError" => ("error_type", "error_message"),
            _ => ("error", "error_details"),
        };
        let word = text(message).rsplit_once("it is ").and_then(|(_, rest)| rest.split(')').next());
        (event.to_owned(), text(kind).to_owned(), format!("it is {}", word.unwrap_or_default()))
    });
    assert_eq!(found.collect::<Vec<_>>(), expected, "{payloads:?}");
    eventually("people are told", PATIENCE, || {
        let told = |message: &Value| message.to_string().contains("the administrator was told");
        messages(&client, &chat).iter().any(told).then_some(())
    });
}
