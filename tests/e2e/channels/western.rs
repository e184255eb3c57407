//! Telegram, Slack, Discord and Matrix.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tests::eventually;
use tests::platforms::discord::{self, Discord};
use tests::platforms::matrix::{self, Account, Network, Synapse};
use tests::platforms::slack::{self, Slack};
use tests::platforms::telegram::{self, Telegram};

use super::messenger::{Messenger, Said, text, texts};

impl Messenger for Telegram {
    fn kind(&self) -> &'static str {
        "telegram"
    }

    fn setup(&self) -> Value {
        json!({"token": telegram::TOKEN, "api": self.url()})
    }

    fn say(&self, person: usize, text: &str) {
        Telegram::say(self, person_of(person), text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, message): (usize, telegram::Message)| {
            let rows = message.parameters["reply_markup"]["inline_keyboard"].as_array().cloned();
            let labels = rows.unwrap_or_default().iter().flat_map(|row| texts(row, "/text")).collect();
            Said { at, text: text(&message.parameters["text"]), labels }
        };
        (count..).zip(self.messages_after(count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        true
    }

    fn press(&self, person: usize, said: &Said, label: &str) {
        let message = &self.messages()[said.at];
        let rows = message.parameters["reply_markup"]["inline_keyboard"].as_array().unwrap().iter();
        let mut buttons = rows.flat_map(|row| row.as_array().unwrap());
        let data = text(&buttons.find(|button| button["text"] == label).unwrap()["callback_data"]);
        Telegram::press(self, person_of(person), message, &data);
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let files = self.messages().into_iter().filter_map(|message| message.file);
        files.map(|(name, bytes)| (Some(name), bytes)).collect()
    }

    fn refused(&self) -> Vec<String> {
        Telegram::refused(self)
    }

    fn cut(&self) {
        Telegram::cut(self);
    }

    fn repeat(&self, last: usize) {
        Telegram::repeat(self, last);
    }

    fn fail(&self) {
        self.fault("sendMessage", telegram::Fault::DoneAndCut);
        self.fault("sendMessage", telegram::Fault::TooFast(Some(1)));
    }

    fn hang(&self) {
        self.fault("sendMessage", telegram::Fault::DoneAndSilent);
    }

    fn has_keys(&self) -> bool {
        false
    }
}

fn person_of(person: usize) -> i64 {
    4001 + i64::try_from(person).unwrap()
}

impl Messenger for Slack {
    fn kind(&self) -> &'static str {
        "slack"
    }

    fn setup(&self) -> Value {
        json!({"app_token": slack::APP_TOKEN, "bot_token": slack::BOT_TOKEN, "api": self.api()})
    }

    fn say(&self, person: usize, text: &str) {
        let (user, channel, ts) = (format!("U{person}"), format!("D{person}"), self.ts());
        self.event(json!({"type": "message", "channel": channel, "channel_type": "im", "user": user, "text": text, "ts": ts, "event_ts": ts}));
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, message): (usize, slack::Message)| {
            let blocks = message.parameters["blocks"].as_array().cloned().unwrap_or_default();
            let actions = blocks.iter().filter(|block| block["type"] == "actions");
            let labels = actions.flat_map(|block| texts(&block["elements"], "/text/text")).collect();
            Said { at, text: text(&message.parameters["text"]), labels }
        };
        (count..).zip(self.messages_after(count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        true
    }

    fn press(&self, person: usize, said: &Said, label: &str) {
        let message = &self.messages()[said.at];
        let blocks = message.parameters["blocks"].as_array().unwrap().iter();
        let mut buttons = blocks.filter_map(|block| block["elements"].as_array()).flatten();
        let value = text(&buttons.find(|button| button["text"]["text"] == label).unwrap()["value"]);
        Slack::press(self, &format!("U{person}"), message, &value);
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        Slack::files(self).into_iter().map(|(_, name, bytes)| (Some(name), bytes)).collect()
    }

    fn refused(&self) -> Vec<String> {
        Slack::refused(self)
    }

    fn cut(&self) {
        Slack::cut(self);
    }

    fn repeat(&self, last: usize) {
        self.redeliver_last(last);
    }

    fn fail(&self) {
        self.fault("chat.postMessage", slack::Fault::DoneAndCut);
        self.fault("chat.postMessage", slack::Fault::TooFast(Some(1)));
    }

    fn hang(&self) {
        self.fault("chat.postMessage", slack::Fault::DoneAndSilent);
    }

    fn has_keys(&self) -> bool {
        false
    }
}

/// Discord's stand-in.
pub(super) struct Discords {
    stand_in: Discord,
}

impl Discords {
    pub(super) fn start() -> Self {
        let stand_in = Discord::start();
        stand_in.unhurried();
        Self { stand_in }
    }
}

impl Messenger for Discords {
    fn kind(&self) -> &'static str {
        "discord"
    }

    fn setup(&self) -> Value {
        json!({"token": discord::TOKEN, "api": self.stand_in.api()})
    }

    fn say(&self, person: usize, text: &str) {
        let author =
            json!({"id": (1 + person).to_string(), "username": format!("ann{person}"), "global_name": "Ann"});
        let channel = (500 + person).to_string();
        self.stand_in.message(json!({"content": text, "channel_id": channel, "author": author}));
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, message): (usize, discord::Message)| {
            let rows = message.parameters["components"].as_array().cloned().unwrap_or_default();
            let labels = rows.iter().flat_map(|row| texts(&row["components"], "/label")).collect();
            // The bot's texts contain escaped special characters; the backslashes are removed below.
            let embed = &message.parameters["embeds"][0];
            let fields = embed["fields"].as_array().cloned().unwrap_or_default();
            let mut shown = vec![
                text(&message.parameters["content"]),
                text(&embed["title"]),
                text(&embed["description"]),
            ];
            shown.extend(
                fields.iter().map(|field| format!("{}: {}", text(&field["name"]), text(&field["value"]))),
            );
            shown.retain(|text| !text.is_empty());
            let content = shown.join("\n").replace('\\', "");
            Said { at, text: content, labels }
        };
        (count..).zip(self.stand_in.messages_after(count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        true
    }

    fn press(&self, person: usize, said: &Said, label: &str) {
        let message = &self.stand_in.messages()[said.at];
        let rows = message.parameters["components"].as_array().unwrap().iter();
        let mut buttons = rows.flat_map(|row| row["components"].as_array().unwrap());
        let id = text(&buttons.find(|button| button["label"] == label).unwrap()["custom_id"]);
        self.stand_in.press(&(1 + person).to_string(), message, &id);
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let files = self.stand_in.messages().into_iter().filter_map(|message| message.file);
        files.map(|(name, bytes)| (Some(name), bytes)).collect()
    }

    fn refused(&self) -> Vec<String> {
        self.stand_in.refused()
    }

    fn cut(&self) {
        self.stand_in.cut();
    }

    fn repeat(&self, last: usize) {
        self.stand_in.repeat(last);
    }

    fn fail(&self) {
        self.stand_in.fault(discord::Fault::DoneAndCut);
        self.stand_in.fault(discord::Fault::TooFast(Some(1.0)));
    }

    fn hang(&self) {
        self.stand_in.fault(discord::Fault::DoneAndSilent);
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn forget_keys(&self) {
        self.stand_in.forget_nonces();
    }
}

/// A homeserver, the bot's account on it, and people with their rooms.
pub(super) struct Matrix {
    synapse: Arc<Synapse>,
    network: Network,
    bot: Account,
    people: Mutex<HashMap<usize, (Account, String)>>,
    /// Before each message of a person: up to where the bot had read.
    positions: Mutex<Vec<String>>,
}

impl Matrix {
    /// Starts a homeserver with this number of bots.
    pub(super) fn start(count: usize) -> Vec<Self> {
        let synapse = Arc::new(Synapse::start(Synapse::unhurried()));
        let bot = |number| {
            let (network, bot) = (Network::to(&synapse), synapse.account(&format!("sand{number}")));
            let (people, positions) = (Mutex::default(), Mutex::default());
            Self { synapse: Arc::clone(&synapse), network, bot, people, positions }
        };
        (0..count).map(bot).collect()
    }

    fn heard(&self) -> Vec<Value> {
        let people = self.people.lock().unwrap().clone();
        let mut people: Vec<_> = people.into_iter().collect();
        people.sort_by_key(|(person, _)| *person);
        let events = people.iter().flat_map(|(_, (account, room))| account.heard(room));
        events.filter(|event| event["sender"] == self.bot.id.as_str()).collect()
    }
}

impl Messenger for Matrix {
    fn kind(&self) -> &'static str {
        "matrix"
    }

    fn setup(&self) -> Value {
        json!({"token": self.bot.token, "server": self.network.url()})
    }

    fn say(&self, person: usize, text: &str) {
        let mut people = self.people.lock().unwrap();
        let (account, room) = people.entry(person).or_insert_with(|| {
            let bot = self.bot.id.trim_start_matches('@').split(':').next().unwrap();
            let account = self.synapse.account(&format!("ann{person}-{bot}"));
            let room = account.room(&[&self.bot]);
            eventually("the bot joins", Duration::from_secs(60), || {
                let path = format!("client/v3/rooms/{room}/joined_members");
                let members = account.call("GET", &path, &Value::Null);
                members["joined"].get(&self.bot.id).map(drop)
            });
            (account, room)
        });
        self.positions.lock().unwrap().push(self.network.position());
        account.say(room, text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, content): (usize, Value)| {
            let shown = if content["m.new_content"].is_null() { &content } else { &content["m.new_content"] };
            Said { at, text: text(&shown["body"]), labels: Vec::new() }
        };
        (count..).zip(self.network.sent_after(count)).map(said).collect()
    }

    fn said(&self) -> Vec<Said> {
        let mut said: Vec<(Value, Said)> = Vec::new();
        for (at, event) in self.heard().into_iter().enumerate() {
            let content = &event["content"];
            let relation = &content["m.relates_to"];
            let changed = match relation["rel_type"].as_str() {
                Some("m.replace") => said.iter_mut().find(|(id, _)| *id == relation["event_id"]),
                _ => None,
            };
            match changed {
                Some((_, said)) => said.text = text(&content["m.new_content"]["body"]),
                None => {
                    let shown = Said { at, text: text(&content["body"]), labels: Vec::new() };
                    said.push((event["event_id"].clone(), shown));
                }
            }
        }
        said.into_iter().map(|(_, said)| said).collect()
    }

    fn has_buttons(&self) -> bool {
        false
    }

    fn press(&self, _: usize, _: &Said, _: &str) {
        panic!("Matrix has no buttons");
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let files = self.heard().into_iter().filter(|event| event["content"]["msgtype"] == "m.file");
        let people = self.people.lock().unwrap();
        let (account, _) = people.values().next().unwrap();
        files
            .map(|event| {
                let content = &event["content"];
                let name = content["filename"].as_str().or(content["body"].as_str()).map(str::to_owned);
                (name, account.download(content["url"].as_str().unwrap()))
            })
            .collect()
    }

    fn refused(&self) -> Vec<String> {
        Vec::new()
    }

    fn cut(&self) {
        self.network.cut();
    }

    fn repeat(&self, last: usize) {
        let positions = self.positions.lock().unwrap();
        let position = positions.get(positions.len().saturating_sub(last));
        if let Some(position) = position.filter(|position| !position.is_empty()) {
            self.network.rewind(position);
        }
    }

    fn fail(&self) {
        self.network.fault("/send/", matrix::Fault::DoneAndCut);
        let slow = json!({"errcode": "M_LIMIT_EXCEEDED", "error": "too fast", "retry_after_ms": 1000});
        self.network.fault("/send/", matrix::Fault::Answer(429, slow));
    }

    fn hang(&self) {
        self.network.fault("/send/", matrix::Fault::DoneAndSilent);
    }

    fn has_keys(&self) -> bool {
        true
    }
}
