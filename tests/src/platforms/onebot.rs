//! A stand-in for NapCat, a client of QQ that speaks OneBot 11: it accepts WebSockets, or dials them.

use std::collections::{HashMap, VecDeque};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::*;
use serde_json::{Value, json};
use tungstenite::Message;
use tungstenite::client::IntoClientRequest;

use super::lines::{self, Fault, Line, Order, Pings, Talk, Trick};
use super::serve::{Reply, Request, Service, Serving, Socket};

/// The account's number.
pub const SELF: i64 = 10_001;

/// The token that connections need.
pub const TOKEN: &str = "planted-token-onebot";

/// The longest text of a message, in characters: longer ones are lost at QQ.
const TEXT_MAX_CHARS: usize = 4500;

/// The shortest time between two messages; an account that sends faster is restricted.
const SENDS_EVERY: Duration = Duration::from_millis(400);

/// How long to wait before dialling again.
const DIALS_EVERY: Duration = Duration::from_millis(50);

/// An action by which the account sent something.
#[derive(Clone, Debug)]
pub struct Said {
    /// `send_group_msg`, `upload_private_file` and so on.
    pub action: String,
    /// The group or the person.
    pub to: i64,
    /// The texts of its segments.
    pub text: String,
    /// The whole parameters.
    pub params: Value,
}

#[derive(Default)]
struct State {
    lines: Vec<(u64, Line, bool)>,
    /// The messages of people so far.
    events: Vec<Value>,
    pings: Pings,
    said: Vec<Said>,
    faults: VecDeque<Fault>,
    refusals: Vec<String>,
    last: Option<Instant>,
    files: HashMap<String, (Vec<u8>, Option<Trick>)>,
    next: i64,
    dials: Option<String>,
}

struct Account(Mutex<State>);

/// The stand-in.
#[derive(Clone)]
pub struct OneBot {
    serving: Arc<Serving>,
    account: Arc<Account>,
}

impl OneBot {
    /// Starts a stand-in that accepts WebSockets.
    pub fn start() -> Self {
        let account = Arc::new(Account(Mutex::default()));
        let serving = Arc::new(Serving::start(account.clone()));
        Self { serving, account }
    }

    /// The stand-in's address for WebSockets.
    pub fn url(&self) -> String {
        self.serving.ws_url()
    }

    /// The set-up of an account on it.
    pub fn setup(&self) -> Value {
        json!({"url": self.url(), "token": TOKEN})
    }

    /// Dials an address from now on, again and again when the connection ends; `None` stops that.
    pub fn dial(&self, url: Option<&str>) {
        let is_new = self.state().dials.replace(url.unwrap_or_default().to_owned()).is_none();
        let account = self.account.clone();
        if is_new {
            thread::spawn(move || {
                loop {
                    // In a separate statement, so that the state is not locked while dialling.
                    let url = account.state().dials.clone().unwrap_or_default();
                    if url.is_empty() {
                        return;
                    }
                    // There may be no listener yet.
                    let _ = account.dial(&url);
                    thread::sleep(DIALS_EVERY);
                }
            });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.account.state()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.state().lines.len()
    }

    /// The event of a message, in segments.
    pub fn event(&self, user: i64, group: Option<i64>, message: Value) -> Value {
        let id = self.account.next();
        let mut event = json!({
            "time": 1_700_000_000, "self_id": SELF, "post_type": "message", "user_id": user, "message_id": id, "font": 14,
            "message": message, "raw_message": "raw", "message_format": "array",
            "sender": {"user_id": user, "nickname": format!("nick{user}"), "card": ""},
        });
        match group {
            Some(group) => {
                event["message_type"] = json!("group");
                event["sub_type"] = json!("normal");
                event["group_id"] = json!(group);
            }
            None => {
                event["message_type"] = json!("private");
                event["sub_type"] = json!("friend");
            }
        }
        event
    }

    /// Delivers a text. Without a connection it is lost: nothing is replayed.
    pub fn say(&self, user: i64, group: Option<i64>, text: &str) -> Value {
        let event = self.event(user, group, json!([{"type": "text", "data": {"text": text}}]));
        self.state().events.push(event.clone());
        self.deliver(&event);
        event
    }

    /// Sends the last messages of people again: nothing else of OneBot's is ever sent twice.
    pub fn repeat(&self, last: usize) {
        let events = self.state().events.clone();
        events[events.len().saturating_sub(last)..].iter().for_each(|event| self.deliver(event));
    }

    /// Sends a ping on each connection for events; returns its number.
    pub fn ping(&self) -> u64 {
        let mut state = self.state();
        let (number, ping) = state.pings.begin();
        for (_, line, gets_events) in &state.lines {
            if *gets_events {
                let _ = line.send(Order::Send(ping.clone()));
            }
        }
        number
    }

    /// True if a ping was answered, so that all events before it were handled.
    pub fn is_answered(&self, ping: u64) -> bool {
        self.state().pings.is_answered(ping)
    }

    /// Sends an event on each connection for events.
    pub fn deliver(&self, event: &Value) {
        for (_, line, gets_events) in &self.state().lines {
            if *gets_events {
                let _ = line.send(Order::Send(Message::text(event.to_string())));
            }
        }
    }

    /// Sends a heartbeat, which reports whether QQ is online.
    pub fn beat(&self, is_online: bool) {
        self.deliver(&json!({"time": 1_700_000_000, "self_id": SELF, "post_type": "meta_event", "meta_event_type": "heartbeat",
            "status": {"online": is_online, "good": is_online}, "interval": 30000}));
    }

    /// The actions by which the account sent something.
    pub fn said(&self) -> Vec<Said> {
        self.state().said.clone()
    }

    /// [`Self::said`] without the first `count`.
    pub fn said_after(&self, count: usize) -> Vec<Said> {
        self.state().said.iter().skip(count).cloned().collect()
    }

    /// The refused actions so far.
    pub fn refusals(&self) -> Vec<String> {
        self.state().refusals.clone()
    }

    /// Applies a fault to the next message that is sent.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// Ends every connection without a close frame.
    pub fn cut(&self) {
        for (_, line, _) in self.state().lines.drain(..) {
            let _ = line.send(Order::Cut);
        }
    }

    /// Keeps every connection, and neither reads nor sends on it from now on.
    pub fn fall_silent(&self) {
        for (_, line, _) in self.state().lines.drain(..) {
            let _ = line.send(Order::FallSilent);
        }
    }

    /// A file that a message of a person can link to: its address.
    pub fn add_file(&self, name: &str, bytes: &[u8], trick: Option<Trick>) -> String {
        self.state().files.insert(name.to_owned(), (bytes.to_vec(), trick));
        format!("{}/files/{name}", self.serving.url())
    }
}

impl Account {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> i64 {
        let mut state = self.state();
        state.next += 1;
        // Ids may be negative.
        -state.next
    }

    fn dial(&self, url: &str) -> tungstenite::Result<()> {
        let mut request = url.into_client_request()?;
        for (name, value) in [
            ("x-self-id", SELF.to_string()),
            ("x-client-role", "Universal".to_owned()),
            ("authorization", format!("Bearer {TOKEN}")),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let host = url.trim_start_matches("ws://").split('/').next().unwrap_or_default();
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        let (socket, _) =
            tungstenite::client(request, stream).map_err(|_| tungstenite::Error::ConnectionClosed)?;
        self.talk(socket, true);
        Ok(())
    }

    fn talk(&self, socket: Socket, gets_events: bool) {
        lines::talk(socket, &Connection { account: self, gets_events });
    }

    /// Refuses an action and records the reason.
    fn failed(&self, retcode: i64, why: &str) -> Value {
        self.state().refusals.push(why.to_owned());
        json!({"status": "failed", "retcode": retcode, "data": null, "message": why, "wording": why})
    }

    /// The answer to an action; `None` if there is none.
    fn act(&self, action: &str, params: &Value) -> Result<Value, Order> {
        let number =
            |key: &str| params[key].as_i64().or(params[key].as_str().and_then(|text| text.parse().ok()));
        let ok = |data: Value| {
            Ok(json!({"status": "ok", "retcode": 0, "data": data, "message": "", "wording": ""}))
        };
        let (to, text) = match action {
            "get_login_info" => return ok(json!({"user_id": SELF, "nickname": "Sandbridge"})),
            "send_group_msg" | "send_private_msg" | "send_msg" => {
                let to = number("group_id").or(number("user_id"));
                let Some(to) = to else { return Ok(self.failed(1400, "nobody to send to")) };
                match text_of(&params["message"]) {
                    Ok(text) => (to, text),
                    Err(why) => return Ok(self.failed(1400, &why)),
                }
            }
            "upload_group_file" | "upload_private_file" => {
                let to = number("group_id").or(number("user_id"));
                let file = params["file"].as_str().and_then(|file| file.strip_prefix("base64://"));
                let (Some(to), Some(file)) = (to, file) else { return Ok(self.failed(1400, "no file")) };
                let bytes = BASE64_STANDARD.decode(file).unwrap_or_default();
                let name = params["name"].as_str().unwrap_or_default();
                if bytes.is_empty() || name.is_empty() || name.contains('/') {
                    return Ok(self.failed(1400, "an empty file, or a bad name"));
                }
                (to, String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => return Ok(self.failed(1404, "no such action")),
        };
        let fault = self.state().faults.pop_front();
        if let Some(Fault::Cut) = fault {
            return Err(Order::Cut);
        }
        if let Some(Fault::Status(_) | Fault::TooFast(_)) = fault {
            return Ok(
                json!({"status": "failed", "retcode": 1200, "data": null, "message": "rich media transfer failed", "wording": ""}),
            );
        }
        if self.state().last.is_some_and(|last| last.elapsed() < SENDS_EVERY) {
            return Ok(self.failed(1200, "too fast"));
        }
        let id = self.next();
        let mut state = self.state();
        state.last = Some(Instant::now());
        state.said.push(Said { action: action.to_owned(), to, text, params: params.clone() });
        match fault {
            Some(Fault::TakeAndCut) => Err(Order::Cut),
            Some(Fault::TakeAndHang) => Err(Order::FallSilent),
            _ => ok(json!({"message_id": id})),
        }
    }
}

/// The text of a message, or the rule that it breaks. A text may contain CQ codes; segments may not.
fn text_of(message: &Value) -> Result<String, String> {
    let text = match message {
        Value::String(text) => text.clone(),
        Value::Array(segments) if !segments.is_empty() => {
            let mut all = String::new();
            for segment in segments {
                match segment["type"].as_str() {
                    Some("text") => all.push_str(
                        segment["data"]["text"]
                            .as_str()
                            .filter(|text| !text.is_empty())
                            .ok_or("an empty text")?,
                    ),
                    Some("reply" | "at" | "image") => {}
                    other => return Err(format!("a segment {other:?}")),
                }
            }
            all
        }
        _ => return Err("no message".to_owned()),
    };
    if text.chars().count() > TEXT_MAX_CHARS { Err("too long".to_owned()) } else { Ok(text) }
}

impl Service for Account {
    fn answer(&self, request: &Request) -> Reply {
        let state = self.state();
        match request.path.strip_prefix("/files/").and_then(|name| state.files.get(name)) {
            Some((bytes, trick)) => lines::file(bytes, trick.as_ref()),
            None => Reply::json(404, &json!({})),
        }
    }

    fn upgrades(&self, request: &Request) -> bool {
        matches!(request.path.as_str(), "/" | "/api" | "/event")
    }

    fn hold(&self, request: &Request, mut socket: Socket) {
        let given = request.header("authorization").strip_prefix("Bearer ").map(str::to_owned);
        if given.or(request.query("access_token")).as_deref() != Some(TOKEN) {
            // NapCat first accepts the connection, and then refuses it there.
            let no = json!({"status": "failed", "retcode": 1403, "data": null, "message": "token verification failed", "echo": null});
            let _ = socket.send(Message::text(no.to_string()));
            let _ = socket.close(None);
            // Until the other side has read it.
            while socket.read().is_ok() {}
            return;
        }
        self.talk(socket, request.path != "/api");
    }
}

struct Connection<'a> {
    account: &'a Account,
    gets_events: bool,
}

impl Talk for Connection<'_> {
    fn opened(&self, number: u64, line: &Line) {
        if self.gets_events {
            let connect = json!({"time": 1_700_000_000, "self_id": SELF, "post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect"});
            let _ = line.send(Order::Send(Message::text(connect.to_string())));
        }
        self.account.state().lines.push((number, line.clone(), self.gets_events));
    }

    fn received(&self, _: u64, line: &Line, message: Message) {
        let call = lines::json(&message);
        let mut reply = match self.account.act(call["action"].as_str().unwrap_or_default(), &call["params"]) {
            Ok(reply) => reply,
            Err(order) => return drop(line.send(order)),
        };
        if !call["echo"].is_null() {
            reply["echo"] = call["echo"].clone();
        }
        let _ = line.send(Order::Send(Message::text(reply.to_string())));
    }

    fn ponged(&self, payload: &[u8]) {
        self.account.state().pings.answered(payload);
    }

    fn ended(&self, number: u64) {
        self.account.state().lines.retain(|(known, _, _)| *known != number);
    }
}
