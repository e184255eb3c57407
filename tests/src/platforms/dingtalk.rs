//! A stand-in for DingTalk: stream connections, session webhooks, and the API of robots.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tungstenite::Message;

use super::lines::{self, Fault, Line, Order, Pace, Talk, Trick};
use super::serve::{Reply, Request, Service, Serving, Socket};

/// The application's client id, which is its robot's code too.
pub const CLIENT_ID: &str = "dingabc";

/// The application's client secret.
pub const SECRET: &str = "planted-secret-dingtalk";

/// The topic of messages to a robot.
const TOPIC: &str = "/v1.0/im/bot/messages/get";

/// The longest message, in bytes, according to the documentation of robots.
const TEXT_MAX_BYTES: usize = 20_000;

/// The limit on messages through one session webhook, per second; the documented 20 a minute would slow the tests.
const PER_SECOND: usize = 20;

/// A message that the robot sent.
#[derive(Clone, Debug)]
pub struct Said {
    /// `webhook:N`, `group:ID`, `user:ID`.
    pub to: String,
    /// `markdown`, `sampleMarkdown`, `sampleFile` and so on.
    pub kind: String,
    /// The text, or the parameters.
    pub content: Value,
}

/// A message on its way to the robot.
#[derive(Clone, Debug)]
struct Delivery {
    frame: Value,
    is_done: bool,
}

#[derive(Default)]
struct State {
    lines: Vec<(u64, Line)>,
    deliveries: Vec<Delivery>,
    said: Vec<Said>,
    tokens: HashSet<String>,
    tickets: HashSet<String>,
    faults: VecDeque<Fault>,
    refusals: Vec<String>,
    pace: Pace,
    files: HashMap<String, (Vec<u8>, Option<Trick>)>,
    webhook_lives: Option<Duration>,
    pongs: usize,
    opened: usize,
    next: u64,
}

#[derive(Default)]
struct Gateway {
    state: Mutex<State>,
    urls: Mutex<(String, String)>,
}

/// The stand-in.
#[derive(Clone)]
pub struct DingTalk {
    serving: Arc<Serving>,
    gateway: Arc<Gateway>,
}

impl DingTalk {
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
        json!({"client_id": CLIENT_ID, "client_secret": SECRET, "address": self.url(), "upload_address": self.url()})
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.gateway.state()
    }

    /// A message of a person, or in a group with a mention of the robot: the document, to be changed and delivered.
    pub fn event(&self, user: &str, group: Option<&str>, text: &str) -> Value {
        let number = self.gateway.next();
        let lives = self.state().webhook_lives.unwrap_or(Duration::from_secs(3600));
        let until = (SystemTime::now() + lives).duration_since(UNIX_EPOCH).unwrap().as_millis();
        let url = format!("{}/robot/sendBySession?session={number}", self.gateway.urls.lock().unwrap().0);
        json!({
            "conversationId": group.map_or_else(|| format!("cid-direct-{user}"), str::to_owned), "conversationType": if group.is_some() { "2" } else { "1" },
            "chatbotCorpId": "corp", "chatbotUserId": "$:LWCP_v1:$bot", "msgId": format!("msg{number}"), "senderNick": format!("Nick {user}"), "isAdmin": false,
            "senderStaffId": user, "senderId": format!("$:LWCP_v1:${user}"), "senderCorpId": "corp", "createAt": 1_700_000_000_123_u64,
            "sessionWebhook": url, "sessionWebhookExpiredTime": u64::try_from(until).unwrap(), "isInAtList": group.is_some(), "robotCode": CLIENT_ID,
            "atUsers": [{"dingtalkId": "$:LWCP_v1:$bot"}], "msgtype": "text", "text": {"content": text},
        })
    }

    /// Delivers a text; returns the id of its message.
    pub fn say(&self, user: &str, group: Option<&str>, text: &str) -> String {
        let event = self.event(user, group, text);
        self.deliver(&event);
        event["msgId"].as_str().unwrap().to_owned()
    }

    /// Delivers a message.
    pub fn deliver(&self, event: &Value) {
        let mut state = self.state();
        let number = state.deliveries.len();
        let headers = json!({"appId": "app", "connectionId": "c", "contentType": "application/json", "messageId": format!("frame_{number}"), "time": "1700000000123", "topic": TOPIC});
        let frame =
            json!({"specVersion": "1.0", "type": "CALLBACK", "headers": headers, "data": event.to_string()});
        state.deliveries.push(Delivery { frame, is_done: false });
        state.send(number);
    }

    /// Sends those messages again that were not acknowledged; all of them if `all` is true.
    pub fn redeliver(&self, all: bool) {
        let mut state = self.state();
        for number in 0..state.deliveries.len() {
            if all || !state.deliveries[number].is_done {
                state.send(number);
            }
        }
    }

    /// Sends the last messages again, even those that were acknowledged.
    pub fn repeat(&self, last: usize) {
        let mut state = self.state();
        let count = state.deliveries.len();
        for number in count.saturating_sub(last)..count {
            state.send(number);
        }
    }

    /// How many messages were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.state().deliveries.iter().filter(|delivery| delivery.is_done).count()
    }

    /// Sends a frame of the system: `ping` or `disconnect`.
    pub fn system(&self, topic: &str) {
        let headers = json!({"contentType": "application/json", "messageId": "system", "topic": topic});
        let frame =
            json!({"specVersion": "1.0", "type": "SYSTEM", "headers": headers, "data": "{\"opaque\":\"x\"}"});
        for (_, line) in &self.state().lines {
            let _ = line.send(Order::Send(Message::text(frame.to_string())));
        }
    }

    /// How many pings of the system were answered.
    pub fn pongs(&self) -> usize {
        self.state().pongs
    }

    /// The messages that the robot sent.
    pub fn said(&self) -> Vec<Said> {
        self.state().said.clone()
    }

    /// [`Self::said`] without the first `count`.
    pub fn said_after(&self, count: usize) -> Vec<Said> {
        self.state().said.iter().skip(count).cloned().collect()
    }

    /// The refused requests so far.
    pub fn refusals(&self) -> Vec<String> {
        self.state().refusals.clone()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.state().lines.len()
    }

    /// The number of connections so far.
    pub fn opened(&self) -> usize {
        self.state().opened
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

    /// Sets the lifetime of the session webhooks of new messages.
    pub fn set_webhook_life(&self, life: Duration) {
        self.state().webhook_lives = Some(life);
    }

    /// Forgets every token that it gave out.
    pub fn forget_tokens(&self) {
        self.state().tokens.clear();
    }

    /// Applies a fault to the next message that is sent.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// A file that a message of a person can name by its download code.
    pub fn add_file(&self, code: &str, bytes: &[u8], trick: Option<Trick>) {
        self.state().files.insert(code.to_owned(), (bytes.to_vec(), trick));
    }

    /// A file that the robot uploaded, by its media id.
    pub fn file(&self, id: &str) -> Option<Vec<u8>> {
        self.state().files.get(id).map(|(bytes, _)| bytes.clone())
    }
}

impl State {
    fn send(&mut self, number: usize) {
        let frame = self.deliveries[number].frame.to_string();
        if let Some((_, line)) = self.lines.first() {
            let _ = line.send(Order::Send(Message::text(frame)));
        }
    }

    fn refuse(&mut self, status: u16, code: &str, why: &str) -> Reply {
        self.refusals.push(why.to_owned());
        Reply::json(status, &json!({"code": code, "message": why, "requestid": "r"}))
    }

    /// Takes the next fault: `Err` is answered at once, any other after the request was carried out.
    fn fault(&mut self, too_fast: Reply) -> Result<Option<Reply>, Reply> {
        match self.faults.pop_front() {
            None => Ok(None),
            Some(Fault::TakeAndHang) => Ok(Some(Reply::Silent)),
            Some(Fault::TakeAndCut) => Ok(Some(Reply::Cut)),
            Some(Fault::Cut) => Err(Reply::Cut),
            Some(Fault::Status(status)) => Err(Reply::json(status, &json!({}))),
            Some(Fault::TooFast(_)) => Err(too_fast),
        }
    }
}

impl Gateway {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.next
    }

    fn open(&self, request: &Request) -> Reply {
        let body = request.json();
        if body["clientId"] != CLIENT_ID || body["clientSecret"] != SECRET {
            return self.state().refuse(401, "authFailed", "the credentials are wrong");
        }
        let wanted = body["subscriptions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|it| it["type"] == "CALLBACK" && it["topic"] == TOPIC));
        if !wanted || !body["ua"].is_string() {
            return self.state().refuse(400, "param", "no subscription of the robot's messages");
        }
        let ticket = format!("ticket+{}", self.next());
        self.state().tickets.insert(ticket.clone());
        Reply::json(
            200,
            &json!({"endpoint": format!("{}/connect", self.urls.lock().unwrap().1), "ticket": ticket}),
        )
    }

    fn by_session(&self, request: &Request) -> Reply {
        let body = request.json();
        let mut state = self.state();
        let failed = |state: &mut State, code: u64, why: &str| {
            state.refusals.push(why.to_owned());
            Reply::json(200, &json!({"errcode": code, "errmsg": why}))
        };
        let after =
            match state.fault(Reply::json(200, &json!({"errcode": 130_101, "errmsg": "send too fast"}))) {
                Ok(after) => after,
                Err(reply) => return reply,
            };
        if !state.pace.is_kept(PER_SECOND) {
            return failed(&mut state, 130_101, "send too fast");
        }
        let session = request.query("session").unwrap_or_default();
        let event = state
            .deliveries
            .iter()
            .find(|it| it.frame["data"].as_str().unwrap().contains(&format!("session={session}\"")));
        let until = event.map(|it| serde_json::from_str::<Value>(it.frame["data"].as_str().unwrap()).unwrap()["sessionWebhookExpiredTime"].as_u64().unwrap());
        let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        if until.is_none_or(|until| until < now) {
            return failed(&mut state, 300_001, "session is not exists or has expired");
        }
        let kind = body["msgtype"].as_str().unwrap_or_default();
        let (text, title) = match kind {
            "text" => (&body["text"]["content"], &Value::Null),
            _ => (&body["markdown"]["text"], &body["markdown"]["title"]),
        };
        if let Some(why) = fault_of_text(text, (kind == "markdown").then_some(title)) {
            return failed(&mut state, 460_101, why);
        }
        state.said.push(Said {
            to: format!("webhook:{session}"),
            kind: kind.to_owned(),
            content: text.clone(),
        });
        after.unwrap_or_else(|| Reply::json(200, &json!({"errcode": 0, "errmsg": "ok"})))
    }

    fn by_api(&self, body: &Value, is_group: bool) -> Reply {
        let key = format!("query-{}", self.next());
        let mut state = self.state();
        let too_fast =
            Reply::json(403, &json!({"code": "Forbidden.AccessDenied.QpsLimitForApi", "message": "qps"}));
        let after = match state.fault(too_fast) {
            Ok(after) => after,
            Err(reply) => return reply,
        };
        let to = if is_group {
            body["openConversationId"].as_str().map(|id| format!("group:{id}"))
        } else {
            body["userIds"][0].as_str().map(|id| format!("user:{id}"))
        };
        let param: Value =
            body["msgParam"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let (Some(to), true) = (to, body["robotCode"] == CLIENT_ID) else {
            return state.refuse(400, "param", "nobody to send to");
        };
        let kind = body["msgKey"].as_str().unwrap_or_default();
        let why = match kind {
            "sampleMarkdown" => fault_of_text(&param["text"], Some(&param["title"])),
            "sampleFile" if param["fileName"].is_string() && param["fileType"].is_string() => {
                (!state.files.contains_key(param["mediaId"].as_str().unwrap_or_default()))
                    .then_some("no such file")
            }
            "sampleImageMsg" => (!state.files.contains_key(param["photoURL"].as_str().unwrap_or_default()))
                .then_some("no such picture"),
            _ => Some("an unknown kind of message"),
        };
        if let Some(why) = why {
            return state.refuse(400, "param", why);
        }
        state.said.push(Said { to, kind: kind.to_owned(), content: param });
        after.unwrap_or_else(|| {
            Reply::json(
                200,
                &json!({"processQueryKey": key, "invalidStaffIdList": [], "flowControlledStaffIdList": []}),
            )
        })
    }

    fn api(&self, request: &Request) -> Reply {
        let body = request.json();
        if request.path == "/v1.0/oauth2/accessToken" {
            if body["appKey"] != CLIENT_ID || body["appSecret"] != SECRET {
                return self.state().refuse(
                    400,
                    "invalidClientIdOrSecret",
                    "the client id or the secret is wrong",
                );
            }
            let token = format!("planted-token-{}", self.next());
            self.state().tokens.insert(token.clone());
            return Reply::json(200, &json!({"accessToken": token, "expireIn": 7200}));
        }
        if request.path == "/media/upload" {
            let is_known = self.state().tokens.contains(&request.query("access_token").unwrap_or_default());
            let part = request
                .parts()
                .into_iter()
                .find(|part| part.name == "media" && part.file.is_some() && !part.bytes.is_empty());
            let (true, Some(part)) = (is_known, part) else {
                return Reply::json(200, &json!({"errcode": 40_014, "errmsg": "no token, or no file"}));
            };
            let id = format!("@media{}", self.next());
            self.state().files.insert(id.clone(), (part.bytes, None));
            return Reply::json(200, &json!({"errcode": 0, "errmsg": "ok", "media_id": id, "type": "file"}));
        }
        if !self.state().tokens.contains(request.header("x-acs-dingtalk-access-token")) {
            return self.state().refuse(401, "InvalidAuthentication", "the token is unknown");
        }
        match request.path.as_str() {
            "/v1.0/robot/groupMessages/send" => self.by_api(&body, true),
            "/v1.0/robot/oToMessages/batchSend" => self.by_api(&body, false),
            "/v1.0/robot/messageFiles/download" => {
                let code = body["downloadCode"].as_str().unwrap_or_default();
                let url = format!("{}/files/{code}", self.urls.lock().unwrap().0);
                if self.state().files.contains_key(code) {
                    Reply::json(200, &json!({"downloadUrl": url}))
                } else {
                    Reply::json(400, &json!({"code": "unknown", "message": "no such file"}))
                }
            }
            _ => self.state().refuse(404, "notFound", "no such path"),
        }
    }
}

/// The rule that a text or its title breaks.
fn fault_of_text(text: &Value, title: Option<&Value>) -> Option<&'static str> {
    let text = text.as_str().unwrap_or_default();
    if text.trim().is_empty() || title.is_some_and(|title| title.as_str().is_none_or(str::is_empty)) {
        return Some("an empty text or title");
    }
    (text.len() > TEXT_MAX_BYTES).then_some("message too long, exceed 20000 bytes")
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
        match request.path.as_str() {
            "/v1.0/gateway/connections/open" => self.open(request),
            "/robot/sendBySession" => self.by_session(request),
            _ => self.api(request),
        }
    }

    fn upgrades(&self, request: &Request) -> bool {
        request.path == "/connect"
            && self.state().tickets.remove(&request.query("ticket").unwrap_or_default())
    }

    fn hold(&self, _: &Request, socket: Socket) {
        lines::talk(socket, self);
    }
}

impl Talk for Gateway {
    fn opened(&self, number: u64, line: &Line) {
        let mut state = self.state();
        state.opened += 1;
        state.lines.push((number, line.clone()));
    }

    fn received(&self, _: u64, _: &Line, message: Message) {
        let ack = lines::json(&message);
        assert!(
            ack["headers"]["contentType"] == "application/json"
                && ack["data"].is_string()
                && ack["message"].is_string(),
            "{ack}"
        );
        let mut state = self.state();
        let id = ack["headers"]["messageId"].as_str().unwrap();
        if id == "system" {
            state.pongs += 1;
        } else if ack["code"] == 200 {
            let number: usize = id.strip_prefix("frame_").unwrap().parse().unwrap();
            state.deliveries[number].is_done = true;
        }
    }

    fn ended(&self, number: u64) {
        self.state().lines.retain(|(known, _)| *known != number);
    }
}
