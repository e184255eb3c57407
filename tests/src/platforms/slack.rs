//! Slack: Socket Mode with its repetitions, the methods that a bot calls, and the rules for blocks.

mod api;
mod rules;
mod socket;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::serve::Serving;
pub use rules::check_message;

/// The app-level token.
pub const APP_TOKEN: &str = "xapp-1-A111-222-3f4e5d6c7b8a9f0e1d2c3b4a";
/// The bot's token.
pub const BOT_TOKEN: &str = "xoxb-1111-2222-AbCdEfGhIjKlMnOpQrStUvWx";
/// The bot user's id.
pub const BOT: &str = "UB0T";

/// A fault in the next call of a method.
#[derive(Clone, Debug)]
pub enum Fault {
    /// 429, with `Retry-After` in seconds or without.
    TooFast(Option<u64>),
    /// The request is carried out, and the connection ends before the answer.
    DoneAndCut,
    /// The request is carried out, and no answer is sent.
    DoneAndSilent,
    /// The connection ends before anything is done.
    Cut,
    /// This error, with 200 as Slack does.
    Error(&'static str),
}

/// A message that the bot sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// The id of its channel.
    pub channel: String,
    /// The id of the message, which is a timestamp.
    pub ts: String,
    /// The message's parameters, as last changed.
    pub parameters: Value,
}

/// An envelope that was not acknowledged.
#[derive(Clone, Debug)]
struct Envelope {
    kind: &'static str,
    payload: Value,
    attempt: u32,
}

#[derive(Default)]
struct State {
    next: u64,
    waiting: VecDeque<Envelope>,
    /// The events so far.
    events: Vec<Envelope>,
    acknowledged: usize,
    delivered: usize,
    tickets: HashSet<String>,
    sockets: usize,
    most_sockets: usize,
    connections: usize,
    /// The number of the request to disconnect, and its reason.
    disconnect: (u64, String),
    is_deaf: bool,
    is_off: bool,
    is_revoked: bool,
    /// True if every envelope is sent twice in a row.
    repeats: bool,
    messages: Vec<Message>,
    uploads: HashMap<String, Vec<u8>>,
    files: Vec<(String, String, Vec<u8>)>,
    offered: HashMap<String, (String, Vec<u8>)>,
    moved: HashMap<String, String>,
    answers: Vec<Value>,
    refused: Vec<String>,
    times: HashMap<String, Instant>,
    is_unhurried: bool,
    faults: HashMap<String, VecDeque<Fault>>,
}

/// The stand-in.
pub struct Slack {
    serving: Serving,
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    url: Mutex<String>,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn url(&self) -> String {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl State {
    fn unique(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Slack {
    /// Starts the stand-in.
    pub fn start() -> Self {
        let inner = Arc::new(Inner { state: Mutex::default(), url: Mutex::default() });
        let serving = Serving::start(inner.clone());
        *inner.url.lock().unwrap_or_else(PoisonError::into_inner) = serving.url();
        Self { serving, inner }
    }

    /// The address of its Web API.
    pub fn api(&self) -> String {
        format!("{}/api", self.serving.url())
    }

    /// Ends all connections.
    pub fn cut(&self) {
        self.serving.cut();
    }

    /// An event in the form of the Events API.
    pub fn event(&self, event: Value) {
        let mut state = self.inner.state();
        let id = format!("Ev{:08}", state.unique());
        let payload = json!({"token": "t", "team_id": "T1", "api_app_id": "A111", "type": "event_callback", "event_id": id,
            "event_time": 1_780_000_000, "event": event, "authorizations": []});
        let envelope = Envelope { kind: "events_api", payload, attempt: 0 };
        state.events.push(envelope.clone());
        state.waiting.push_back(envelope);
    }

    /// Delivers a direct message of a person; returns its id.
    pub fn say(&self, user: &str, text: &str) -> String {
        let ts = self.ts();
        self.event(json!({"type": "message", "channel": "D1", "channel_type": "im", "user": user, "text": text, "ts": ts, "event_ts": ts}));
        ts
    }

    /// The id of a new message.
    pub fn ts(&self) -> String {
        format!("1780000000.{:06}", self.inner.state().unique())
    }

    /// Lets a person press a button of a message.
    pub fn press(&self, user: &str, message: &Message, value: &str) {
        let mut state = self.inner.state();
        let number = state.unique();
        let response_url = format!("{}/response/{number}", self.serving.url());
        let action = json!({"type": "button", "action_id": "choice-0-0", "block_id": "b", "value": value, "action_ts": "1780000000.5"});
        let payload = json!({"type": "block_actions", "trigger_id": format!("{number}.1.a"), "team": {"id": "T1"},
            "user": {"id": user, "name": "ann", "team_id": "T1"}, "api_app_id": "A111",
            "container": {"type": "message", "message_ts": message.ts, "channel_id": message.channel, "is_ephemeral": false},
            "channel": {"id": message.channel, "name": "directmessage"}, "message": {"ts": message.ts, "text": "x"},
            "response_url": response_url, "actions": [action]});
        state.waiting.push_back(Envelope { kind: "interactive", payload, attempt: 0 });
    }

    /// Adds a file that the bot can fetch; returns its address.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = format!("/files/{name}");
        self.inner.state().offered.insert(path.clone(), (name.to_owned(), bytes.to_vec()));
        format!("{}{path}", self.serving.url())
    }

    /// Adds a file that is elsewhere; returns its address.
    pub fn moved_file(&self, name: &str, to: &str) -> String {
        let path = format!("/files/{name}");
        self.inner.state().moved.insert(path.clone(), to.to_owned());
        format!("{}{path}", self.serving.url())
    }

    /// Asks every connection to be replaced, with this reason.
    pub fn disconnect(&self, reason: &str) {
        let mut state = self.inner.state();
        state.disconnect = (state.disconnect.0 + 1, reason.to_owned());
    }

    /// Stops sending and answering on all connections, or resumes.
    pub fn deafen(&self, is_deaf: bool) {
        self.inner.state().is_deaf = is_deaf;
    }

    /// Sends every envelope twice.
    pub fn repeat(&self) {
        self.inner.state().repeats = true;
    }

    /// Delivers the last events again, even those that were acknowledged.
    pub fn redeliver_last(&self, last: usize) {
        let mut state = self.inner.state();
        let from = state.events.len().saturating_sub(last);
        let again = state.events[from..].iter().cloned();
        let again: Vec<Envelope> = again.map(|envelope| Envelope { attempt: 1, ..envelope }).collect();
        state.waiting.extend(again);
    }

    /// Turns Socket Mode off.
    pub fn turn_off(&self) {
        self.inner.state().is_off = true;
    }

    /// Revokes the tokens.
    pub fn revoke(&self) {
        self.inner.state().is_revoked = true;
    }

    /// Stops enforcing the limits of requests over time.
    pub fn unhurried(&self) {
        self.inner.state().is_unhurried = true;
    }

    /// Sets a fault for the next call of a method; a second call sets one for the call after that.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.inner.state().faults.entry(method.to_owned()).or_default().push_back(fault);
    }

    /// The bot's messages in their current state.
    pub fn messages(&self) -> Vec<Message> {
        self.inner.state().messages.clone()
    }

    /// [`Self::messages`] without the first `count`.
    pub fn messages_after(&self, count: usize) -> Vec<Message> {
        self.inner.state().messages.iter().skip(count).cloned().collect()
    }

    /// The files that the bot sent: channel, title, bytes.
    pub fn files(&self) -> Vec<(String, String, Vec<u8>)> {
        self.inner.state().files.clone()
    }

    /// The answers to presses.
    pub fn answers(&self) -> Vec<Value> {
        self.inner.state().answers.clone()
    }

    /// The refused requests, with the reasons.
    pub fn refused(&self) -> Vec<String> {
        self.inner.state().refused.clone()
    }

    /// How many envelopes were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.inner.state().acknowledged
    }

    /// How many envelopes were sent, repetitions included.
    pub fn delivered(&self) -> usize {
        self.inner.state().delivered
    }

    /// The number of connections: now, at most at once, and in total.
    pub fn sockets(&self) -> (usize, usize, usize) {
        let state = self.inner.state();
        (state.sockets, state.most_sockets, state.connections)
    }
}
