//! The methods of the Web API.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{APP_TOKEN, BOT, BOT_TOKEN, Fault, Inner, Message, check_message};
use crate::platforms::serve::{Reply, Request, Service, Socket};

fn done(mut result: Value) -> Reply {
    result["ok"] = json!(true);
    Reply::json(200, &result)
}

fn error(error: &str) -> Reply {
    Reply::json(200, &json!({"ok": false, "error": error}))
}

fn too_fast(seconds: Option<u64>) -> Reply {
    let reply = Reply::json(429, &json!({"ok": false, "error": "ratelimited"}));
    seconds.map_or(reply.clone(), |seconds| reply.with("retry-after", &seconds.to_string()))
}

/// The arguments of a call, as JSON or as a form.
fn arguments(request: &Request) -> Value {
    if request.header("content-type").starts_with("application/json") {
        return request.json();
    }
    // Lists are JSON in a form.
    let is_list = |name: &str| matches!(name, "blocks" | "files");
    let fields = request.form().into_iter().map(|(name, value)| {
        let list = if is_list(&name) { serde_json::from_str(&value).ok() } else { None };
        (name, list.unwrap_or(Value::String(value)))
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

impl Service for Inner {
    fn answer(&self, request: &Request) -> Reply {
        if let Some(reply) = self.other(request) {
            return reply;
        }
        let Some(method) = request.path.strip_prefix("/api/") else {
            return Reply::Is(404, Vec::new(), Vec::new());
        };
        let arguments = arguments(request);
        let given = request.header("authorization").strip_prefix("Bearer ").map(str::to_owned);
        let given = given.or_else(|| arguments["token"].as_str().map(str::to_owned)).unwrap_or_default();
        let expected = if method == "apps.connections.open" { APP_TOKEN } else { BOT_TOKEN };
        if given != expected || self.state().is_revoked {
            return error("invalid_auth");
        }
        let fault = self.state().faults.get_mut(method).and_then(std::collections::VecDeque::pop_front);
        match fault {
            Some(Fault::TooFast(seconds)) => return too_fast(seconds),
            Some(Fault::Cut) => return Reply::Cut,
            Some(Fault::Error(why)) => return error(why),
            Some(Fault::DoneAndCut | Fault::DoneAndSilent) | None => {}
        }
        let reply = self.call(method, &arguments);
        if let Reply::Is(_, _, body) = &reply
            && body.windows(10).any(|window| window == b"\"ok\":false")
        {
            self.state().refused.push(format!("{method}: {}", String::from_utf8_lossy(body)));
        }
        match fault {
            Some(Fault::DoneAndSilent) => Reply::Silent,
            Some(_) => Reply::Cut,
            None => reply,
        }
    }

    fn upgrades(&self, request: &Request) -> bool {
        self.accepts(request)
    }

    fn hold(&self, _: &Request, socket: Socket) {
        self.serve_socket(socket);
    }
}

impl Inner {
    /// Answers requests that are not method calls: uploads, files, and answers to presses.
    fn other(&self, request: &Request) -> Option<Reply> {
        let mut state = self.state();
        let path = request.path.as_str();
        if let Some(id) = path.strip_prefix("/upload/") {
            let file = state.uploads.get_mut(id)?;
            // The body is the file itself, or a form that contains the file.
            let sent = request.parts().into_iter().find(|part| part.file.is_some());
            let sent = sent.map_or_else(|| request.body.clone(), |part| part.bytes);
            if file.len() != sent.len() {
                return Some(Reply::Is(400, Vec::new(), b"another length was announced".to_vec()));
            }
            *file = sent;
            return Some(Reply::Is(200, Vec::new(), b"OK".to_vec()));
        }
        if path.starts_with("/response/") {
            state.answers.push(request.json());
            return Some(Reply::Is(200, Vec::new(), b"ok".to_vec()));
        }
        if let Some(to) = state.moved.get(path) {
            return Some(Reply::moved(to));
        }
        let (_, bytes) = state.offered.get(path)?;
        // Without a token Slack returns its login page, with status 200.
        let is_known = request.header("authorization") == format!("Bearer {BOT_TOKEN}");
        let page = b"<!DOCTYPE html><title>Sign in</title>".to_vec();
        Some(Reply::Is(200, Vec::new(), if is_known { bytes.clone() } else { page }))
    }

    fn call(&self, method: &str, arguments: &Value) -> Reply {
        let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
        match method {
            "auth.test" => done(
                json!({"url": "https://t.slack.com/", "team": "Team", "user": "sand", "team_id": "T1", "user_id": BOT, "bot_id": "BB0T"}),
            ),
            "apps.connections.open" => {
                let mut state = self.state();
                if state.is_off {
                    return error("socket_mode_not_enabled");
                }
                let ticket = format!("ticket-{}", state.unique());
                state.tickets.insert(ticket.clone());
                drop(state);
                done(
                    json!({"url": format!("{}/link/?ticket={ticket}&app_id=A111", self.url().replace("http", "ws"))}),
                )
            }
            "users.info" => {
                let user = text("user");
                done(
                    json!({"user": {"id": user, "name": "ann", "real_name": "Ann", "profile": {"display_name": format!("Ann\u{202e} {user}")}}}),
                )
            }
            "chat.postMessage" | "chat.update" => self.post(method, arguments),
            "files.getUploadURLExternal" => {
                let Ok(length) = text("length").parse::<usize>() else { return error("invalid_arguments") };
                if length == 0 || text("filename").is_empty() {
                    return error("invalid_arguments");
                }
                let mut state = self.state();
                let id = format!("F{}", state.unique());
                state.uploads.insert(id.clone(), vec![0; length]);
                drop(state);
                done(json!({"upload_url": format!("{}/upload/{id}", self.url()), "file_id": id}))
            }
            "files.completeUploadExternal" => {
                let mut state = self.state();
                for file in arguments["files"].as_array().into_iter().flatten() {
                    let id = file["id"].as_str().unwrap_or_default();
                    let Some(bytes) = state.uploads.remove(id) else { return error("file_not_found") };
                    let title = file["title"].as_str().unwrap_or_default().to_owned();
                    state.files.push((text("channel_id"), title, bytes));
                }
                done(json!({"files": arguments["files"]}))
            }
            _ => error("unknown_method"),
        }
    }

    fn post(&self, method: &str, arguments: &Value) -> Reply {
        let mut state = self.state();
        let channel = arguments["channel"].as_str().unwrap_or_default().to_owned();
        if !channel.starts_with(['C', 'D', 'G']) {
            return error("channel_not_found");
        }
        if let Err(why) = check_message(arguments) {
            return error(&format!("invalid_blocks: {why}"));
        }
        let now = Instant::now();
        if method == "chat.postMessage" && !state.is_unhurried {
            let last = state.times.insert(channel.clone(), now);
            if last.is_some_and(|last| now.duration_since(last) < Duration::from_secs(1)) {
                return too_fast(Some(1));
            }
        }
        if method == "chat.update" {
            let known = state
                .messages
                .iter_mut()
                .find(|message| message.channel == channel && arguments["ts"] == json!(message.ts));
            let Some(message) = known else { return error("message_not_found") };
            message.parameters = arguments.clone();
            return done(json!({"channel": channel, "ts": message.ts, "text": arguments["text"]}));
        }
        let ts = format!("1780000001.{:06}", state.unique());
        state.messages.push(Message {
            channel: channel.clone(),
            ts: ts.clone(),
            parameters: arguments.clone(),
        });
        done(
            json!({"channel": channel, "ts": ts, "message": {"type": "message", "text": arguments["text"], "ts": ts, "bot_id": "BB0T"}}),
        )
    }
}
