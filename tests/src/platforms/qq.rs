//! A stand-in for QQ's bot platform: tokens, the gateway, deliveries by webhook, passive replies.

mod gateway;

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message;

use self::gateway::{Dispatch, Gateway, State};
use super::lines::{Fault, Order, Trick};
use super::serve::Serving;

/// The bot's number.
pub const APP_ID: &str = "102030";

/// The bot's secret.
pub const SECRET: &str = "planted-secret-qq";

/// A message that the bot sent.
#[derive(Clone, Debug)]
pub struct Said {
    /// The id of the message.
    pub id: String,
    /// The path of the conversation: `/v2/groups/G`.
    pub to: String,
    /// The message as the bot sent it.
    pub body: Value,
}

/// The stand-in.
#[derive(Clone)]
pub struct Qq {
    serving: Arc<Serving>,
    gateway: Arc<Gateway>,
}

impl Qq {
    /// Starts the stand-in.
    pub fn start() -> Self {
        let gateway = Arc::new(Gateway::default());
        let serving = Arc::new(Serving::start(gateway.clone()));
        *gateway.urls.lock().unwrap() = (serving.url(), serving.ws_url());
        Self { serving, gateway }
    }

    /// The stand-in's address.
    pub fn url(&self) -> String {
        self.serving.url()
    }

    /// The set-up of an account on it.
    pub fn setup(&self) -> Value {
        let token = format!("{}/app/getAppAccessToken", self.url());
        json!({"app_id": APP_ID, "secret": SECRET, "address": self.url(), "token_address": token})
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.gateway.state()
    }

    /// The event of a message of a person, or in a group with a mention of the bot.
    pub fn event(&self, user: &str, group: Option<&str>, text: &str) -> (String, Value) {
        let number = self.gateway.next();
        let mut body = json!({"id": format!("ROBOT1.0_{number}"), "content": text, "timestamp": "2023-11-06T13:37:18+08:00"});
        match group {
            Some(group) => {
                body["author"] = json!({"id": user, "member_openid": user});
                body["group_id"] = json!(group);
                body["group_openid"] = json!(group);
                ("GROUP_AT_MESSAGE_CREATE".to_owned(), body)
            }
            None => {
                body["author"] = json!({"id": user, "user_openid": user});
                ("C2C_MESSAGE_CREATE".to_owned(), body)
            }
        }
    }

    /// Delivers a text; returns its id.
    pub fn say(&self, user: &str, group: Option<&str>, text: &str) -> String {
        let (kind, body) = self.event(user, group, text);
        let id = body["id"].as_str().unwrap().to_owned();
        self.dispatch(&kind, body);
        id
    }

    /// Presses the button with this label in a message.
    pub fn press(&self, user: &str, group: Option<&str>, said: &Said, label: &str) -> String {
        let rows = said.body["keyboard"]["content"]["rows"].as_array().unwrap().iter();
        let mut buttons = rows.flat_map(|row| row["buttons"].as_array().unwrap().clone());
        let button = buttons.find(|button| button["render_data"]["label"] == label).unwrap();
        let id = format!("interaction-{}", self.gateway.next());
        let mut body = json!({"id": id, "type": 11, "scene": "c2c", "chat_type": 2, "user_openid": user, "timestamp": "2023-11-06T13:37:18+08:00", "version": 1,
            "data": {"type": 11, "resolved": {"button_data": button["action"]["data"], "button_id": button["id"], "message_id": said.id}}});
        if let Some(group) = group {
            body = json!({"id": id, "type": 11, "scene": "group", "chat_type": 1, "group_openid": group, "group_member_openid": user, "timestamp": "2023-11-06T13:37:18+08:00",
                "version": 1, "data": body["data"]});
        }
        self.dispatch("INTERACTION_CREATE", body);
        id
    }

    /// Dispatches an event, now or when the session is resumed.
    pub fn dispatch(&self, kind: &str, body: Value) {
        let mut state = self.state();
        state.events.push(Dispatch { kind: kind.to_owned(), body, at: Instant::now() });
        let last = state.events.len() - 1;
        let frame = state.frame(last);
        for (_, line) in &state.lines {
            let _ = line.send(Order::Send(Message::text(frame.to_string())));
        }
    }

    /// Dispatches the last events again: the same message may come twice.
    pub fn repeat(&self, last: usize) {
        let state = self.state();
        let from = state.events.len().saturating_sub(last);
        let again = state.events[from..].to_vec();
        drop(state);
        again.into_iter().for_each(|event| self.dispatch(&event.kind, event.body));
    }

    /// An event as a webhook's body.
    pub fn delivery(&self, user: &str, text: &str) -> Value {
        let (kind, body) = self.event(user, None, text);
        json!({"op": 0, "id": format!("{kind}:x"), "t": kind, "s": 1, "d": body})
    }

    /// The messages that the bot sent.
    pub fn said(&self) -> Vec<Said> {
        self.state().said.clone()
    }

    /// [`Self::said`] without the first `count`.
    pub fn said_after(&self, count: usize) -> Vec<Said> {
        self.state().said.iter().skip(count).cloned().collect()
    }

    /// The presses that were acknowledged.
    pub fn answered(&self) -> Vec<String> {
        self.state().answered.clone()
    }

    /// The refused requests so far.
    pub fn refusals(&self) -> Vec<String> {
        self.state().refusals.clone()
    }

    /// The intents of each new session, and the numbers after which sessions were resumed.
    pub fn sessions(&self) -> (Vec<u64>, Vec<u64>) {
        let state = self.state();
        (state.identified.clone(), state.resumed.clone())
    }

    /// The number of connections with a session.
    pub fn connections(&self) -> usize {
        self.state().lines.len()
    }

    /// The numbers in heartbeats so far.
    pub fn beats(&self) -> Vec<Value> {
        self.state().beats.clone()
    }

    /// Sets the time between heartbeats on new connections.
    pub fn set_heartbeat(&self, every: Duration) {
        self.state().heartbeat = Some(every);
    }

    /// Stops answering heartbeats, or resumes.
    pub fn answer_no_beats(&self, is_mute: bool) {
        self.state().is_mute = is_mute;
    }

    /// Permits only these intents.
    pub fn permit(&self, intents: u64) {
        self.state().permitted = Some(intents);
    }

    /// Sets how long events can be answered.
    pub fn set_window(&self, window: Duration) {
        self.state().window = Some(window);
    }

    /// Sets how many sessions may still be started today.
    pub fn set_remaining(&self, remaining: u64) {
        self.state().remaining = Some(remaining);
    }

    /// Ends every connection with a code; with `None`, without a close frame.
    pub fn close(&self, code: Option<u16>) {
        for (_, line) in self.state().lines.drain(..) {
            let _ = line.send(code.map_or(Order::Cut, |code| Order::Close(code, "bye".to_owned())));
        }
    }

    /// Ends every new session with a code from now on; `None` stops that.
    pub fn close_new(&self, code: Option<u16>) {
        self.state().closes_with = code;
    }

    /// Asks every connection to connect again.
    pub fn ask_to_reconnect(&self) {
        for (_, line) in &self.state().lines {
            let _ = line.send(Order::Send(Message::text(json!({"op": 7}).to_string())));
        }
    }

    /// Forgets the session and its events.
    pub fn forget_session(&self) {
        let mut state = self.state();
        state.session += 1;
        state.events.clear();
    }

    /// Forgets every token that it issued.
    pub fn forget_tokens(&self) {
        self.state().tokens.clear();
    }

    /// Applies a fault to the next message that is sent.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// A file that a message of a person can link to: its address.
    pub fn add_file(&self, name: &str, bytes: &[u8], trick: Option<Trick>) -> String {
        self.state().files.insert(name.to_owned(), (bytes.to_vec(), trick));
        format!("{}/files/{name}", self.url())
    }

    /// A file that the bot uploaded, by its `file_info`.
    pub fn upload(&self, info: &str) -> Option<Vec<u8>> {
        self.state().uploads.get(info).cloned()
    }
}
