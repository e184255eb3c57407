//! Channels beside other work: how soon a message is acknowledged, how soon a connection is back, how the messengers' rate limits are kept, and the
//! memory of an account.
//!
//! Each row compares a measurement with the limit in its target. The messengers are the stand-ins of the end-to-end tests, which enforce the published
//! rate limits.

mod arrivals;
mod drafts;
mod ends;
mod idle;

use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::platforms::feishu::Feishu;
use tests::platforms::telegram::{self, Telegram};
use tests::{Habits, Server};

use crate::samples::Row;

/// The options of a server whose channels reach stand-ins on this machine.
const OPTIONS: &[&str] = &["--docker", "off", "--fetch-allow", "127.0.0.1"];
/// The name of an account, where there is only one on its messenger.
const ACCOUNT: &str = "phone";
/// The most answers in progress of one user; answers beyond this wait.
const TURNS_OF_USER: usize = 4;
/// The most accounts of one user.
const ACCOUNTS_OF_USER: usize = 20;
/// How long to wait for what is not measured.
const PATIENCE: Duration = Duration::from_secs(300);
/// The model behaves as in the rows about the engine.
const HABITS: Habits = Habits { remembers: false, counts: false, pauses: true };

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = arrivals::rows();
    rows.extend(ends::rows());
    rows.extend(drafts::rows());
    rows.extend(idle::rows());
    rows
}

/// A messenger's stand-in with one account, and people who write to it directly.
trait Bot: Sync {
    /// The messenger's name for people.
    const TITLE: &'static str;
    /// The messenger's name in the API.
    const KIND: &'static str;

    /// The values of the account.
    fn values(&self) -> Value;

    /// Sends a message to the bot as a person.
    fn say(&self, person: usize, text: &str);

    /// The bot's messages to a person in their current version, as text or as JSON.
    fn heard(&self, person: usize) -> Vec<String>;

    /// The number of the bot's messages, and how many times they were edited.
    fn sent(&self) -> (usize, usize);

    /// The requests that the messenger refused.
    fn refused(&self) -> Vec<String>;
}

/// The id of a person on Telegram, and of their conversation with the bot.
fn telegram_id(person: usize) -> i64 {
    4001 + i64::try_from(person).unwrap()
}

impl Bot for Telegram {
    const TITLE: &'static str = "Telegram";
    const KIND: &'static str = "telegram";

    fn values(&self) -> Value {
        json!({"token": telegram::TOKEN, "api": self.url()})
    }

    fn say(&self, person: usize, text: &str) {
        Self::say(self, telegram_id(person), text);
    }

    fn heard(&self, person: usize) -> Vec<String> {
        let messages = self.messages().into_iter().filter(|message| message.chat == telegram_id(person));
        messages.map(|message| message.parameters["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn sent(&self) -> (usize, usize) {
        let messages = self.messages();
        (messages.len(), messages.iter().map(|message| message.edits).sum())
    }

    fn refused(&self) -> Vec<String> {
        Self::refused(self)
    }
}

/// The id of a person's conversation with the bot on Feishu.
fn feishu_chat(person: usize) -> String {
    format!("oc_{person}")
}

impl Bot for Feishu {
    const TITLE: &'static str = "Feishu";
    const KIND: &'static str = "feishu";

    fn values(&self) -> Value {
        self.setup()
    }

    fn say(&self, person: usize, text: &str) {
        Self::say(self, &format!("ann{person}"), &feishu_chat(person), false, text);
    }

    fn heard(&self, person: usize) -> Vec<String> {
        let chat = feishu_chat(person);
        let cards = self.cards().into_iter().filter(|card| card.chat == chat);
        cards.map(|card| card.content.to_string()).collect()
    }

    fn sent(&self) -> (usize, usize) {
        let cards = self.cards();
        (cards.len(), cards.iter().map(|card| card.edits).sum())
    }

    fn refused(&self) -> Vec<String> {
        self.refusals().into_iter().map(|(code, why)| format!("{code} {why}")).collect()
    }
}

/// Adds a user; returns a client with their session.
fn user(server: &Server, name: &str) -> Client {
    Client::with_token(server, &server.person(name).token())
}

/// Creates an account or changes its values; returns it as clients see it.
fn put(client: &Client, name: &str, kind: &str, values: &Value, is_shared: bool) -> Value {
    let body = json!({"kind": kind, "values": values, "shared": is_shared}).to_string();
    let answer = client.send("PUT", &format!("/channels/{name}"), body.as_bytes());
    assert!(answer.status < 300, "{answer:?}");
    answer.json()
}

/// The names and the states of the accounts that a user sees.
fn states(client: &Client) -> Vec<(String, String)> {
    let list = client.call("GET", "/channels").json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let channels = list["channels"].as_array().unwrap().iter();
    channels.map(|channel| (text(&channel["name"]), text(&channel["state"]))).collect()
}

/// Waits until this number of the accounts that a user sees are connected.
fn connected(client: &Client, count: usize) {
    until("the accounts are connected", || {
        states(client).iter().filter(|(_, state)| state == "connected").count() >= count
    });
}

/// Links a person on a messenger with a user.
fn link(client: &Client, account: &str, bot: &impl Bot, person: usize) {
    let answer = client.call("POST", &format!("/channels/{account}/link"));
    assert_eq!(answer.status, 200, "{answer:?}");
    bot.say(person, answer.json()["code"].as_str().unwrap());
    until("the person is linked", || bot.heard(person).iter().any(|text| text.contains("You are linked")));
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    tests::eventually(what, PATIENCE, || is_so().then_some(()));
}
