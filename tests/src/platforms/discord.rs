//! Discord: the gateway with its sessions, heartbeats and resumptions, the methods that a bot calls, and the rules for messages.

mod api;
mod gateway;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::serve::Serving;
pub use api::check_message;

/// The bot's token.
pub const TOKEN: &str = "MTA3MDAwMDAwMDAwMDAwMDAwMQ.GaBcDe.abcdefghijklmnopqrstuvwxyz0123456789AB";
/// The bot's id, and its application's.
pub const BOT: &str = "1070000000000000001";
/// The first id of a message.
const FIRST_ID: u64 = 1_400_000_000_000_000_000;

/// A fault in handling the next message that is sent.
#[derive(Clone, Debug)]
pub enum Fault {
    /// 429, with `retry_after` in seconds or without.
    TooFast(Option<f64>),
    /// The request is carried out, and the connection ends before the answer.
    DoneAndCut,
    /// The request is carried out, and no answer is sent.
    DoneAndSilent,
    /// The connection ends before anything is done.
    Cut,
    /// This status, code and text.
    Error(u16, u64, &'static str),
}

/// A message that the bot sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// The id of its channel.
    pub channel: String,
    /// The id of the message.
    pub id: String,
    /// The message's parameters, as last changed.
    pub parameters: Value,
    /// The message's file: name and bytes.
    pub file: Option<(String, Vec<u8>)>,
}

#[derive(Default)]
struct Session {
    events: Vec<Value>,
    /// The connection that serves the session; a newer one takes the session over.
    connection: u64,
}

#[derive(Default)]
struct State {
    next: u64,
    sessions: HashMap<String, Session>,
    /// Events from before a client was connected.
    early: Vec<(String, Value)>,
    identified: usize,
    resumed: usize,
    beats: usize,
    heartbeat_ms: u64,
    /// The number of the last command to all connections, and the command.
    command: (u64, Command),
    is_deaf: bool,
    is_revoked: bool,
    forbids_content: bool,
    remaining: u64,
    messages: Vec<Message>,
    /// The messages of people.
    history: Vec<Value>,
    nonces: HashMap<(String, String), String>,
    callbacks: Vec<(String, Value)>,
    followups: Vec<Value>,
    /// The channel (any channel if `None`), and the fault.
    faults: Vec<(Option<String>, Fault)>,
    files: HashMap<String, Vec<u8>>,
    moved: HashMap<String, String>,
    times: HashMap<String, VecDeque<Instant>>,
    refused: Vec<String>,
    is_unhurried: bool,
}

/// A command to all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Command {
    #[default]
    Nothing,
    Reconnect,
    Invalidate,
    Close(u16),
}

/// The stand-in.
pub struct Discord {
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

    fn ws_url(&self) -> String {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).replace("http", "ws")
    }
}

impl State {
    fn id(&mut self) -> String {
        self.next += 1;
        (FIRST_ID + (self.next << 22)).to_string()
    }

    fn dispatch(&mut self, kind: &str, data: &Value) {
        if self.identified == 0 {
            self.early.push((kind.to_owned(), data.clone()));
        }
        for session in self.sessions.values_mut() {
            let seq = session.events.len() + 1;
            session.events.push(json!({"op": 0, "t": kind, "s": seq, "d": data}));
        }
    }
}

impl Discord {
    /// Starts the stand-in, with heartbeats as frequent as Discord's.
    pub fn start() -> Self {
        Self::start_with(41_250)
    }

    /// Starts the stand-in with this time between heartbeats.
    pub fn start_with(heartbeat_ms: u64) -> Self {
        let state = State { heartbeat_ms, remaining: 1000, ..State::default() };
        let inner = Arc::new(Inner { state: Mutex::new(state), url: Mutex::default() });
        let serving = Serving::start(inner.clone());
        *inner.url.lock().unwrap_or_else(PoisonError::into_inner) = serving.url();
        Self { serving, inner }
    }

    /// The address of its API, version 10.
    pub fn api(&self) -> String {
        format!("{}/api/v10", self.serving.url())
    }

    /// Ends all connections.
    pub fn cut(&self) {
        self.serving.cut();
    }

    /// A dispatch to all sessions.
    pub fn dispatch(&self, kind: &str, data: &Value) {
        self.inner.state().dispatch(kind, data);
    }

    /// Delivers a message of a person with these fields; missing ones are added. Returns the message.
    pub fn message(&self, fields: Value) -> Value {
        let mut state = self.inner.state();
        let mut message = json!({"id": state.id(), "channel_id": "55", "type": 0, "content": "", "mentions": [], "attachments": [],
            "author": {"id": "1", "username": "ann", "global_name": "Ann"}, "timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": null,
            "tts": false, "mention_everyone": false, "mention_roles": [], "embeds": [], "pinned": false});
        for (name, value) in fields.as_object().unwrap() {
            message[name.as_str()] = value.clone();
        }
        // As documented, the API's messages contain no server.
        let mut kept = message.clone();
        kept.as_object_mut().unwrap().remove("guild_id");
        state.history.push(kept);
        state.dispatch("MESSAGE_CREATE", &message);
        message
    }

    /// Dispatches the last messages of people again.
    pub fn repeat(&self, last: usize) {
        let mut state = self.inner.state();
        let from = state.history.len().saturating_sub(last);
        let again = state.history[from..].to_vec();
        again.iter().for_each(|message| state.dispatch("MESSAGE_CREATE", message));
    }

    /// Delivers a direct message.
    pub fn say(&self, text: &str) -> Value {
        self.message(json!({"content": text}))
    }

    /// Lets a person press a button of a message.
    pub fn press(&self, user: &str, message: &Message, custom_id: &str) {
        let mut state = self.inner.state();
        let id = state.id();
        let press = json!({"id": id, "type": 3, "application_id": BOT, "token": format!("press-{id}"), "version": 1, "channel_id": message.channel,
            "user": {"id": user, "username": "ann"}, "data": {"custom_id": custom_id, "component_type": 2}, "message": {"id": message.id, "channel_id": message.channel}});
        state.dispatch("INTERACTION_CREATE", &press);
    }

    /// Adds a file that can be fetched; returns its address.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        self.inner.state().files.insert(format!("/attachments/{name}"), bytes.to_vec());
        format!("{}/attachments/{name}", self.serving.url())
    }

    /// Adds a file that is elsewhere; returns its address.
    pub fn moved_file(&self, name: &str, to: &str) -> String {
        self.inner.state().moved.insert(format!("/attachments/{name}"), to.to_owned());
        format!("{}/attachments/{name}", self.serving.url())
    }

    fn command(&self, command: Command) {
        let mut state = self.inner.state();
        state.command = (state.command.0 + 1, command);
    }

    /// Asks all connections to connect again.
    pub fn reconnect(&self) {
        self.command(Command::Reconnect);
    }

    /// Forgets all sessions, and notifies the clients.
    pub fn invalidate(&self) {
        self.inner.state().sessions.clear();
        self.command(Command::Invalidate);
    }

    /// Forgets all sessions silently, as after some minutes.
    pub fn forget(&self) {
        self.inner.state().sessions.clear();
    }

    /// Closes all connections with a code.
    pub fn close(&self, code: u16) {
        self.command(Command::Close(code));
    }

    /// Stops sending and answering, or resumes.
    pub fn deafen(&self, is_deaf: bool) {
        self.inner.state().is_deaf = is_deaf;
    }

    /// Stops enforcing the limits of requests over time.
    pub fn unhurried(&self) {
        self.inner.state().is_unhurried = true;
    }

    /// Revokes the token.
    pub fn revoke(&self) {
        self.inner.state().is_revoked = true;
    }

    /// Turns the Message Content Intent off.
    pub fn forbid_content(&self) {
        self.inner.state().forbids_content = true;
    }

    /// Allows no more sessions today.
    pub fn exhaust(&self) {
        self.inner.state().remaining = 0;
    }

    /// Sets a fault for the next message that is sent; a second call sets one for the message after that.
    pub fn fault(&self, fault: Fault) {
        self.inner.state().faults.push((None, fault));
    }

    /// Sets a fault for the next message to a channel.
    pub fn fault_in(&self, channel: &str, fault: Fault) {
        self.inner.state().faults.push((Some(channel.to_owned()), fault));
    }

    /// Forgets the nonces of earlier messages, as it does after a few minutes.
    pub fn forget_nonces(&self) {
        self.inner.state().nonces.clear();
    }

    /// The bot's messages in their current state.
    pub fn messages(&self) -> Vec<Message> {
        self.inner.state().messages.clone()
    }

    /// [`Self::messages`] without the first `count`.
    pub fn messages_after(&self, count: usize) -> Vec<Message> {
        self.inner.state().messages.iter().skip(count).cloned().collect()
    }

    /// The first answers to presses: the press's id, and the body.
    pub fn callbacks(&self) -> Vec<(String, Value)> {
        self.inner.state().callbacks.clone()
    }

    /// The later answers to presses.
    pub fn followups(&self) -> Vec<Value> {
        self.inner.state().followups.clone()
    }

    /// How many sessions began, and how many were resumed.
    pub fn sessions(&self) -> (usize, usize) {
        let state = self.inner.state();
        (state.identified, state.resumed)
    }

    /// How many heartbeats arrived.
    pub fn beats(&self) -> usize {
        self.inner.state().beats
    }

    /// The refused requests, with the reasons.
    pub fn refused(&self) -> Vec<String> {
        self.inner.state().refused.clone()
    }
}
