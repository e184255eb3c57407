//! Cards over the API: built by six tools; unchanged by a restart, in a fork and in an export; answered once by the chat's owner.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, ScriptedModel, Server};

use crate::agent::{ended, messages, new_chat, say};
use crate::agent_tools::post;

/// A script that uses every card tool in one turn, and repeats later messages.
fn script(asked: &Asked) -> Reply {
    let said = asked.last_of_user();
    if said != "card" && said != "broken" {
        return Reply::Say(format!("echo: {said}"));
    }
    let results = asked.results();
    let id = || results[0].trim_start_matches("the card's id is ").to_owned();
    if said == "broken" {
        return match results.len() {
            0 => Reply::Call(vec![("card_create", json!({"title": "Broken"}))]),
            1 => {
                let link = json!([{"kind": "link", "text": "x", "url": "javascript:alert(1)"}]);
                Reply::Call(vec![
                    ("card_add_content", json!({"card": id(), "content": link})),
                    ("card_send", json!({"card": id()})),
                    ("card_send", json!({"card": "card-0123456789abcdef"})),
                    ("card_create", json!({"title": "two\nlines"})),
                ])
            }
            _ => Reply::Say("done".to_owned()),
        };
    }
    match results.len() {
        0 => Reply::Call(vec![("card_create", json!({"title": "Deploy?", "style": "warning"}))]),
        1 => {
            let content = json!([
                {"kind": "text", "text": "Build **12** is ready."},
                {"kind": "table", "columns": ["a", "b"], "rows": [["1", "2"]]},
                {"kind": "link", "text": "log", "url": "https://ci.example/12"},
            ]);
            let controls = json!([
                {"kind": "select", "name": "where", "label": "Place", "options": ["staging", "production"], "required": true},
                {"kind": "input", "name": "why", "label": "Reason"},
            ]);
            let buttons = json!([{"kind": "button", "name": "go", "label": "Deploy", "style": "danger"}]);
            Reply::Call(vec![
                ("card_add_content", json!({"card": id(), "content": content})),
                (
                    "card_add_container",
                    json!({"card": id(), "layout": "columns", "title": "How", "controls": controls}),
                ),
                ("card_add_interactive", json!({"card": id(), "controls": buttons})),
                ("card_preview", json!({"card": id()})),
            ])
        }
        5 => Reply::Call(vec![
            ("card_send", json!({"card": id()})),
            ("card_add_content", json!({"card": id(), "content": []})),
        ]),
        _ => Reply::Say("done".to_owned()),
    }
}

fn sent(client: &Client, chat: &str) -> Value {
    let is_sent = |message: &Value| message["agent"]["data"]["card"]["is_sent"] == true;
    let mut cards: Vec<Value> = messages(client, chat).into_iter().filter(is_sent).collect();
    assert_eq!(cards.len(), 1, "{cards:?}");
    cards.remove(0)
}

fn said(client: &Client, chat: &str) -> Vec<String> {
    let said = messages(client, chat).into_iter().filter(|message| message["role"] == "user");
    said.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

fn answer(client: &Client, chat: &str, message: &Value, reply: &Value) -> u16 {
    post(client, chat, "cards", &json!({"message_id": message["id"], "reply": reply}))
}

#[test]
fn a_card_is_answered_once_by_its_owner_and_stays_the_same_everywhere() {
    let model = ScriptedModel::start(script);
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut server = Server::start_with(&options);
    server.person("alice");
    server.person("bob");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "card");
    ended(&client, &chat, 1);
    let card = sent(&client, &chat);
    let document = &card["agent"]["data"]["card"];
    assert_eq!((&document["title"], &document["tone"]), (&json!("Deploy?"), &json!("warning")));
    let kinds: Vec<&str> = document["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|block| block["parts"].as_array().unwrap())
        .map(|part| part["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "table", "link", "select", "input", "button"]);
    assert!(card["text"].as_str().unwrap().contains("[ Deploy ]"), "{card}");
    let preview =
        messages(&client, &chat).into_iter().find(|message| message["agent"]["tool"] == "card_preview");
    assert!(preview.unwrap()["text"].as_str().unwrap().contains("Place *: ( staging | production )"));
    let last = messages(&client, &chat)
        .into_iter()
        .rfind(|message| message["agent"]["tool"] == "card_add_content")
        .unwrap();
    assert_eq!(last["agent"]["status"], "failed", "a card that was sent is not changed: {last}");
    // The card is the same after a restart, and in a fork made before it is answered.
    server.kill();
    server.restart(&options);
    let client = Client::login(&server, "alice");
    assert_eq!(sent(&client, &chat), card);
    let fork =
        client.send("POST", &format!("/chats/{chat}/fork"), b"{}").json()["id"].as_str().unwrap().to_owned();
    assert_eq!(&sent(&client, &fork)["agent"]["data"]["card"], document);
    // Wrong answers have no effect.
    let good = json!({"button": "go", "values": {"where": "staging", "why": "it is ready"}});
    for (reply, status) in [
        (json!({"button": "other", "values": {"where": "staging"}}), 400),
        (json!({"button": "go"}), 400),
        (json!({"button": "go", "values": {"where": "moon"}}), 400),
        (json!({"button": "go", "values": {"where": "staging", "more": "x"}}), 400),
        (json!({"button": "go", "values": {"where": "staging", "why": "x".repeat(5000)}}), 400),
    ] {
        assert_eq!(answer(&client, &chat, &card, &reply), status, "{reply}");
    }
    let other = new_chat(&client, "full");
    assert_eq!(answer(&client, &other, &card, &good), 404, "a card of another chat");
    let bob = Client::login(&server, "bob");
    assert_eq!(answer(&bob, &chat, &card, &good), 404, "somebody else");
    assert_eq!(said(&client, &chat), ["card"]);
    // The first answer counts, even if it is sent twice.
    assert_eq!(answer(&client, &chat, &card, &good), 204);
    assert_eq!(answer(&client, &chat, &card, &good), 204);
    let second = json!({"button": "go", "values": {"where": "production"}});
    assert_eq!(answer(&client, &chat, &card, &second), 409);
    ended(&client, &chat, 2);
    server.restart(&options);
    let client = Client::login(&server, "alice");
    assert_eq!(answer(&client, &chat, &card, &second), 409);
    assert_eq!(said(&client, &chat), ["card", "→ Deploy (Deploy?)\nPlace: staging\nReason: it is ready"]);
    let answered = sent(&client, &chat);
    assert_eq!(answered["agent"]["data"]["card"]["answer"]["label"], "Deploy");
    // The fork's own card is still open.
    let forked = sent(&client, &fork);
    assert_eq!(forked["agent"]["data"]["card"]["answer"], Value::Null);
    assert_eq!(answer(&client, &fork, &forked, &second), 204);
    let export = client.call("GET", &format!("/chats/{chat}/export?format=json")).json();
    let exported =
        export["messages"].as_array().unwrap().iter().find(|message| message["id"] == card["id"]).unwrap();
    assert_eq!(exported["agent"]["data"], answered["agent"]["data"]);
    let audit = client.call("GET", "/audit").json().to_string();
    assert!(
        audit.contains("card.answer") && audit.contains("conflict") && audit.contains("invalid"),
        "{audit}"
    );
}

#[test]
fn an_invalid_card_is_not_created_and_the_model_gets_the_reason() {
    let model = ScriptedModel::start(script);
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    server.person("alice");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "broken");
    ended(&client, &chat, 1);
    let results = model.asked().pop().unwrap().results();
    for (result, reason) in
        results[1..].iter().zip(["http://", "this card is empty", "this chat has no card", "a single line"])
    {
        assert!(result.contains(reason), "{results:?}");
    }
    assert!(
        messages(&client, &chat).iter().all(|message| message["agent"]["data"]["card"]["is_sent"] != true)
    );
}
