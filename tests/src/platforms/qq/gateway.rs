//! The server that the bot talks to: tokens, the API and the gateway.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::prelude::*;
use serde_json::{Value, json};
use tungstenite::Message;

use super::{APP_ID, SECRET, Said};
use crate::platforms::lines::{self, Fault, Line, Order, Talk, Trick};
use crate::platforms::serve::{Reply, Request, Service, Socket};

/// The longest text, in characters.
const TEXT_MAX_CHARS: usize = 4000;

/// How many replies an event may get.
const REPLIES_MAX: usize = 5;

/// The intents that the bot may have: groups and direct messages, presses, mentions, direct messages of channels.
const INTENTS: u64 = 1 << 25 | 1 << 26 | 1 << 30 | 1 << 12;

/// The time between heartbeats; the documented 41 s would slow the tests.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// A dispatched event.
#[derive(Clone, Debug)]
pub(super) struct Dispatch {
    pub(super) kind: String,
    pub(super) body: Value,
    pub(super) at: Instant,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) lines: Vec<(u64, Line)>,
    /// Dispatches of the session; the number of the first is 2, since `READY` has 1.
    pub(super) events: Vec<Dispatch>,
    pub(super) session: u64,
    pub(super) said: Vec<Said>,
    pub(super) replies: HashMap<String, HashSet<u64>>,
    pub(super) answered: Vec<String>,
    pub(super) tokens: HashSet<String>,
    pub(super) faults: VecDeque<Fault>,
    pub(super) refusals: Vec<String>,
    pub(super) files: HashMap<String, (Vec<u8>, Option<Trick>)>,
    pub(super) uploads: HashMap<String, Vec<u8>>,
    pub(super) permitted: Option<u64>,
    pub(super) window: Option<Duration>,
    pub(super) remaining: Option<u64>,
    pub(super) closes_with: Option<u16>,
    pub(super) identified: Vec<u64>,
    pub(super) resumed: Vec<u64>,
    pub(super) beats: Vec<Value>,
    pub(super) heartbeat: Option<Duration>,
    pub(super) is_mute: bool,
    pub(super) next: u64,
}

#[derive(Default)]
pub(super) struct Gateway {
    pub(super) state: Mutex<State>,
    pub(super) urls: Mutex<(String, String)>,
}

impl State {
    pub(super) fn frame(&self, index: usize) -> Value {
        let event = &self.events[index];
        json!({"op": 0, "s": index + 2, "t": event.kind, "id": format!("{}:{index}", event.kind), "d": event.body})
    }

    fn refuse(&mut self, status: u16, code: i64, why: &str) -> Reply {
        self.refusals.push(why.to_owned());
        Reply::json(status, &json!({"code": code, "err_code": code, "message": why, "trace_id": "t"}))
    }
}

impl Gateway {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next(&self) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.next
    }

    fn token(&self, request: &Request) -> Reply {
        let body = request.json();
        if body["appId"] != APP_ID || body["clientSecret"] != SECRET {
            return Reply::json(200, &json!({"code": 100_016, "message": "invalid appid or secret"}));
        }
        let token = format!("planted-access-{}", self.next());
        self.state().tokens.insert(token.clone());
        Reply::json(200, &json!({"access_token": token, "expires_in": "7200"}))
    }

    fn send(&self, path: &str, body: &Value) -> Reply {
        let id = format!("out_{}", self.next());
        let mut state = self.state();
        let fault = state.faults.pop_front();
        match fault {
            Some(Fault::Cut) => return Reply::Cut,
            Some(Fault::Status(status)) => return Reply::json(status, &json!({})),
            Some(Fault::TooFast(wait)) => {
                let reply = Reply::json(429, &json!({"code": 22_009, "message": "too fast"}));
                return wait.iter().fold(reply, |reply, wait| reply.with("retry-after", &wait.to_string()));
            }
            _ => {}
        }
        if let Err(why) = self.check(&state, body) {
            return state.refuse(400, 11_255, &why);
        }
        let answered = body["msg_id"].as_str().or(body["event_id"].as_str()).unwrap_or_default().to_owned();
        let index = state.events.iter().rposition(|event| event.body["id"] == answered.as_str());
        let Some(index) = index else {
            return state.refuse(400, 304_082, "no passive reply: proactive messages are withdrawn");
        };
        if state.window.is_some_and(|window| state.events[index].at.elapsed() > window) {
            return state.refuse(400, 40_034_005, "the message that is replied to is too old");
        }
        let seq = body["msg_seq"].as_u64().unwrap_or(1);
        let used = state.replies.entry(answered).or_default();
        if used.contains(&seq) {
            return Reply::json(
                400,
                &json!({"code": 40_054_005, "err_code": 40_054_005, "message": "the message is a double"}),
            );
        }
        if used.len() >= REPLIES_MAX {
            return state.refuse(400, 40_034_024, "too many replies");
        }
        used.insert(seq);
        state.said.push(Said {
            id: id.clone(),
            to: path.trim_end_matches("/messages").to_owned(),
            body: body.clone(),
        });
        match fault {
            Some(Fault::TakeAndCut) => Reply::Cut,
            Some(Fault::TakeAndHang) => Reply::Silent,
            _ => Reply::json(200, &json!({"id": id, "timestamp": "2023-11-06T13:37:18+08:00"})),
        }
    }

    fn check(&self, state: &State, body: &Value) -> Result<(), String> {
        let text = match body["msg_type"].as_u64().unwrap_or(0) {
            0 => body["content"].as_str(),
            2 => body["markdown"]["content"].as_str(),
            7 => {
                let info = body["media"]["file_info"].as_str().unwrap_or_default();
                return if state.uploads.contains_key(info) {
                    Ok(())
                } else {
                    Err("no such file".to_owned())
                };
            }
            other => return Err(format!("msg_type {other}")),
        };
        let text = text.filter(|text| !text.trim().is_empty()).ok_or("an empty text")?;
        if text.chars().count() > TEXT_MAX_CHARS {
            return Err("too long".to_owned());
        }
        if ["<@", "<qqbot-at", "<emoji:"].iter().any(|tag| text.contains(tag)) {
            return Err("a mention that nobody meant".to_owned());
        }
        let rows = body["keyboard"]["content"]["rows"].as_array();
        for row in rows.into_iter().flatten() {
            let buttons = row["buttons"]
                .as_array()
                .filter(|buttons| (1..=5).contains(&buttons.len()))
                .ok_or("a row without buttons")?;
            for button in buttons {
                let label = button["render_data"]["label"].as_str().unwrap_or_default();
                let data = button["action"]["data"].as_str().unwrap_or_default();
                if label.is_empty()
                    || label.chars().count() > 30
                    || data.is_empty()
                    || data.chars().count() > 128
                    || button["action"]["type"] != 1
                {
                    return Err(format!("a bad button: {button}"));
                }
            }
        }
        if rows.is_some_and(|rows| rows.len() > 5) { Err("too many rows".to_owned()) } else { Ok(()) }
    }

    fn api(&self, request: &Request) -> Reply {
        let token = request.header("authorization").strip_prefix("QQBot ").unwrap_or_default();
        if !self.state().tokens.contains(token) {
            return self.state().refuse(401, 11_244, "token not exist or expire");
        }
        let parts: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["users", "@me"]) => {
                Reply::json(200, &json!({"id": "7001", "username": "Sandbridge", "avatar": ""}))
            }
            ("GET", ["gateway", "bot"]) => {
                let url = format!("{}/websocket", self.urls.lock().unwrap().1);
                let remaining = self.state().remaining.unwrap_or(999);
                Reply::json(
                    200,
                    &json!({"url": url, "shards": 1, "session_start_limit": {"total": 1000, "remaining": remaining, "reset_after": 14_400_000, "max_concurrency": 1}}),
                )
            }
            ("POST", ["v2", "groups" | "users", _, "messages"]) => self.send(&request.path, &request.json()),
            ("POST", ["v2", "groups" | "users", _, "files"]) => {
                let body = request.json();
                let bytes = BASE64_STANDARD
                    .decode(body["file_data"].as_str().unwrap_or_default())
                    .unwrap_or_default();
                if bytes.is_empty()
                    || !matches!(body["file_type"].as_u64(), Some(1..=4))
                    || body["srv_send_msg"] != false
                {
                    return self.state().refuse(400, 850_012, "a bad file");
                }
                let info = format!("info_{}", self.next());
                self.state().uploads.insert(info.clone(), bytes);
                Reply::json(200, &json!({"file_uuid": "u", "file_info": info, "ttl": 3600}))
            }
            ("PUT", ["interactions", id]) if request.json()["code"].is_u64() => {
                self.state().answered.push((*id).to_owned());
                Reply::json(200, &json!({}))
            }
            _ => self.state().refuse(404, 11_261, "no such path"),
        }
    }

    /// Starts a session, or resumes it.
    fn join(&self, number: u64, line: &Line, frame: &Value) {
        let mut state = self.state();
        let token =
            frame["d"]["token"].as_str().and_then(|token| token.strip_prefix("QQBot ")).unwrap_or_default();
        if !state.tokens.contains(token) {
            return drop(line.send(Order::Close(4004, "authentication fail".to_owned())));
        }
        if let Some(code) = state.closes_with {
            return drop(line.send(Order::Close(code, "bye".to_owned())));
        }
        let send = |frame: Value| drop(line.send(Order::Send(Message::text(frame.to_string()))));
        let session = format!("session-{}", state.session);
        let from = if frame["op"] == 2 {
            let intents = frame["d"]["intents"].as_u64().unwrap_or(0);
            state.identified.push(intents);
            if intents & !state.permitted.unwrap_or(INTENTS) != 0 {
                return drop(line.send(Order::Close(4014, "disallowed intents".to_owned())));
            }
            send(
                json!({"op": 0, "s": 1, "t": "READY", "d": {"version": 1, "session_id": session, "user": {"id": "7001", "username": "Sandbridge", "bot": true}, "shard": [0, 1]}}),
            );
            state.events.len()
        } else {
            let seq = frame["d"]["seq"].as_u64().unwrap_or(0);
            if frame["d"]["session_id"] != session.as_str() {
                return send(json!({"op": 9, "d": false}));
            }
            state.resumed.push(seq);
            usize::try_from(seq.saturating_sub(1)).unwrap()
        };
        for index in from..state.events.len() {
            send(state.frame(index));
        }
        if frame["op"] == 6 {
            send(json!({"op": 0, "s": state.events.len() + 1, "t": "RESUMED", "d": ""}));
        }
        state.lines.push((number, line.clone()));
    }
}

impl Service for Gateway {
    fn answer(&self, request: &Request) -> Reply {
        if let Some(name) = request.path.strip_prefix("/files/") {
            let state = self.state();
            return state.files.get(name).map_or_else(
                || Reply::json(404, &json!({})),
                |(bytes, trick)| lines::file(bytes, trick.as_ref()),
            );
        }
        if request.path == "/app/getAppAccessToken" { self.token(request) } else { self.api(request) }
    }

    fn upgrades(&self, request: &Request) -> bool {
        request.path == "/websocket"
    }

    fn hold(&self, _: &Request, socket: Socket) {
        lines::talk(socket, self);
    }
}

impl Talk for Gateway {
    fn opened(&self, _: u64, line: &Line) {
        let every = self.state().heartbeat.unwrap_or(HEARTBEAT);
        let every = u64::try_from(every.as_millis()).unwrap();
        let hello = json!({"op": 10, "d": {"heartbeat_interval": every}});
        let _ = line.send(Order::Send(Message::text(hello.to_string())));
    }

    fn received(&self, number: u64, line: &Line, message: Message) {
        let frame = lines::json(&message);
        match frame["op"].as_u64() {
            Some(1) => {
                let mut state = self.state();
                state.beats.push(frame["d"].clone());
                if !state.is_mute {
                    let _ = line.send(Order::Send(Message::text(json!({"op": 11}).to_string())));
                }
            }
            Some(2 | 6) => self.join(number, line, &frame),
            _ => drop(line.send(Order::Close(4001, "invalid opcode".to_owned()))),
        }
    }

    fn ended(&self, number: u64) {
        self.state().lines.retain(|(known, _)| *known != number);
    }
}
