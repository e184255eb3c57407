//! Telegram's Bot API: the queue of updates with its offsets, the other poller, the limits, and the rules for texts and entities.

mod api;
mod rules;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::serve::Serving;
pub use rules::check_message;

/// The bot's token.
pub const TOKEN: &str = "4839574812:AAFD39kkdpWt3ywyRZergyOLMaJhac60qcU";
/// The bot's id: the token's first part.
pub const BOT: i64 = 4_839_574_812;
/// The bot's name.
pub const USERNAME: &str = "sand_bot";

/// A fault in the next call of a method.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// 429, with `retry_after` in seconds or without.
    TooFast(Option<u64>),
    /// The connection ends before anything is done.
    Cut,
    /// The request is carried out, and the connection ends before the answer.
    DoneAndCut,
    /// The request is carried out, and no answer is sent.
    DoneAndSilent,
    /// No answer is sent.
    Silent,
    /// A gateway's page with this status.
    Gateway(u16),
}

/// A message that the bot sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// `sendMessage`, `sendPhoto` or `sendDocument`.
    pub method: String,
    /// The id of the message.
    pub id: i64,
    /// The id of its chat.
    pub chat: i64,
    /// The message's parameters, as last edited.
    pub parameters: Value,
    /// How many times it was edited.
    pub edits: usize,
    /// The file's name and bytes.
    pub file: Option<(String, Vec<u8>)>,
}

/// The response at a file's address.
#[derive(Clone, Debug)]
enum File {
    Is(Vec<u8>),
    Lying(u64, Vec<u8>),
    Moved(String),
}

#[derive(Default)]
struct State {
    /// Updates that were not confirmed.
    queue: VecDeque<Value>,
    /// All updates so far.
    updates: Vec<Value>,
    next_update: i64,
    next_message: i64,
    /// The number of the poll that is served; an older one is terminated.
    poll: u64,
    has_webhook: bool,
    /// The address for deliveries of updates, and the secret that they carry.
    webhook: Option<(String, String)>,
    is_revoked: bool,
    delivered: usize,
    messages: Vec<Message>,
    deleted_chats: HashMap<i64, &'static str>,
    moved: HashMap<i64, i64>,
    faults: HashMap<String, VecDeque<Fault>>,
    refused: Vec<String>,
    answered: Vec<(String, String)>,
    times: HashMap<i64, VecDeque<Instant>>,
    files: HashMap<String, File>,
    is_unhurried: bool,
    polls: usize,
}

/// The stand-in.
pub struct Telegram {
    serving: Serving,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

impl Telegram {
    /// Starts the stand-in, with no updates.
    pub fn start() -> Self {
        let inner = Arc::<Inner>::default();
        let mut state = inner.state();
        (state.next_update, state.next_message) = (800_000_001, 10);
        drop(state);
        Self { serving: Serving::start(inner.clone()), inner }
    }

    /// The address of its API.
    pub fn url(&self) -> String {
        self.serving.url()
    }

    /// Ends all connections.
    pub fn cut(&self) {
        self.serving.cut();
    }

    /// A person of this id as the API shows them.
    pub fn person(id: i64, name: &str) -> Value {
        json!({"id": id, "is_bot": false, "first_name": name, "language_code": "en"})
    }

    /// A direct message of a person, whose chat has the person's id. Returns the update's id.
    pub fn say(&self, person: i64, text: &str) -> i64 {
        self.message(json!({"chat": {"id": person, "type": "private"}, "from": Self::person(person, "Ann"), "text": text}))
    }

    /// A message with the given fields; its id and date are added. Returns the update's id.
    pub fn message(&self, fields: Value) -> i64 {
        self.update("message", self.dated(fields))
    }

    /// The given fields with a message's id and date.
    pub fn dated(&self, mut fields: Value) -> Value {
        let mut state = self.inner.state();
        state.next_message += 1;
        fields["message_id"] = json!(state.next_message);
        fields["date"] = json!(1_780_000_000);
        fields
    }

    /// An update of a kind. Returns its id.
    pub fn update(&self, kind: &str, value: Value) -> i64 {
        let mut state = self.inner.state();
        let id = state.next_update;
        state.next_update += 1;
        let update = json!({"update_id": id, kind: value});
        state.updates.push(update.clone());
        state.queue.push_back(update);
        self.inner.changed.notify_all();
        id
    }

    /// Delivers the last updates again, as if their confirmation had been lost.
    pub fn repeat(&self, last: usize) {
        let mut state = self.inner.state();
        let from = state.updates.len().saturating_sub(last);
        let again = state.updates[from..].to_vec();
        state.queue.extend(again);
        self.inner.changed.notify_all();
    }

    /// Lets a person press a button of a message that the bot sent. Returns the update's id.
    pub fn press(&self, person: i64, message: &Message, data: &str) -> i64 {
        let kind = if message.chat < 0 { "supergroup" } else { "private" };
        let shown = json!({"message_id": message.id, "date": 1_780_000_000, "chat": {"id": message.chat, "type": kind},
            "from": api::me(), "text": message.parameters["text"]});
        self.update(
            "callback_query",
            json!({"id": format!("press-{}", message.id), "from": Self::person(person, "Ann"), "chat_instance": "1", "message": shown, "data": data}),
        )
    }

    /// Adds a file that can be fetched: its id is its path.
    pub fn file(&self, id: &str, bytes: &[u8]) {
        self.inner.state().files.insert(id.to_owned(), File::Is(bytes.to_vec()));
    }

    /// Adds a file that claims another length.
    pub fn lying_file(&self, id: &str, length: u64, bytes: &[u8]) {
        self.inner.state().files.insert(id.to_owned(), File::Lying(length, bytes.to_vec()));
    }

    /// Adds a file that is elsewhere.
    pub fn moved_file(&self, id: &str, to: &str) {
        self.inner.state().files.insert(id.to_owned(), File::Moved(to.to_owned()));
    }

    /// Continues with this update id, as after a week without updates.
    pub fn jump_to(&self, update: i64) {
        self.inner.state().next_update = update;
    }

    /// Sets a fault for the next call of a method; setting a second one affects the call after that.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.inner.state().faults.entry(method.to_owned()).or_default().push_back(fault);
    }

    /// Revokes the token.
    pub fn revoke(&self) {
        self.inner.state().is_revoked = true;
    }

    /// Sets a webhook, as if another program had done so.
    pub fn set_webhook(&self) {
        self.inner.state().has_webhook = true;
    }

    /// The address for deliveries, and their secret.
    pub fn webhook(&self) -> Option<(String, String)> {
        self.inner.state().webhook.clone()
    }

    /// Delivers the unconfirmed updates in their order until a delivery fails; returns those that were accepted. Telegram
    /// tries again by itself; here the test does.
    pub fn deliver(&self) -> Vec<Value> {
        let mut taken = Vec::new();
        let Some((url, secret)) = self.webhook() else { return taken };
        loop {
            let Some(update) = self.inner.state().queue.front().cloned() else { return taken };
            if Self::post(&url, &secret, &update) != Some(200) {
                return taken;
            }
            self.inner.state().queue.pop_front();
            taken.push(update);
        }
    }

    /// Posts an update to an address with a secret; returns the status of the answer, if there is one.
    pub fn post(url: &str, secret: &str, update: &Value) -> Option<u16> {
        let request = ureq::post(url).config().http_status_as_error(false).build();
        let request = request.header("content-type", "application/json");
        let request = request.header("x-telegram-bot-api-secret-token", secret);
        request.send(update.to_string()).ok().map(|answer| answer.status().as_u16())
    }

    /// Makes a chat refuse the bot's messages, with this error.
    pub fn close(&self, chat: i64, why: &'static str) {
        self.inner.state().deleted_chats.insert(chat, why);
    }

    /// Turns a group into another chat, as when it becomes a supergroup.
    pub fn migrate(&self, from: i64, to: i64) {
        self.inner.state().moved.insert(from, to);
    }

    /// Stops enforcing the limits of requests over time.
    pub fn unhurried(&self) {
        self.inner.state().is_unhurried = true;
    }

    /// The bot's messages in their current state.
    pub fn messages(&self) -> Vec<Message> {
        self.inner.state().messages.clone()
    }

    /// [`Self::messages`] without the first `count`.
    pub fn messages_after(&self, count: usize) -> Vec<Message> {
        self.inner.state().messages.iter().skip(count).cloned().collect()
    }

    /// The refused requests, with the reasons.
    pub fn refused(&self) -> Vec<String> {
        self.inner.state().refused.clone()
    }

    /// The answers to presses: the press's id, and the text.
    pub fn answered(&self) -> Vec<(String, String)> {
        self.inner.state().answered.clone()
    }

    /// How many updates are not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.inner.state().queue.len()
    }

    /// How many updates were delivered, repetitions included.
    pub fn delivered(&self) -> usize {
        self.inner.state().delivered
    }

    /// How many polls began.
    pub fn polls(&self) -> usize {
        self.inner.state().polls
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
