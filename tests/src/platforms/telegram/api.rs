//! The methods of the API.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{BOT, Fault, File, Inner, Message, State, TOKEN, USERNAME, check_message};
use crate::platforms::serve::{Reply, Request, Service};

/// A longer poll is shortened, since tests cannot wait a minute.
const POLL_MAX: Duration = Duration::from_secs(30);

pub(super) fn me() -> Value {
    json!({"id": BOT, "is_bot": true, "first_name": "Sand", "username": USERNAME, "can_join_groups": true,
        "can_read_all_group_messages": false, "supports_inline_queries": false})
}

fn refusal(code: u16, description: &str, parameters: &Value) -> Reply {
    let mut body = json!({"ok": false, "error_code": code, "description": description});
    if !parameters.is_null() {
        body["parameters"] = parameters.clone();
    }
    Reply::json(code, &body)
}

fn bad(description: &str) -> Reply {
    refusal(400, &format!("Bad Request: {description}"), &Value::Null)
}

fn done(result: &Value) -> Reply {
    Reply::json(200, &json!({"ok": true, "result": result}))
}

impl Service for Inner {
    fn answer(&self, request: &Request) -> Reply {
        let path = request.path.as_str();
        if let Some(path) = path.strip_prefix(&format!("/file/bot{TOKEN}/")) {
            return match self.state().files.get(path) {
                Some(File::Is(bytes)) => Reply::Is(200, Vec::new(), bytes.clone()),
                Some(File::Lying(length, bytes)) => Reply::Lying(*length, bytes.clone()),
                Some(File::Moved(to)) => Reply::moved(to),
                None => Reply::Is(404, Vec::new(), Vec::new()),
            };
        }
        let Some(method) = path.strip_prefix(&format!("/bot{TOKEN}/")) else {
            let is_token = path.starts_with("/bot") && path.contains(':');
            return if is_token {
                refusal(401, "Unauthorized", &Value::Null)
            } else {
                refusal(404, "Not Found", &Value::Null)
            };
        };
        if self.state().is_revoked {
            return refusal(401, "Unauthorized", &Value::Null);
        }
        let fault = self.state().faults.get_mut(method).and_then(VecDeque::pop_front);
        match fault {
            Some(Fault::TooFast(seconds)) => {
                let parameters = seconds.map_or(Value::Null, |seconds| json!({"retry_after": seconds}));
                return refusal(429, "Too Many Requests: retry later", &parameters);
            }
            Some(Fault::Cut) => return Reply::Cut,
            Some(Fault::Silent) => return Reply::Silent,
            Some(Fault::Gateway(status)) => {
                return Reply::Is(status, Vec::new(), b"<html>Bad Gateway</html>".to_vec());
            }
            Some(Fault::DoneAndCut | Fault::DoneAndSilent) | None => {}
        }
        let reply = self.call(method, request);
        if let Reply::Is(400.., _, body) = &reply {
            self.state().refused.push(format!("{method}: {}", String::from_utf8_lossy(body)));
        }
        match fault {
            Some(Fault::DoneAndCut) => Reply::Cut,
            Some(Fault::DoneAndSilent) => Reply::Silent,
            _ => reply,
        }
    }
}

/// The parameters of a request, in any of the forms that the API takes, and its file.
fn parameters(request: &Request) -> (Value, Option<(String, Vec<u8>)>) {
    let kind = request.header("content-type");
    if kind.starts_with("application/json") {
        return (request.json(), None);
    }
    let mut all = Map::new();
    let mut file = None;
    let mut put = |name: String, value: String| {
        // Objects and numbers arrive as texts there; a message's text stays one.
        let parsed =
            serde_json::from_str(&value).ok().filter(|_| !matches!(name.as_str(), "text" | "caption"));
        all.insert(name, parsed.unwrap_or(Value::String(value)));
    };
    if kind.starts_with("multipart/") {
        for part in request.parts() {
            match part.file {
                Some(name) => file = Some((name, part.bytes)),
                None => put(part.name, String::from_utf8_lossy(&part.bytes).into_owned()),
            }
        }
    } else {
        request.form().into_iter().for_each(|(name, value)| put(name, value));
    }
    (Value::Object(all), file)
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

impl Inner {
    fn call(&self, method: &str, request: &Request) -> Reply {
        let (parameters, file) = parameters(request);
        match method {
            "getMe" => done(&me()),
            "deleteWebhook" => {
                let mut state = self.state();
                (state.has_webhook, state.webhook) = (false, None);
                done(&json!(true))
            }
            "setWebhook" => {
                let text = |key: &str| parameters[key].as_str().unwrap_or_default().to_owned();
                let (url, secret) = (text("url"), text("secret_token"));
                let is_secret = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if secret.len() > 256 || !secret.chars().all(is_secret) {
                    return bad("secret token contains unallowed characters");
                }
                // Telegram itself takes https only; a self-hosted Bot API server takes http too.
                if !url.starts_with("http") {
                    return bad("bad webhook: An HTTPS URL must be provided for webhook");
                }
                let mut state = self.state();
                (state.has_webhook, state.webhook) = (true, Some((url, secret)));
                done(&json!(true))
            }
            "getWebhookInfo" => {
                let state = self.state();
                let url = state.webhook.as_ref().map_or("", |(url, _)| url.as_str());
                done(
                    &json!({"url": url, "has_custom_certificate": false, "pending_update_count": state.queue.len()}),
                )
            }
            "getUpdates" => self.poll(&parameters),
            "sendMessage" | "sendPhoto" | "sendDocument" => self.send(method, parameters, file),
            "editMessageText" => self.edit(parameters),
            "answerCallbackQuery" => {
                let text = |key: &str| parameters[key].as_str().unwrap_or_default().to_owned();
                if text("text").chars().count() > 200 {
                    return bad("MESSAGE_TOO_LONG");
                }
                self.state().answered.push((text("callback_query_id"), text("text")));
                done(&json!(true))
            }
            "getFile" => {
                let id = parameters["file_id"].as_str().unwrap_or_default();
                if !self.state().files.contains_key(id) {
                    return bad("wrong file_id or the file is temporarily unavailable");
                }
                done(&json!({"file_id": id, "file_unique_id": id, "file_size": 3, "file_path": id}))
            }
            _ => refusal(404, "Not Found: method not found", &Value::Null),
        }
    }

    fn poll(&self, parameters: &Value) -> Reply {
        let mut state = self.state();
        if state.has_webhook {
            return refusal(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
                &Value::Null,
            );
        }
        state.polls += 1;
        state.poll += 1;
        let poll = state.poll;
        self.changed.notify_all();
        if let Some(offset) = number(&parameters["offset"]).filter(|offset| *offset > 0) {
            // The queue up to there; everything with a lower id, if there is no such update: ids may go down.
            match state.queue.iter().position(|update| update["update_id"] == json!(offset - 1)) {
                Some(at) => drop(state.queue.drain(..=at)),
                None => state.queue.retain(|update| update["update_id"].as_i64() >= Some(offset)),
            }
        }
        let timeout =
            Duration::from_secs(number(&parameters["timeout"]).unwrap_or(0).unsigned_abs()).min(POLL_MAX);
        let limit = number(&parameters["limit"]).map_or(100, |limit| limit.clamp(1, 100)).unsigned_abs();
        let until = Instant::now() + timeout;
        loop {
            if state.poll != poll {
                return refusal(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                    &Value::Null,
                );
            }
            let left = until.saturating_duration_since(Instant::now());
            if !state.queue.is_empty() || left.is_zero() {
                let limit = usize::try_from(limit).unwrap();
                let updates: Vec<Value> = state.queue.iter().take(limit).cloned().collect();
                state.delivered += updates.len();
                return done(&json!(updates));
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A refusal, if a chat cannot be written to now.
    fn chat(state: &mut State, parameters: &Value) -> Result<i64, Reply> {
        let Some(chat) = number(&parameters["chat_id"]) else { return Err(bad("chat_id is empty")) };
        if let Some(to) = state.moved.get(&chat) {
            let moved = json!({"migrate_to_chat_id": to});
            return Err(refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", &moved));
        }
        if let Some(why) = state.deleted_chats.get(&chat) {
            return Err(refusal(if why.starts_with("Forbidden") { 403 } else { 400 }, why, &Value::Null));
        }
        if state.is_unhurried {
            return Ok(chat);
        }
        let now = Instant::now();
        let mut wait = Duration::ZERO;
        for (key, count, window) in
            [(chat, 1, 1), (i64::MIN, 30, 1), (if chat < 0 { i64::MAX - chat.abs() } else { 0 }, 20, 60)]
        {
            let window = Duration::from_secs(window);
            let times = state.times.entry(key).or_default();
            times.retain(|sent| now.duration_since(*sent) < window);
            if key != 0 && times.len() >= count {
                wait = wait.max(window - now.duration_since(times[0]));
            }
            times.push_back(now);
        }
        if wait.is_zero() {
            return Ok(chat);
        }
        let seconds = wait.as_secs() + 1;
        Err(refusal(
            429,
            &format!("Too Many Requests: retry after {seconds}"),
            &json!({"retry_after": seconds}),
        ))
    }

    fn send(&self, method: &str, parameters: Value, file: Option<(String, Vec<u8>)>) -> Reply {
        let mut state = self.state();
        let chat = match Self::chat(&mut state, &parameters) {
            Ok(chat) => chat,
            Err(reply) => return reply,
        };
        let checked = match (method, &file) {
            ("sendMessage", _) => check_message(&parameters),
            (_, None) => Err("there is no file in the request".to_owned()),
            ("sendPhoto", Some((_, bytes))) if !is_picture(bytes) => Err("IMAGE_PROCESS_FAILED".to_owned()),
            _ => Ok(()),
        };
        if let Err(why) = checked {
            return bad(&why);
        }
        state.next_message += 1;
        let (id, method) = (state.next_message, method.to_owned());
        let message = Message { method, id, chat, parameters, edits: 0, file };
        let shown = shown(&message);
        state.messages.push(message);
        self.changed.notify_all();
        done(&shown)
    }

    fn edit(&self, parameters: Value) -> Reply {
        let mut state = self.state();
        let chat = match Self::chat(&mut state, &parameters) {
            Ok(chat) => chat,
            Err(reply) => return reply,
        };
        if let Err(why) = check_message(&parameters) {
            return bad(&why);
        }
        let id = number(&parameters["message_id"]);
        let Some(message) =
            state.messages.iter_mut().find(|known| known.chat == chat && Some(known.id) == id)
        else {
            return bad("message to edit not found");
        };
        let same = |key: &str| message.parameters[key] == parameters[key];
        if same("text") && same("entities") && same("reply_markup") {
            return bad(
                "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
            );
        }
        message.parameters = parameters;
        message.edits += 1;
        done(&shown(message))
    }
}

fn is_picture(bytes: &[u8]) -> bool {
    [&b"\x89PNG\r\n"[..], b"\xff\xd8\xff", b"GIF8", b"RIFF"].iter().any(|magic| bytes.starts_with(magic))
}

/// A message as the API returns it.
fn shown(message: &Message) -> Value {
    let kind = if message.chat < 0 { "supergroup" } else { "private" };
    let mut shown = json!({"message_id": message.id, "date": 1_780_000_000, "from": me(), "chat": {"id": message.chat, "type": kind, "title": "G"}});
    let file = |name: &str| json!({"file_id": "sent", "file_unique_id": "sent", "file_name": name});
    match (&*message.method, &message.file) {
        ("sendPhoto", _) => {
            shown["photo"] = json!([{"file_id": "sent", "file_unique_id": "sent", "width": 1, "height": 1}])
        }
        (_, Some((name, _))) => shown["document"] = file(name),
        _ => {
            shown["text"] = message.parameters["text"].clone();
            shown["entities"] = message.parameters.get("entities").cloned().unwrap_or(json!([]));
        }
    }
    shown
}
