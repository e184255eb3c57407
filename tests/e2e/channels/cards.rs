//! An agent's card on messengers with native cards, and on one without buttons: shown, answered once, closed.

use serde_json::{Value, json};
use tests::http::Client;
use tests::platforms::feishu::Feishu;
use tests::platforms::onebot::OneBot;
use tests::platforms::slack::Slack;
use tests::platforms::telegram::Telegram;
use tests::{Asked, Reply, eventually};

use super::journey::{add, chooses, link, reads};
use super::messenger::{Messenger, STRANGER};
use super::western::Discords;
use super::{PATIENCE, channel};
use crate::http_tools::OPEN;
use crate::world::World;

/// A title that no messenger may interpret as its own markup.
const TITLE: &str = "Deploy <@U1> & @everyone?";

/// A model that sends a card when it is asked for one, and repeats any other message.
fn script(asked: &Asked) -> Reply {
    if asked.last_of_user() != "card" {
        return Reply::Say(format!("echo: {}", asked.last_of_user()));
    }
    let results = asked.results();
    let id = || results[0].trim_start_matches("the card's id is ").to_owned();
    match results.len() {
        0 => Reply::Call(vec![("card_create", json!({"title": TITLE, "style": "warning"}))]),
        1 => {
            let content = json!([
                {"kind": "text", "text": "Build **12** is ready."},
                {"kind": "fields", "fields": [{"name": "Branch", "value": "main"}]},
            ]);
            let controls = json!([
                {"kind": "button", "name": "yes", "label": "Deploy"}, {"kind": "button", "name": "no", "label": "Not now"},
            ]);
            Reply::Call(vec![
                ("card_add_content", json!({"card": id(), "content": content})),
                ("card_add_interactive", json!({"card": id(), "controls": controls})),
                ("card_preview", json!({"card": id()})),
            ])
        }
        4 => Reply::Call(vec![("card_send", json!({"card": id()}))]),
        _ => Reply::Say("Choose, please.".to_owned()),
    }
}

fn shown_and_answered(messenger: &dyn Messenger) {
    let world = World::with(script, OPEN);
    add(&world, messenger);
    link(&world, messenger, 0);
    messenger.say(0, "card");
    let card = reads(messenger, "Branch");
    assert!(card.text.contains("main"), "{card:?}");
    reads(messenger, "Choose, please.");
    if messenger.has_buttons() {
        let card = messenger.said().remove(card.at);
        assert_eq!(card.labels, ["Deploy", "Not now"], "{card:?}");
        messenger.press(STRANGER, &card, "Deploy");
    }
    chooses(messenger, &card, "Not now");
    reads(messenger, "echo: → Not now");
    let closed = eventually("the card shows its answer", PATIENCE, || {
        let mut said = messenger.said().into_iter();
        said.find(|said| {
            said.labels.is_empty() && said.text.contains("Not now") && !said.text.contains("echo:")
        })
    });
    assert!(!messenger.has_buttons() || closed.at == card.at, "{closed:?}");
    assert_eq!(messenger.refused(), Vec::<String>::new());
    let status = channel(&world);
    assert_eq!((&status["failed"], &status["unsure"]), (&json!(0), &json!(0)), "{status}");
    let audit = Client::login(&world.server, "alice").call("GET", "/audit").json().to_string();
    assert!(audit.contains("card.answer"), "{audit}");
    // The page shows the same card with its answer.
    let client = Client::login(&world.server, "alice");
    let chats = client.call("GET", "/chats").json();
    let chat = chats["chats"].as_array().or(chats.as_array()).unwrap()[0]["id"].as_str().unwrap().to_owned();
    let cards: Vec<Value> = crate::agent::messages(&client, &chat)
        .into_iter()
        .filter(|message| message["agent"]["data"]["card"]["is_sent"] == true)
        .collect();
    assert_eq!(cards.len(), 1, "{cards:?}");
    assert_eq!(cards[0]["agent"]["data"]["card"]["answer"]["label"], "Not now");
}

#[test]
fn feishu_shows_a_card_and_accepts_one_answer() {
    shown_and_answered(&Feishu::start());
}

#[test]
fn slack_shows_a_card_and_accepts_one_answer() {
    let slack = Slack::start();
    slack.unhurried();
    shown_and_answered(&slack);
}

#[test]
fn telegram_shows_a_card_and_accepts_one_answer() {
    let telegram = Telegram::start();
    telegram.unhurried();
    shown_and_answered(&telegram);
}

#[test]
fn discord_shows_a_card_and_accepts_one_answer() {
    shown_and_answered(&Discords::start());
}

#[test]
fn a_messenger_without_buttons_accepts_a_number() {
    shown_and_answered(&OneBot::start());
}
