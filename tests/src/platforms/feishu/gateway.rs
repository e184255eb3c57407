//! The servers that the application talks to: the endpoint of connections, the API, and the long connection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::prelude::*;
use serde_json::{Value, json};
use tungstenite::Message;

use super::cards::fault_of_card;
use super::frames::Frame;
use super::people::{People, TOKEN_MARK};
use super::{APP_ID, APP_SECRET, BOT, Card, Delivery};
use crate::platforms::lines::{self, Fault, Line, Order, Pace, Talk, Trick};
use crate::platforms::serve::{Reply, Request, Service, Socket};

/// How long an acknowledgement may take, according to the documentation of the long connection.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(3);

/// The limit on messages per second to one chat, and on changes per second of one message, according to the API documentation.
const PER_SECOND: usize = 5;

/// The limit of one application on messages sent per second, and on messages edited per second.
const APP_PER_SECOND: usize = 50;

#[derive(Default)]
pub(super) struct State {
    pub(super) lines: Vec<(u64, Line)>,
    pub(super) deliveries: Vec<Delivery>,
    pub(super) cards: Vec<Card>,
    pub(super) files: HashMap<String, (String, Vec<u8>)>,
    pub(super) tricks: HashMap<String, Trick>,
    pub(super) tokens: HashSet<String>,
    pub(super) tickets: HashSet<String>,
    pub(super) faults: VecDeque<Fault>,
    pub(super) refusals: Vec<(u64, String)>,
    pub(super) paces: HashMap<String, Pace>,
    pub(super) refuses_connections: Option<u64>,
    pub(super) closed_chats: HashSet<String>,
    /// The ids of messages that their senders recalled.
    pub(super) recalled: HashSet<String>,
    pub(super) pings: u64,
    pub(super) is_mute: bool,
    pub(super) next: u64,
    pub(super) people: People,
}

#[derive(Default)]
pub(super) struct Gateway {
    pub(super) state: Mutex<State>,
    pub(super) url: Mutex<String>,
}

impl State {
    /// Sends an event in this many frames on one of the connections, in turn.
    pub(super) fn send(&mut self, index: usize, sum: usize) {
        if self.lines.is_empty() {
            return;
        }
        let delivery = &mut self.deliveries[index];
        delivery.tries += 1;
        delivery.sent = Instant::now();
        delivery.answer = None;
        let payload = delivery.event.to_string().into_bytes();
        let (_, line) = &self.lines[index % self.lines.len()];
        for seq in (0..sum).rev() {
            let length = payload.len().div_ceil(sum);
            let part = &payload[(seq * length).min(payload.len())..((seq + 1) * length).min(payload.len())];
            let frame = Frame::event(index, sum, seq, part);
            let _ = line.send(Order::Send(Message::binary(frame.encode())));
        }
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

    fn refuse(&self, status: u16, code: u64, why: &str) -> Reply {
        self.state().refusals.push((code, why.to_owned()));
        Reply::json(status, &json!({"code": code, "msg": why}))
    }

    fn connection(&self, request: &Request) -> Reply {
        let body = request.json();
        let url = self.url.lock().unwrap().clone();
        if let Some(code) = self.state().refuses_connections {
            return Reply::json(200, &json!({"code": code, "msg": "refused", "data": {}}));
        }
        if body["AppID"] != APP_ID || body["AppSecret"] != APP_SECRET {
            return Reply::json(200, &json!({"code": 514, "msg": "auth failed", "data": {}}));
        }
        let ticket = format!("ticket-{}", self.next());
        self.state().tickets.insert(ticket.clone());
        let url = format!("{url}/ws/v2?device_id=7&service_id=33&access_key=planted-key&ticket={ticket}");
        let config =
            json!({"PingInterval": 90, "ReconnectCount": -1, "ReconnectInterval": 2, "ReconnectNonce": 1});
        Reply::json(200, &json!({"code": 0, "msg": "ok", "data": {"URL": url, "ClientConfig": config}}))
    }

    fn token(&self, request: &Request) -> Reply {
        let body = request.json();
        if body["app_id"] != APP_ID || body["app_secret"] != APP_SECRET {
            return Reply::json(200, &json!({"code": 10014, "msg": "app secret invalid"}));
        }
        let token = format!("t-planted-{}", self.next());
        self.state().tokens.insert(token.clone());
        Reply::json(200, &json!({"code": 0, "msg": "ok", "tenant_access_token": token, "expire": 7200}))
    }

    /// Takes the next fault: `Err` is answered at once, any other after the request was carried out.
    fn fault(&self) -> Result<Option<Reply>, Reply> {
        match self.state().faults.pop_front() {
            None => Ok(None),
            Some(Fault::TakeAndHang) => Ok(Some(Reply::Silent)),
            Some(Fault::TakeAndCut) => Ok(Some(Reply::Cut)),
            Some(Fault::Cut) => Err(Reply::Cut),
            Some(Fault::Status(status)) => Err(Reply::json(status, &json!({}))),
            Some(Fault::TooFast(wait)) => {
                let reply =
                    Reply::json(429, &json!({"code": 99991400, "msg": "request trigger frequency limit"}));
                Err(wait
                    .iter()
                    .fold(reply, |reply, wait| reply.with("x-ogw-ratelimit-reset", &wait.to_string())))
            }
        }
    }

    fn is_paced(&self, what: &str, max: usize) -> bool {
        self.state().paces.entry(what.to_owned()).or_default().is_kept(max)
    }

    fn send(&self, chat: &str, reply: Option<(String, bool)>, body: &Value) -> Reply {
        let after = match self.fault() {
            Ok(after) => after,
            Err(answer) => return answer,
        };
        if !self.is_paced("app", APP_PER_SECOND) {
            return self.refuse(429, 99991400, "request trigger frequency limit");
        }
        if !self.is_paced(chat, PER_SECOND) {
            return self.refuse(400, 230020, "This operation triggers the frequency limit.");
        }
        if self.state().closed_chats.contains(chat) {
            return self.refuse(400, 230002, "The bot can not be outside the group.");
        }
        let kind = body["msg_type"].as_str().unwrap_or_default();
        let text = body["content"].as_str().unwrap_or_default();
        if let Some((code, why)) = self.fault_of_content(kind, text) {
            return self.refuse(400, code, &why);
        }
        let uuid = body["uuid"].as_str().unwrap_or_default().to_owned();
        if uuid.len() > 50 {
            return self.refuse(400, 99992402, "uuid: the max len is 50");
        }
        let known = self.state().cards.iter().find(|card| !uuid.is_empty() && card.uuid == uuid).cloned();
        let id = known.as_ref().map_or_else(|| format!("om_out_{}", self.next()), |card| card.id.clone());
        if known.is_none() {
            let content = serde_json::from_str(text).unwrap();
            let (chat, kind) = (chat.to_owned(), kind.to_owned());
            self.state().cards.push(Card {
                id: id.clone(),
                chat: chat.clone(),
                reply,
                kind,
                content,
                edits: 0,
                uuid,
            });
        }
        let done = Reply::json(
            200,
            &json!({"code": 0, "msg": "success", "data": {"message_id": id, "chat_id": chat}}),
        );
        after.unwrap_or(done)
    }

    fn fault_of_content(&self, kind: &str, text: &str) -> Option<(u64, String)> {
        let content: Value = serde_json::from_str(text).unwrap_or_default();
        match kind {
            "interactive" => fault_of_card(text),
            "text" if text.len() > 150 * 1024 => {
                Some((230025, "The length of the message content reaches its limit.".to_owned()))
            }
            "text" if content["text"].as_str().is_some_and(|text| !text.is_empty()) => None,
            "image" | "file" => {
                let key = content[format!("{kind}_key")].as_str().unwrap_or_default();
                let is_known = self.state().files.contains_key(key);
                (!is_known).then(|| (230001, "the key of the file is unknown".to_owned()))
            }
            _ => Some((230001, "Your request contains an invalid request parameter.".to_owned())),
        }
    }

    fn edit(&self, id: &str, body: &Value) -> Reply {
        let after = match self.fault() {
            Ok(after) => after,
            Err(answer) => return answer,
        };
        if !self.is_paced("edits of the app", APP_PER_SECOND) {
            return self.refuse(429, 99991400, "request trigger frequency limit");
        }
        if !self.is_paced(id, PER_SECOND) {
            return self.refuse(400, 230020, "This operation triggers the frequency limit.");
        }
        let text = body["content"].as_str().unwrap_or_default();
        if let Some((code, why)) = fault_of_card(text) {
            return self.refuse(400, code, &why);
        }
        let mut state = self.state();
        match state.cards.iter_mut().find(|card| card.id == id && card.kind == "interactive") {
            Some(card) => {
                card.content = serde_json::from_str(text).unwrap();
                card.edits += 1;
            }
            None => {
                drop(state);
                return self.refuse(400, 230001, "no such card");
            }
        }
        after.unwrap_or_else(|| Reply::json(200, &json!({"code": 0, "msg": "success", "data": {}})))
    }

    fn upload(&self, request: &Request, kind: &str, max: usize) -> Reply {
        let form = request.parts();
        let Some(file) = form.iter().find(|part| part.name == kind) else {
            return self.refuse(400, 234001, "Invalid request param.");
        };
        if file.bytes.is_empty() || file.bytes.len() > max {
            return self.refuse(400, 234006, "The file size exceed the max value.");
        }
        let field = |wanted: &str| {
            let found = form.iter().find(|part| part.name == wanted);
            found.map(|part| String::from_utf8_lossy(&part.bytes).into_owned())
        };
        let stated = if kind == "image" { field("image_type") } else { field("file_type") };
        if !matches!(stated.as_deref(), Some("message" | "stream")) {
            return self.refuse(400, 234001, "Invalid request param.");
        }
        let key = format!("{kind}_key_{}", self.next());
        let name = field("file_name").or(file.file.clone()).unwrap_or_default();
        self.state().files.insert(key.clone(), (name, file.bytes.clone()));
        Reply::json(200, &json!({"code": 0, "msg": "success", "data": {format!("{kind}_key"): key}}))
    }

    fn resource(&self, key: &str) -> Reply {
        let state = self.state();
        let Some((_, bytes)) = state.files.get(key) else {
            return Reply::json(400, &json!({"code": 234003, "msg": "File not in msg."}));
        };
        lines::file(bytes, state.tricks.get(key))
    }

    fn api(&self, request: &Request) -> Reply {
        let token = request.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        if token.starts_with(TOKEN_MARK) {
            return self.state().people.call(token, request);
        }
        if !self.state().tokens.contains(token) {
            return self.refuse(400, 99991663, "Invalid access token for authorization.");
        }
        let path = request.path.strip_prefix("/open-apis/").unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["bot", "v3", "info"]) => Reply::json(
                200,
                &json!({"code": 0, "msg": "ok", "bot": {"activate_status": 2, "app_name": "Sandbridge", "open_id": BOT}}),
            ),
            ("POST", ["im", "v1", "messages"])
                if request.query("receive_id_type").as_deref() == Some("chat_id") =>
            {
                let body = request.json();
                self.send(body["receive_id"].as_str().unwrap_or_default(), None, &body)
            }
            ("POST", ["im", "v1", "messages", id, "reply"]) => {
                let chat = self.state().deliveries.iter().find_map(|delivery| {
                    let message = &delivery.event["event"]["message"];
                    (message["message_id"] == *id).then(|| message["chat_id"].as_str().unwrap().to_owned())
                });
                let Some(chat) = chat else { return self.refuse(400, 230001, "no such message") };
                if self.state().recalled.contains(*id) {
                    return self.refuse(400, 230011, "The message was withdrawn.");
                }
                let body = request.json();
                self.send(&chat, Some(((*id).to_owned(), body["reply_in_thread"] == true)), &body)
            }
            ("PATCH", ["im", "v1", "messages", id]) => self.edit(id, &request.json()),
            ("POST", ["im", "v1", "images"]) => self.upload(request, "image", 10 << 20),
            ("POST", ["im", "v1", "files"]) => self.upload(request, "file", 30 << 20),
            ("GET", ["im", "v1", "messages", _, "resources", key]) => self.resource(key),
            _ => self.refuse(404, 99991404, "not found"),
        }
    }
}

impl Service for Gateway {
    fn answer(&self, request: &Request) -> Reply {
        match request.path.as_str() {
            "/callback/ws/endpoint" => self.connection(request),
            "/open-apis/auth/v3/tenant_access_token/internal" => self.token(request),
            "/open-apis/authen/v1/authorize" => self.state().people.page(request),
            "/open-apis/authen/v2/oauth/token" => self.state().people.token(request),
            "/ws/v2" => Reply::json(403, &json!({})).with("handshake-status", "514"),
            _ => self.api(request),
        }
    }

    fn upgrades(&self, request: &Request) -> bool {
        request.path == "/ws/v2" && self.state().tickets.remove(&request.query("ticket").unwrap_or_default())
    }

    fn hold(&self, _: &Request, socket: Socket) {
        lines::talk(socket, self);
    }
}

impl Talk for Gateway {
    fn opened(&self, number: u64, line: &Line) {
        self.state().lines.push((number, line.clone()));
    }

    fn received(&self, _: u64, line: &Line, message: Message) {
        let Message::Binary(bytes) = message else { return };
        let frame = Frame::decode(&bytes).expect("a frame of the application");
        assert_eq!(frame.service, 33, "the service of the connection's address");
        let mut state = self.state();
        if frame.method == 0 {
            assert_eq!(frame.header("type"), "ping");
            state.pings += 1;
            if !state.is_mute {
                let _ = line.send(Order::Send(Message::binary(Frame::pong().encode())));
            }
            return;
        }
        assert!(!frame.header("biz_rt").is_empty() && frame.header("type") == "event", "{frame:?}");
        let payload: Value = serde_json::from_slice(&frame.payload).unwrap();
        let data = payload["data"].as_str().map(|data| BASE64_STANDARD.decode(data).unwrap());
        let data = data.map_or(Value::Null, |data| serde_json::from_slice(&data).unwrap());
        let index: usize = frame.header("message_id").strip_prefix("frame_").unwrap().parse().unwrap();
        let delivery = &mut state.deliveries[index];
        if delivery.sent.elapsed() < ACKNOWLEDGED_WITHIN {
            delivery.answer = Some((payload["code"].as_u64().unwrap(), data));
        }
    }

    fn ended(&self, number: u64) {
        self.state().lines.retain(|(known, _)| *known != number);
    }
}
