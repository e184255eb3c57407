//! A stand-in for WeCom's gateway for AI bots: one WebSocket per bot, replies, proactive messages, cards, uploads, encrypted files.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::prelude::*;
use serde_json::{Value, json};
use tungstenite::Message;

use super::lines::{self, Fault, Line, Order, Pace, Pings, Talk, Trick};
use super::serve::{Reply, Request, Service, Serving, Socket};

/// The bot's id.
pub const BOT_ID: &str = "aib-bot";

/// The bot's secret.
pub const SECRET: &str = "planted-secret-wecom";

/// The plain content of [`ENCRYPTED`].
pub const PLAIN: &[u8] = b"a picture of a sand bridge";

/// The key of [`ENCRYPTED`].
pub const AES_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// [`PLAIN`], by AES-256-CBC of OpenSSL, padded to 32 bytes.
pub const ENCRYPTED: [u8; 32] = [
    0xe5, 0x45, 0x23, 0xd4, 0x49, 0xfa, 0x3c, 0x49, 0x8c, 0xe0, 0xef, 0x3c, 0x66, 0xef, 0x2e, 0xba, 0x22,
    0x13, 0xd1, 0xf4, 0xbb, 0x77, 0x8d, 0x33, 0xb4, 0xbe, 0xf1, 0x6c, 0x8f, 0xda, 0xf3, 0xb0,
];

/// The longest text, in bytes, according to the documentation of bots.
const TEXT_MAX_BYTES: usize = 20_480;

/// The limit on messages to one conversation, per second; the documented 30 a minute would slow the tests.
const PER_SECOND: usize = 30;

/// A message that the bot sent.
#[derive(Clone, Debug)]
pub struct Said {
    /// `reply:REQUEST` or `chat:ID`.
    pub to: String,
    /// The body of the command that sent it.
    pub body: Value,
}

/// The parts of an upload that have arrived.
type Chunks = Vec<Option<Vec<u8>>>;

#[derive(Default)]
struct State {
    /// The connections, each with true if the bot has subscribed on it.
    lines: Vec<(u64, Line, bool)>,
    /// The messages of people so far.
    events: Vec<Value>,
    checks: Pings,
    said: Vec<Said>,
    /// Requests that may be replied to.
    asked: HashSet<String>,
    cards: HashSet<String>,
    updates: Vec<Value>,
    uploads: HashMap<String, (Value, Chunks)>,
    files: HashMap<String, (Vec<u8>, Option<Trick>)>,
    faults: VecDeque<Fault>,
    refusals: Vec<String>,
    paces: HashMap<String, Pace>,
    pings: usize,
    is_mute: bool,
    next: u64,
}

#[derive(Default)]
struct Gateway(Mutex<State>);

/// The stand-in.
#[derive(Clone)]
pub struct WeCom {
    serving: Arc<Serving>,
    gateway: Arc<Gateway>,
}

impl WeCom {
    /// Starts the stand-in.
    pub fn start() -> Self {
        let gateway = Arc::new(Gateway::default());
        Self { serving: Arc::new(Serving::start(gateway.clone())), gateway }
    }

    /// The stand-in's address for WebSockets.
    pub fn url(&self) -> String {
        self.serving.ws_url()
    }

    /// The set-up of an account on it.
    pub fn setup(&self) -> Value {
        json!({"bot_id": BOT_ID, "secret": SECRET, "address": self.url()})
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.gateway.state()
    }

    /// A message of a person, or in a group with a mention of the bot: its body, to be changed and delivered.
    pub fn event(&self, user: &str, group: Option<&str>, text: &str) -> Value {
        let number = self.gateway.next();
        let mut body = json!({"msgid": format!("msg{number}"), "aibotid": BOT_ID, "chattype": "single", "from": {"userid": user}, "create_time": 1_700_000_000,
            "msgtype": "text", "text": {"content": text}});
        if let Some(group) = group {
            body["chattype"] = json!("group");
            body["chatid"] = json!(group);
        }
        body
    }

    /// Delivers a text; returns its id. Without a connection it is lost.
    pub fn say(&self, user: &str, group: Option<&str>, text: &str) -> String {
        let event = self.event(user, group, text);
        self.state().events.push(event.clone());
        self.deliver(&event);
        event["msgid"].as_str().unwrap().to_owned()
    }

    /// Delivers the last messages of people again, with the same ids.
    pub fn repeat(&self, last: usize) {
        let events = self.state().events.clone();
        for event in &events[events.len().saturating_sub(last)..] {
            self.deliver(event);
        }
    }

    /// Sends a ping on each connection of the bot; returns its number.
    pub fn ping(&self) -> u64 {
        let mut state = self.state();
        let (number, ping) = state.checks.begin();
        for (_, line, is_bots) in &state.lines {
            if *is_bots {
                let _ = line.send(Order::Send(ping.clone()));
            }
        }
        number
    }

    /// True if a ping was answered, so that all messages before it were handled.
    pub fn is_answered(&self, ping: u64) -> bool {
        self.state().checks.is_answered(ping)
    }

    /// Delivers a message; returns the id of the request, by which it is replied to.
    pub fn deliver(&self, body: &Value) -> String {
        let request = format!("req_{}", self.gateway.next());
        let command = if body["msgtype"] == "event" { "aibot_event_callback" } else { "aibot_msg_callback" };
        let frame = json!({"cmd": command, "headers": {"req_id": request}, "body": body});
        let mut state = self.state();
        state.asked.insert(request.clone());
        state.send(&frame);
        request
    }

    /// Lets a person press a button of a card.
    pub fn press(&self, user: &str, group: Option<&str>, card: &Value, label: &str) -> String {
        let buttons = card["button_list"].as_array().unwrap().iter();
        let button = buttons.into_iter().find(|button| button["text"] == label).unwrap();
        let mut body = self.event(user, group, "");
        body["msgtype"] = json!("event");
        body["event"] = json!({"eventtype": "template_card_event", "template_card_event": {"card_type": card["card_type"], "event_key": button["key"], "task_id": card["task_id"]},
            "event_key": button["key"], "task_id": card["task_id"]});
        self.deliver(&body)
    }

    /// Notifies the bot that another connection has replaced its own.
    pub fn replace(&self) {
        let mut body = self.event("", None, "");
        body["msgtype"] = json!("event");
        body["event"] = json!({"eventtype": "disconnected_event"});
        self.deliver(&body);
    }

    /// The messages that the bot sent.
    pub fn said(&self) -> Vec<Said> {
        self.state().said.clone()
    }

    /// [`Self::said`] without the first `count`.
    pub fn said_after(&self, count: usize) -> Vec<Said> {
        self.state().said.iter().skip(count).cloned().collect()
    }

    /// The cards that were changed.
    pub fn updates(&self) -> Vec<Value> {
        self.state().updates.iter().map(|body| body["template_card"].clone()).collect()
    }

    /// The people for whom each card was changed; null for all people.
    pub fn updated_for(&self) -> Vec<Value> {
        self.state().updates.iter().map(|body| body["userids"].clone()).collect()
    }

    /// An upload: its announcement, and its contents once it is complete.
    pub fn upload(&self, media: &str) -> Option<(Value, Vec<u8>)> {
        let state = self.state();
        let (announced, chunks) = state.uploads.get(media)?;
        Some((announced.clone(), chunks.iter().cloned().collect::<Option<Vec<_>>>()?.concat()))
    }

    /// The refused commands so far.
    pub fn refusals(&self) -> Vec<String> {
        self.state().refusals.clone()
    }

    /// The number of connections of the bot.
    pub fn connections(&self) -> usize {
        self.state().lines.iter().filter(|(_, _, is_bots)| *is_bots).count()
    }

    /// The number of pings so far.
    pub fn pings(&self) -> usize {
        self.state().pings
    }

    /// Stops answering pings, or resumes.
    pub fn answer_no_pings(&self, is_mute: bool) {
        self.state().is_mute = is_mute;
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

    /// Forgets the requests that may be replied to.
    pub fn forget_requests(&self) {
        self.state().asked.clear();
    }

    /// Applies a fault to the next message that is sent.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// A file that a message of a person can link to: its address.
    pub fn add_file(&self, name: &str, bytes: &[u8], trick: Option<Trick>) -> String {
        self.state().files.insert(name.to_owned(), (bytes.to_vec(), trick));
        format!("{}/files/{name}", self.serving.url())
    }
}

impl State {
    fn send(&self, frame: &Value) {
        for (_, line, is_bots) in &self.lines {
            if *is_bots {
                let _ = line.send(Order::Send(Message::text(frame.to_string())));
            }
        }
    }

    /// The answer to a command: an error's code and text, or a body.
    fn act(&mut self, command: &str, request: &str, body: &Value) -> Result<Value, (i64, String)> {
        let refuse = |why: &str| Err((40_008, why.to_owned()));
        match command {
            "aibot_respond_msg" | "aibot_respond_welcome_msg" if !self.asked.contains(request) => {
                refuse("invalid req_id")
            }
            "aibot_respond_msg" | "aibot_respond_welcome_msg" => self.say(format!("reply:{request}"), body),
            "aibot_send_msg" => match body["chatid"].as_str().filter(|chat| !chat.is_empty()) {
                Some(chat) => self.say(format!("chat:{chat}"), body),
                None => refuse("no chatid"),
            },
            "aibot_respond_update_msg" => {
                let task = body["template_card"]["task_id"].as_str().unwrap_or_default();
                if body["response_type"] != "update_template_card"
                    || !self.asked.contains(request)
                    || !self.cards.contains(task)
                {
                    return refuse("no such card");
                }
                fault_of_card(&body["template_card"]).map_or(Ok(()), |why| Err((40_008, why)))?;
                if body["userids"] == json!([]) {
                    return refuse("nobody's card");
                }
                self.updates.push(body.clone());
                Ok(Value::Null)
            }
            "aibot_upload_media_init" => {
                let chunks = usize::try_from(body["total_chunks"].as_u64().unwrap_or(0)).unwrap();
                if !(1..=100).contains(&chunks)
                    || body["md5"].as_str().is_none_or(|md5| md5.len() != 32)
                    || !body["filename"].is_string()
                {
                    return refuse("a bad upload");
                }
                let id = format!("upload{}", self.uploads.len());
                self.uploads.insert(id.clone(), (body.clone(), vec![None; chunks]));
                Ok(json!({"upload_id": id}))
            }
            "aibot_upload_media_chunk" => {
                let bytes = BASE64_STANDARD
                    .decode(body["base64_data"].as_str().unwrap_or_default())
                    .unwrap_or_default();
                let index = usize::try_from(body["chunk_index"].as_u64().unwrap_or(u64::MAX)).unwrap();
                let upload = self.uploads.get_mut(body["upload_id"].as_str().unwrap_or_default());
                match upload.and_then(|(_, chunks)| chunks.get_mut(index)) {
                    Some(chunk) if !bytes.is_empty() && bytes.len() <= 512 * 1024 => *chunk = Some(bytes),
                    _ => return refuse("a bad chunk"),
                }
                Ok(Value::Null)
            }
            "aibot_upload_media_finish" => {
                let id = body["upload_id"].as_str().unwrap_or_default();
                let Some((announced, chunks)) = self.uploads.get(id) else { return refuse("no such upload") };
                let total: usize = chunks.iter().flatten().map(Vec::len).sum();
                if chunks.contains(&None) || announced["total_size"] != total {
                    return refuse("an incomplete upload");
                }
                Ok(json!({"type": announced["type"], "media_id": id, "created_at": "1700000000"}))
            }
            _ => refuse("an unknown command"),
        }
    }

    fn say(&mut self, to: String, body: &Value) -> Result<Value, (i64, String)> {
        if !self.paces.entry(to.clone()).or_default().is_kept(PER_SECOND) {
            return Err((45_009, "api freq out of limit".to_owned()));
        }
        let refuse = |why: &str| Err((40_008, why.to_owned()));
        let text = |text: &Value| {
            let text = text.as_str().unwrap_or_default();
            if text.trim().is_empty() || text.len() > TEXT_MAX_BYTES {
                Err((40_058, format!("a text of {} bytes", text.len())))
            } else {
                Ok(())
            }
        };
        match body["msgtype"].as_str().unwrap_or_default() {
            "stream" if to.starts_with("reply:") && body["stream"]["id"].is_string() => {
                text(&body["stream"]["content"])?
            }
            "markdown" if to.starts_with("chat:") => text(&body["markdown"]["content"])?,
            "template_card" => {
                fault_of_card(&body["template_card"]).map_or(Ok(()), |why| Err((40_008, why)))?;
                if !self
                    .cards
                    .insert(body["template_card"]["task_id"].as_str().unwrap_or_default().to_owned())
                {
                    return refuse("the task_id is used");
                }
            }
            kind @ ("file" | "image") => {
                if !self.uploads.contains_key(body[kind]["media_id"].as_str().unwrap_or_default()) {
                    return refuse("invalid media_id");
                }
            }
            _ => return refuse("an unknown kind of message"),
        }
        self.said.push(Said { to, body: body.clone() });
        Ok(Value::Null)
    }
}

/// The rule that a card with buttons breaks.
pub fn fault_of_card(card: &Value) -> Option<String> {
    let task = card["task_id"].as_str().unwrap_or_default();
    let is_id = |c: char| c.is_ascii_alphanumeric() || "_-@".contains(c);
    if card["card_type"] != "button_interaction"
        || task.is_empty()
        || task.len() > 128
        || !task.chars().all(is_id)
    {
        return Some("a card without a type, or a bad task_id".to_owned());
    }
    if card["main_title"]["title"].as_str().is_none_or(|title| title.is_empty() || title.chars().count() > 36)
    {
        return Some("a card without a title, or one too long".to_owned());
    }
    let buttons = card["button_list"].as_array().filter(|buttons| (1..=6).contains(&buttons.len()));
    let Some(buttons) = buttons else { return Some("a card without buttons, or too many".to_owned()) };
    let mut keys = HashSet::new();
    for button in buttons {
        let (text, key) =
            (button["text"].as_str().unwrap_or_default(), button["key"].as_str().unwrap_or_default());
        if text.is_empty()
            || text.chars().count() > 20
            || key.is_empty()
            || key.len() > 1024
            || !keys.insert(key)
        {
            return Some(format!("a bad button: {button}"));
        }
    }
    None
}

impl Gateway {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.next
    }
}

impl Service for Gateway {
    fn answer(&self, request: &Request) -> Reply {
        let state = self.state();
        match request.path.strip_prefix("/files/").and_then(|name| state.files.get(name)) {
            Some((bytes, trick)) => lines::file(bytes, trick.as_ref()),
            None => Reply::json(404, &json!({})),
        }
    }

    fn upgrades(&self, request: &Request) -> bool {
        request.path == "/"
    }

    fn hold(&self, _: &Request, socket: Socket) {
        lines::talk(socket, self);
    }
}

impl Talk for Gateway {
    fn opened(&self, number: u64, line: &Line) {
        self.state().lines.push((number, line.clone(), false));
    }

    fn received(&self, number: u64, line: &Line, message: Message) {
        let frame = lines::json(&message);
        let (command, body) = (frame["cmd"].as_str().unwrap_or_default(), &frame["body"]);
        let request = frame["headers"]["req_id"].as_str().unwrap_or_default();
        let mut state = self.state();
        let answer = |code: i64, why: &str, body: &Value| {
            let mut answer = json!({"headers": {"req_id": request}, "errcode": code, "errmsg": why});
            if !body.is_null() {
                answer["body"] = body.clone();
            }
            let _ = line.send(Order::Send(Message::text(answer.to_string())));
        };
        let is_bots = state.lines.iter().any(|(known, _, is_bots)| *known == number && *is_bots);
        match command {
            "aibot_subscribe" if body["bot_id"] == BOT_ID && body["secret"] == SECRET => {
                for (known, _, is_bots) in &mut state.lines {
                    *is_bots |= *known == number;
                }
                answer(0, "ok", &Value::Null);
            }
            "aibot_subscribe" => answer(40_001, "invalid credential", &Value::Null),
            _ if !is_bots => answer(40_014, "not subscribed", &Value::Null),
            "ping" => {
                state.pings += 1;
                if !state.is_mute {
                    answer(0, "ok", &Value::Null);
                }
            }
            _ => {
                let is_message = matches!(command, "aibot_respond_msg" | "aibot_send_msg");
                let fault = if is_message { state.faults.pop_front() } else { None };
                match fault {
                    Some(Fault::Cut) => return drop(line.send(Order::Cut)),
                    Some(Fault::TooFast(_)) => return answer(45_009, "api freq out of limit", &Value::Null),
                    Some(Fault::Status(_)) => return answer(-1, "system busy", &Value::Null),
                    _ => {}
                }
                let done = state.act(command, request, body);
                match (fault, done) {
                    (Some(Fault::TakeAndCut), _) => drop(line.send(Order::Cut)),
                    (Some(Fault::TakeAndHang), _) => {}
                    (_, Ok(body)) => answer(0, "ok", &body),
                    (_, Err((code, why))) => {
                        answer(code, &why, &Value::Null);
                        state.refusals.push(why);
                    }
                }
            }
        }
    }

    fn ponged(&self, payload: &[u8]) {
        self.state().checks.answered(payload);
    }

    fn ended(&self, number: u64) {
        self.state().lines.retain(|(known, _, _)| *known != number);
    }
}
