//! Images that are sent with a message, and the titles that chats get.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::http::Client;
use tests::{Machine, Reply, ScriptedModel, Server, eventually};

use crate::agent::{ended, new_chat, say};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An image of a single pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn attach(client: &Client, chat: &str, name: &str, content: &[u8]) -> String {
    let attached = client.send("POST", &format!("/chats/{chat}/attachments?name={name}"), content).json();
    attached["path"].as_str().unwrap_or_else(|| panic!("{attached}")).to_owned()
}

fn say_with(client: &Client, chat: &str, text: &str, attachments: &[String]) {
    let body = json!({"text": text, "attachments": attachments}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes()).status, 202);
}

/// Returns the kinds of the parts of the user's message that has this text.
fn kinds(body: &Value, text: &str) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let said = messages.filter(|message| message["role"] == "user" && message.to_string().contains(text));
    let parts = said.filter_map(|message| message["content"].as_array()).flatten();
    parts.map(|part| part["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_attached_image_is_a_part_of_the_message_and_another_file_is_its_path() {
    for (provider, kind) in [("openai", "image_url"), ("anthropic", "image")] {
        let model = ScriptedModel::with(vec![Reply::Say("a pixel".to_owned())]);
        let server = Server::start_with(&[&["--docker", "off"], &model.options(provider)[..]].concat());
        let alice = server.person("alice");
        let _machine = Machine::start(&server, &alice, "laptop");
        let client = Client::login(&server, "alice");
        let chat = new_chat(&client, "ask");
        let png = STANDARD.decode(PNG).unwrap();
        let image = attach(&client, &chat, "dot.txt", &png);
        let cut = attach(&client, &chat, "cut.png", &png[..20]);
        let text = attach(&client, &chat, "note.png", b"not an image");
        let on = format!("{image} on laptop");
        say_with(&client, &chat, "what is it?", &[on.clone(), cut.clone(), text.clone()]);
        ended(&client, &chat, 1);
        let asked = model.asked().pop().unwrap();
        let kinds = kinds(&asked.body, "what is it?");
        assert_eq!(kinds.iter().filter(|of| *of == kind).count(), 1, "{kinds:?}");
        assert!(
            asked.raw.contains(PNG) && asked.raw.contains("image/png"),
            "its kind is detected from its bytes"
        );
        for path in [on, cut, text] {
            assert!(asked.raw.contains(&format!("[attached: {path}]")), "{path}");
        }
    }
}

#[test]
fn a_model_without_vision_gets_the_path() {
    let model = ScriptedModel::start(|asked| match asked.raw.contains(PNG) {
        true => Reply::Refuse(400, r#"{"error":{"message":"image input is not supported"}}"#.to_owned()),
        false => Reply::Say("I cannot see it".to_owned()),
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "ask");
    let image = attach(&client, &chat, "dot.png", &STANDARD.decode(PNG).unwrap());
    say_with(&client, &chat, "what is it?", std::slice::from_ref(&image));
    assert_eq!(ended(&client, &chat, 1)["agent"]["status"], "done");
    let asked = model.asked();
    assert!(asked[0].raw.contains(PNG) && !asked[1].raw.contains(PNG));
    assert!(asked[1].raw.contains(&format!("[attached: {image}]")));
}

#[test]
fn the_swift_model_titles_a_chat_after_its_first_answer() {
    let mut titles = ["\"Flaky test in CI.\"\nIt is short."].into_iter();
    let model = ScriptedModel::start(move |asked| match asked.body["model"].as_str() {
        Some("scripted-swift") => match titles.next() {
            Some(title) => Reply::Say(title.to_owned()),
            None => Reply::Refuse(500, "busy".to_owned()),
        },
        _ => Reply::Say("it is the clock".to_owned()),
    });
    let options = [&["--docker", "off", "--llm-model-swift", "scripted-swift"], &model.options("openai")[..]];
    let server = Server::start_with(&options.concat());
    let _alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let title = |chat: &str| {
        let chats = client.call("GET", "/chats").json();
        let found = chats.as_array().unwrap().iter().find(|found| found["id"] == chat).cloned();
        found.unwrap()["title"].as_str().unwrap().to_owned()
    };
    let asked = || {
        let asked = model.asked();
        asked.into_iter().filter(|asked| asked.body["model"] == "scripted-swift").collect::<Vec<_>>()
    };
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "why does this test fail now and then?");
    ended(&client, &chat, 1);
    eventually("the chat is named", PATIENCE, || (title(&chat) == "Flaky test in CI").then_some(()));
    let [request] = &asked()[..] else { panic!("asked once") };
    assert!(request.raw.contains("now and then") && request.raw.contains("it is the clock"));
    assert!(request.tools().is_empty());
    let usage = client.call("GET", "/usage").json();
    let swift = usage["models"].as_array().unwrap().iter().find(|model| model["model"] == "scripted-swift");
    assert_eq!(swift.map(|model| &model["calls"]), Some(&json!(1)), "{usage}");
    say(&client, &chat, "and now?");
    ended(&client, &chat, 2);
    // If the request for a title fails, the first message remains the title.
    let other = new_chat(&client, "ask");
    say(&client, &other, "another question");
    ended(&client, &other, 1);
    eventually("a title is requested", PATIENCE, || (asked().len() == 2).then_some(()));
    assert_eq!((title(&other), title(&chat)), ("another question".to_owned(), "Flaky test in CI".to_owned()));
}
