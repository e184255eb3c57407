//! A stand-in for Feishu and Lark: the long connection for events, and the API for messages, cards and files.

mod cards;
mod frames;
mod gateway;
mod people;

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message;

pub use cards::fault_of_card;
pub use frames::Frame;
pub use people::PersonsCall;

use self::gateway::{Gateway, State};
use super::lines::{Fault, Order, Trick};
use super::serve::{Reply, Serving};

/// An application's id, in the form that the official client checks.
pub const APP_ID: &str = "cli_0123456789abcdef";

/// The application's secret.
pub const APP_SECRET: &str = "planted-secret-feishu";

/// The open id of the application's bot.
pub const BOT: &str = "ou_bot";

/// A message that the application sent.
#[derive(Clone, Debug)]
pub struct Card {
    /// The id of the message.
    pub id: String,
    /// The id of the chat.
    pub chat: String,
    /// The message that it answers, and whether it is in that message's thread.
    pub reply: Option<(String, bool)>,
    /// `interactive`, `text`, `image`, `file`.
    pub kind: String,
    /// The card's current content.
    pub content: Value,
    /// How many times it was changed.
    pub edits: usize,
    /// The key that prevents duplicates.
    pub uuid: String,
}

/// An event on its way to the application.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The event, as it is sent.
    pub event: Value,
    /// How many times it was sent.
    pub tries: usize,
    /// The application's answer: the code, and a document if there is one.
    pub answer: Option<(u64, Value)>,
    sent: Instant,
}

/// The stand-in.
#[derive(Clone)]
pub struct Feishu {
    serving: Arc<Serving>,
    gateway: Arc<Gateway>,
}

impl Feishu {
    /// Starts the stand-in.
    pub fn start() -> Self {
        let gateway = Arc::new(Gateway::default());
        let serving = Arc::new(Serving::start(gateway.clone()));
        *gateway.url.lock().unwrap() = serving.ws_url();
        Self { serving, gateway }
    }

    /// The stand-in's address: the `domain`.
    pub fn url(&self) -> String {
        self.serving.url()
    }

    /// The set-up of an account on it.
    pub fn setup(&self) -> Value {
        json!({"app_id": APP_ID, "app_secret": APP_SECRET, "domain": self.url()})
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.gateway.state()
    }

    /// The event of a text in a direct chat or in a group. The text contains placeholders for mentions: `@_user_1` is the
    /// bot, `@_user_2` another person, `@_all` all members.
    pub fn text_event(&self, sender: &str, chat: &str, is_group: bool, text: &str) -> Value {
        self.event(sender, chat, is_group, "text", &json!({"text": text}))
    }

    /// The event of a message of any kind.
    pub fn event(&self, sender: &str, chat: &str, is_group: bool, kind: &str, content: &Value) -> Value {
        let number = self.gateway.next();
        let body = content.to_string();
        let mention = |key: &str, id: &str, name: &str| json!({"key": key, "id": {"open_id": id}, "name": name, "tenant_key": "t"});
        let mentions: Vec<_> =
            [mention("@_user_1", BOT, "Sandbridge"), mention("@_user_2", "ou_other", "Other")]
                .into_iter()
                .filter(|mention| body.contains(mention["key"].as_str().unwrap()))
                .collect();
        json!({"schema": "2.0", "header": header(number, "im.message.receive_v1"), "event": {
            "sender": {"sender_id": {"open_id": sender, "union_id": format!("on_{sender}"), "user_id": null}, "sender_type": "user", "tenant_key": "t"},
            "message": {
                "message_id": format!("om_in_{number}"), "create_time": "1700000000123", "chat_id": chat,
                "chat_type": if is_group { "group" } else { "p2p" }, "message_type": kind, "content": body, "mentions": mentions,
            },
        }})
    }

    /// Delivers a text, and returns the message's id.
    pub fn say(&self, sender: &str, chat: &str, is_group: bool, text: &str) -> String {
        let event = self.text_event(sender, chat, is_group, text);
        let id = event["event"]["message"]["message_id"].as_str().unwrap().to_owned();
        self.deliver(event);
        id
    }

    /// Presses the button of a message that carries a value.
    pub fn press(&self, who: &str, card: &Card, label: &str) {
        let buttons = card.content["body"]["elements"].as_array().unwrap().iter();
        let button = buttons.into_iter().find(|element| element["text"]["content"] == label).unwrap();
        let value = button["behaviors"][0]["value"].clone();
        let number = self.gateway.next();
        self.deliver(json!({"schema": "2.0", "header": header(number, "card.action.trigger"), "event": {
            "operator": {"open_id": who, "tenant_key": "t"}, "token": format!("c-{number}"),
            "action": {"value": value, "tag": "button"}, "host": "im_message",
            "context": {"open_message_id": card.id, "open_chat_id": card.chat},
        }}));
    }

    /// Recalls a message: sends an event, and refuses replies to it from then on.
    pub fn recall(&self, id: &str, chat: &str) {
        self.state().recalled.insert(id.to_owned());
        let number = self.gateway.next();
        self.deliver(json!({"schema": "2.0", "header": header(number, "im.message.recalled_v1"), "event": {
            "message_id": id, "chat_id": chat, "recall_time": "1700000000456", "recall_type": "message_owner",
        }}));
    }

    /// Removes the bot from a chat: sends an event, and refuses requests from then on.
    pub fn remove_bot(&self, chat: &str, by: &str) {
        self.state().closed_chats.insert(chat.to_owned());
        let number = self.gateway.next();
        self.deliver(json!({"schema": "2.0", "header": header(number, "im.chat.member.bot.deleted_v1"),
            "event": {"chat_id": chat, "operator_id": {"open_id": by}, "external": false}}));
    }

    /// Delivers an event on one of the connections; without one it waits for [`Feishu::redeliver`].
    pub fn deliver(&self, event: Value) {
        let mut state = self.state();
        state.deliveries.push(Delivery { event, tries: 0, answer: None, sent: Instant::now() });
        let last = state.deliveries.len() - 1;
        state.send(last, 1);
    }

    /// Delivers an event on one of the connections, in this many fragments, from the last to the first.
    pub fn deliver_in_fragments(&self, event: Value, sum: usize) {
        let mut state = self.state();
        state.deliveries.push(Delivery { event, tries: 0, answer: None, sent: Instant::now() });
        let last = state.deliveries.len() - 1;
        state.send(last, sum);
    }

    /// Sends bytes as they are on every connection.
    pub fn send_raw(&self, bytes: &[u8]) {
        for (_, line) in &self.state().lines {
            let _ = line.send(Order::Send(Message::binary(bytes.to_vec())));
        }
    }

    /// Sends those events again that were not acknowledged, and those that were too if `all` is true.
    pub fn redeliver(&self, all: bool) {
        let mut state = self.state();
        for index in 0..state.deliveries.len() {
            if all || state.deliveries[index].answer.is_none() {
                state.send(index, 1);
            }
        }
    }

    /// Sends the last events again, even those that were acknowledged.
    pub fn repeat(&self, last: usize) {
        let mut state = self.state();
        let count = state.deliveries.len();
        for index in count.saturating_sub(last)..count {
            state.send(index, 1);
        }
    }

    /// All events so far.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.state().deliveries.clone()
    }

    /// How many events were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.state().deliveries.iter().filter(|delivery| delivery.answer.is_some()).count()
    }

    /// All messages of the application so far.
    pub fn cards(&self) -> Vec<Card> {
        self.state().cards.clone()
    }

    /// [`Self::cards`] without the first `count`.
    pub fn cards_after(&self, count: usize) -> Vec<Card> {
        self.state().cards.iter().skip(count).cloned().collect()
    }

    /// The refused requests so far: code and reason.
    pub fn refusals(&self) -> Vec<(u64, String)> {
        self.state().refusals.clone()
    }

    /// The number of connections, and of pings so far.
    pub fn connections(&self) -> (usize, u64) {
        let state = self.state();
        (state.lines.len(), state.pings)
    }

    /// Ends every connection without a close frame.
    pub fn cut(&self) {
        for (_, line) in self.state().lines.drain(..) {
            let _ = line.send(Order::Cut);
        }
    }

    /// Keeps every connection, and neither reads nor sends on it from now on.
    pub fn fall_silent(&self) {
        for (_, line) in self.state().lines.drain(..) {
            let _ = line.send(Order::FallSilent);
        }
    }

    /// Stops answering pings, or resumes.
    pub fn answer_no_pings(&self, is_mute: bool) {
        self.state().is_mute = is_mute;
    }

    /// Refuses connections with a code of the endpoint, or accepts them again.
    pub fn refuse_connections(&self, code: Option<u64>) {
        self.state().refuses_connections = code;
    }

    /// Applies a fault to the next request that sends or changes something; further calls set faults for the requests
    /// after that.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// Forgets the keys of earlier messages, as it does after an hour.
    pub fn forget_keys(&self) {
        self.state().cards.iter_mut().for_each(|card| card.uuid.clear());
    }

    /// Forgets every token that it issued, as if they had expired.
    pub fn forget_tokens(&self) {
        self.state().tokens.clear();
    }

    /// A file that a message of a person can name by this key.
    pub fn add_file(&self, key: &str, bytes: &[u8], trick: Option<Trick>) {
        let mut state = self.state();
        state.files.insert(key.to_owned(), (key.to_owned(), bytes.to_vec()));
        if let Some(trick) = trick {
            state.tricks.insert(key.to_owned(), trick);
        }
    }

    /// A file that the application sent, by its key: name and contents.
    pub fn file(&self, key: &str) -> Option<(String, Vec<u8>)> {
        self.state().files.get(key).cloned()
    }

    /// Sets the redirect URL that the application lists, and the person who agrees on its page; without a person, no one
    /// agrees.
    pub fn logs_in(&self, redirect_uri: &str, person: Option<&str>) {
        let people = &mut self.state().people;
        people.redirects.push(redirect_uri.to_owned());
        people.person = person.map(str::to_owned);
    }

    /// Sets the lifetime of people's tokens that are issued from now on.
    pub fn tokens_of_people_live(&self, lifetime: Duration) {
        self.state().people.lifetime = lifetime;
    }

    /// Issues a new token for a person.
    pub fn token_of(&self, person: &str) -> String {
        self.state().people.issue(person).0
    }

    /// Revokes people's access tokens; if `all` is true, also their refresh tokens.
    pub fn revoke_people(&self, all: bool) {
        self.state().people.revoke(all);
    }

    /// The number of valid tokens of people, and the number of refreshes.
    pub fn tokens_of_people(&self) -> (usize, usize) {
        let state = self.state();
        (state.people.valid(), state.people.refreshes)
    }

    /// Answers the next request for a person's token with this.
    pub fn fail_next_token(&self, reply: Reply) {
        self.state().people.faults.push(reply);
    }

    /// The calls with people's tokens so far.
    pub fn calls_of_people(&self) -> Vec<PersonsCall> {
        self.state().people.calls.clone()
    }
}

fn header(number: u64, kind: &str) -> Value {
    json!({"event_id": format!("ev_{number}"), "event_type": kind, "create_time": "1700000000123", "token": "v", "app_id": APP_ID, "tenant_key": "t"})
}
