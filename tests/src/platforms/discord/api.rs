//! The methods of the API.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BOT, Fault, Inner, Message, TOKEN};
use crate::platforms::serve::{Reply, Request, Service, Socket};

/// Checks a message against Discord's rules.
///
/// # Errors
/// The rule that it breaks.
pub fn check_message(parameters: &Value) -> Result<(), String> {
    let content = parameters["content"].as_str().unwrap_or_default();
    if content.encode_utf16().count() > 2000 {
        return Err("Must be 2000 or fewer in length.".to_owned());
    }
    let is_shown = |c: char| {
        !c.is_whitespace() && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{2800}')
    };
    let is_none = |key: &str| parameters[key].as_array().is_none_or(Vec::is_empty);
    for embed in parameters["embeds"].as_array().into_iter().flatten() {
        check_embed(embed, &is_shown)?;
    }
    if !content.chars().any(is_shown) && is_none("attachments") && is_none("embeds") {
        return Err("Cannot send an empty message".to_owned());
    }
    if content.matches("```").count() % 2 == 1 {
        return Err("a block of code that is not closed".to_owned());
    }
    if parameters["nonce"].as_str().is_some_and(|nonce| nonce.len() > 25) {
        return Err("nonce: Must be 25 or fewer in length.".to_owned());
    }
    let rows = parameters["components"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.len() > 5 {
        return Err("components: Must be between 1 and 5 in length.".to_owned());
    }
    for row in rows {
        let buttons = row["components"]
            .as_array()
            .filter(|buttons| row["type"] == 1 && (1..=5).contains(&buttons.len()));
        for button in buttons.ok_or("components: no row of 1 to 5 buttons")? {
            let length = |key: &str| button[key].as_str().map_or(0, |text| text.trim().chars().count());
            if button["type"] != 2
                || !(1..=80).contains(&length("label"))
                || !(1..=100).contains(&length("custom_id"))
            {
                return Err(format!("components: {button}"));
            }
        }
    }
    Ok(())
}

/// Checks an embed. Discord allows 10 embeds in a message; messages of the server have one.
fn check_embed(embed: &Value, is_shown: &dyn Fn(char) -> bool) -> Result<(), String> {
    let mut all = 0;
    let mut sized = |value: &Value, max: usize, what: &str| {
        let text = value.as_str().unwrap_or_default();
        let length = text.encode_utf16().count();
        all += length;
        match length <= max && text.chars().any(is_shown) && text.matches("```").count().is_multiple_of(2) {
            true => Ok(()),
            false => Err(format!("embeds: {what} must be between 1 and {max} in length: {text:?}")),
        }
    };
    if !embed["title"].is_null() {
        sized(&embed["title"], 256, "title")?;
    }
    if !embed["description"].is_null() {
        sized(&embed["description"], 4096, "description")?;
    }
    let fields = embed["fields"].as_array().map_or(&[][..], Vec::as_slice);
    for field in fields {
        sized(&field["name"], 256, "the name of a field")?;
        sized(&field["value"], 1024, "the value of a field")?;
    }
    let is_good = fields.len() <= 25 && all <= 6000 && all > 0;
    if !is_good || embed["color"].as_u64().is_some_and(|colour| colour > 0xff_ff_ff) {
        return Err(format!("embeds: {} fields, {all} characters", fields.len()));
    }
    Ok(())
}

fn error(status: u16, code: u64, message: &str) -> Reply {
    Reply::json(status, &json!({"code": code, "message": message}))
}

fn too_fast(seconds: Option<f64>) -> Reply {
    let mut body = json!({"message": "You are being rate limited.", "global": false});
    if let Some(seconds) = seconds {
        body["retry_after"] = json!(seconds);
    }
    let reply = Reply::json(429, &body).with("x-ratelimit-scope", "user");
    seconds.map_or(reply.clone(), |seconds| reply.with("retry-after", &format!("{}", seconds.ceil())))
}

impl Service for Inner {
    fn answer(&self, request: &Request) -> Reply {
        let path = request.path.as_str();
        if path.starts_with("/attachments/") {
            let state = self.state();
            return match (state.files.get(path), state.moved.get(path)) {
                (Some(bytes), _) => Reply::Is(200, Vec::new(), bytes.clone()),
                (None, Some(to)) => Reply::moved(to),
                (None, None) => Reply::Is(404, Vec::new(), Vec::new()),
            };
        }
        let Some(path) = path.strip_prefix("/api/v10/") else { return error(404, 0, "404: Not Found") };
        if !request.header("user-agent").starts_with("DiscordBot (") {
            return Reply::Is(403, Vec::new(), b"<html>blocked</html>".to_vec());
        }
        let parts: Vec<&str> = path.split('/').collect();
        // The requests for which the token of a press suffices.
        match parts[..] {
            ["interactions", id, _, "callback"] => {
                self.state().callbacks.push((id.to_owned(), request.json()));
                return Reply::Is(204, Vec::new(), Vec::new());
            }
            ["webhooks", BOT, token] if token.starts_with("press-") => {
                self.state().followups.push(request.json());
                return Reply::json(200, &json!({"id": "1"}));
            }
            ["webhooks", ..] => return error(404, 10_015, "Unknown Webhook"),
            _ => {}
        }
        if request.header("authorization") != format!("Bot {TOKEN}") || self.state().is_revoked {
            return error(401, 0, "401: Unauthorized");
        }
        match parts[..] {
            ["users", "@me"] => Reply::json(200, &json!({"id": BOT, "username": "sand", "bot": true})),
            ["gateway", "bot"] => {
                let limit = json!({"total": 1000, "remaining": self.state().remaining, "reset_after": 60_000, "max_concurrency": 1});
                Reply::json(200, &json!({"url": self.ws_url(), "shards": 1, "session_start_limit": limit}))
            }
            ["channels", channel, "messages"] if request.method == "GET" => self.history(channel, request),
            ["channels", channel, "messages"] if request.method == "POST" => self.post(channel, request),
            ["channels", channel, "messages", id] if request.method == "PATCH" => {
                self.edit(channel, id, &request.json())
            }
            _ => error(404, 0, "404: Not Found"),
        }
    }

    fn upgrades(&self, request: &Request) -> bool {
        request.query("v").as_deref() == Some("10") && request.query("encoding").as_deref() == Some("json")
    }

    fn hold(&self, _: &Request, socket: Socket) {
        self.serve_socket(socket);
    }
}

impl Inner {
    fn post(&self, channel: &str, request: &Request) -> Reply {
        let mut state = self.state();
        let at =
            state.faults.iter().position(|(place, _)| place.as_ref().is_none_or(|place| place == channel));
        let fault = at.map(|at| state.faults.remove(at).1);
        match fault {
            Some(Fault::TooFast(seconds)) => return too_fast(seconds),
            Some(Fault::Cut) => return Reply::Cut,
            Some(Fault::Error(status, code, message)) => return error(status, code, message),
            Some(Fault::DoneAndCut | Fault::DoneAndSilent) | None => {}
        }
        let mut file = None;
        let mut parameters = request.json();
        for part in request.parts() {
            match part.file {
                Some(name) => file = Some((name, part.bytes)),
                None if part.name == "payload_json" => {
                    parameters = serde_json::from_slice(&part.bytes).unwrap_or_default()
                }
                None => {}
            }
        }
        if !channel.chars().all(|c| c.is_ascii_digit()) {
            return error(404, 10_003, "Unknown Channel");
        }
        if let Err(why) = check_message(&parameters) {
            state.refused.push(why.clone());
            return error(400, 50_035, &format!("Invalid Form Body: {why}"));
        }
        let now = Instant::now();
        let is_unhurried = state.is_unhurried;
        let times = state.times.entry(channel.to_owned()).or_default();
        times.retain(|sent| now.duration_since(*sent) < Duration::from_secs(5));
        if times.len() >= 5 && !is_unhurried {
            let wait = Duration::from_secs(5) - now.duration_since(times[0]);
            return too_fast(Some(wait.as_secs_f64()));
        }
        times.push_back(now);
        let nonce = parameters["nonce"].as_str().unwrap_or_default().to_owned();
        let key = (channel.to_owned(), nonce.clone());
        let known = state.nonces.get(&key).filter(|_| parameters["enforce_nonce"] == json!(true)).cloned();
        let id = known.clone().unwrap_or_else(|| state.id());
        if known.is_none() {
            state.messages.push(Message {
                channel: channel.to_owned(),
                id: id.clone(),
                parameters: parameters.clone(),
                file,
            });
            if !nonce.is_empty() {
                state.nonces.insert(key, id.clone());
            }
        }
        match fault {
            Some(Fault::DoneAndCut) => return Reply::Cut,
            Some(Fault::DoneAndSilent) => return Reply::Silent,
            _ => {}
        }
        Reply::json(
            200,
            &json!({"id": id, "channel_id": channel, "content": parameters["content"], "type": 0, "nonce": nonce}),
        )
    }

    /// Messages after one, the newest first.
    fn history(&self, channel: &str, request: &Request) -> Reply {
        let number = |name: &str| request.query(name).and_then(|value| value.parse::<u64>().ok());
        let after = number("after").unwrap_or(0);
        let limit = usize::try_from(number("limit").unwrap_or(50).clamp(1, 100)).unwrap_or(50);
        let state = self.state();
        let id = |message: &Value| message["id"].as_str().and_then(|id| id.parse::<u64>().ok()).unwrap_or(0);
        let later = state
            .history
            .iter()
            .filter(|message| message["channel_id"] == json!(channel) && id(message) > after);
        let mut page: Vec<Value> = later.take(limit).cloned().collect();
        page.reverse();
        Reply::json(200, &json!(page))
    }

    fn edit(&self, channel: &str, id: &str, parameters: &Value) -> Reply {
        if let Err(why) = check_message(parameters) {
            return error(400, 50_035, &format!("Invalid Form Body: {why}"));
        }
        let mut state = self.state();
        let known = state.messages.iter_mut().find(|message| message.channel == channel && message.id == id);
        let Some(message) = known else { return error(404, 10_008, "Unknown Message") };
        for (name, value) in parameters.as_object().into_iter().flatten() {
            message.parameters[name.as_str()] = value.clone();
        }
        Reply::json(
            200,
            &json!({"id": id, "channel_id": channel, "content": parameters["content"], "type": 0}),
        )
    }
}
