//! Telegram: the Bot API, with long polling or with deliveries by webhook.
//!
//! ```text
//!   getUpdates(offset) ─▶ updates ─▶ Inbox::take ─▶ getUpdates(offset = max + 1): Telegram forgets them
//! ```
//! An offset is sent only while it confirms something: after a week without updates, Telegram continues from a random id, which may be lower. Texts
//! are sent with `entities`, so that nothing needs to be escaped. The token is a part of every address.

mod render;
mod updates;
mod webhook;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::event::{Conversation, Media};
use crate::http::{Body, Http, Multipart, too_fast};
use crate::limits::{REQUEST_TIMEOUT, TRANSFER_TIMEOUT};
use crate::pace::{Limit, Pace};
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::styled::Styled;
use updates::Us;

/// The longest text of a message, in code units of UTF-16 (Bot API: 4,096 characters after entities).
const TEXT_MAX: usize = 4096;
/// How long Telegram holds a poll while there is nothing new, in seconds.
const POLL_S: u64 = 25;
/// The maximum number of updates in one poll; with the messages that they reply to, they stay below the size limit of a response.
const UPDATES_MAX: usize = 25;
/// How long this server waits for the response to a poll; after that, the connection counts as dead.
const POLL_PATIENCE: Duration = Duration::from_secs(POLL_S + 15);
/// The pause after another program polled with the same token, in milliseconds: it may be an earlier server process that is about to end.
const CONFLICT_PAUSE_MS: u64 = 10_000;
/// The age at which a cursor is no longer used: after a week without updates, their ids continue at another number.
const CURSOR_MAX_AGE: Duration = Duration::from_secs(6 * 24 * 3600);
/// The largest file that a bot may send, in bytes.
const FILE_MAX_BYTES: u64 = 50 << 20;
/// The largest file that is sent as a picture, in bytes.
const PHOTO_MAX_BYTES: usize = 10 << 20;
/// The longest notice shown in response to a press, in characters.
const NOTICE_MAX_CHARS: usize = 200;
/// The longest file name, in characters; Telegram's own limits are far higher.
const FILE_NAME_MAX_CHARS: usize = 60;

// The next three limits are those of the Bot API's FAQ, with a margin for the time that requests take to reach Telegram.
/// At most one message a second in a chat.
const PER_CHAT: Limit = Limit { count: 1, window: Duration::from_millis(1050) };
/// At most 20 messages a minute in a group.
const PER_GROUP: Limit = Limit { count: 20, window: Duration::from_secs(62) };
/// At most 30 messages a second in total.
const PER_BOT: Limit = Limit { count: 28, window: Duration::from_secs(1) };

/// The kinds of updates that the server requests.
const UPDATES_WANTED: [&str; 4] = ["message", "edited_message", "callback_query", "my_chat_member"];

const SETUP: &[Setup] = &[
    Setup {
        key: "token",
        label: "Bot token",
        help: "In Telegram, write /newbot to @BotFather and copy the token. For groups, also send /setprivacy and choose Disable only if the bot is to read messages that do not mention it.",
        is_secret: true,
        default: None,
    },
    Setup {
        key: "api",
        label: "Address of the Bot API",
        help: "Leave it as it is, unless you run your own Bot API server.",
        is_secret: false,
        default: Some("https://api.telegram.org"),
    },
    Setup {
        key: "deliveries",
        label: "Address for deliveries",
        help: "Leave it empty, and the server asks Telegram for messages. If Telegram is to deliver them: save the account once, then enter the address for deliveries that it shows, and the token again. Telegram needs an https address that it can reach.",
        is_secret: false,
        default: Some(""),
    },
];

/// Telegram as a kind of platform.
pub(crate) const KIND: Kind = Kind { name: "telegram", title: "Telegram", setup: SETUP, make };

fn make(values: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let token = setting(SETUP, values, "token")?;
    let is_token = |(id, secret): (&str, &str)| {
        let of_secret = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !id.is_empty()
            && id.chars().all(|c| c.is_ascii_digit())
            && secret.len() >= 20
            && secret.chars().all(of_secret)
    };
    if !token.split_once(':').is_some_and(is_token) {
        return Err("the bot token has the form 123456789:AAA…, as @BotFather shows it".to_owned());
    }
    let http = Http::new(reach, &[&token])?;
    let api = http.base(&setting(SETUP, values, "api")?)?;
    let deliveries = webhook::address(&http, &setting(SETUP, values, "deliveries")?)?;
    let delivery_secret = webhook::secret(&token);
    http.learn(&delivery_secret);
    let (us, pace) = (Mutex::default(), Pace::default());
    Ok(Arc::new(Telegram { http, api, token, deliveries, delivery_secret, us, pace }))
}

/// An account on Telegram, which is one bot.
struct Telegram {
    http: Http,
    api: String,
    token: String,
    /// The address to which Telegram delivers; `None` if Telegram is polled.
    deliveries: Option<String>,
    /// The secret that deliveries contain.
    delivery_secret: String,
    /// The identity of the bot, once Telegram has reported it.
    us: Mutex<Option<Arc<Us>>>,
    pace: Pace,
}

impl Telegram {
    /// Calls a method; returns its result, or the failure.
    async fn call(&self, method: &str, body: Body, patience: Duration) -> Result<Value, Failure> {
        let url = format!("{}/bot{}/{method}", self.api, self.token);
        let answer = self.http.call_within(Method::POST, &url, &[], body, patience).await?;
        let mut document = answer.json();
        if document["ok"] == json!(true) {
            return Ok(document["result"].take());
        }
        let Some(code) = document["error_code"].as_u64() else {
            // A gateway in between responded; it may have passed the request on.
            return Err(match answer.status {
                429 => answer.too_fast(),
                400..500 => Failure::Away(format!("status {}", answer.status)),
                status => Failure::Unknown(format!("status {status}")),
            });
        };
        let why = self.http.reason(document["description"].as_str().unwrap_or_default());
        Err(match code {
            401 | 404 => Failure::Account(why),
            403 => Failure::Closed(why),
            429 => too_fast(document["parameters"]["retry_after"].as_f64()),
            500.. => Failure::Away(why),
            _ => match document["parameters"]["migrate_to_chat_id"].as_i64() {
                Some(to) => Failure::Closed(format!("{MOVED}{to}")),
                None if is_closed(&why) => Failure::Closed(why),
                None if why.contains("query is too old") => Failure::Expired,
                None => Failure::Message(why),
            },
        })
    }

    async fn ask(&self, method: &str, body: Value) -> Result<Value, Failure> {
        self.call(method, Body::Json(body), REQUEST_TIMEOUT).await
    }

    /// Asks Telegram for the identity of the bot, and stores it.
    async fn us(&self) -> Result<Arc<Us>, Failure> {
        let us = Arc::new(Us::read(&self.ask("getMe", json!({})).await?)?);
        *self.us.lock().unwrap_or_else(PoisonError::into_inner) = Some(us.clone());
        Ok(us)
    }

    /// The identity of the bot, if Telegram has reported it already.
    fn known_us(&self) -> Option<Arc<Us>> {
        self.us.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends to a conversation; if the group has a new id, tries once more with that id.
    async fn send_to(
        &self,
        to: &Conversation,
        method: &str,
        body: impl Fn(&str, Option<i64>) -> Body,
    ) -> Result<Sent, Failure> {
        self.paced(to)?;
        let (chat, thread) = parted(&to.id)?;
        let patience = if method == "sendMessage" { REQUEST_TIMEOUT } else { TRANSFER_TIMEOUT };
        let sent = match self.call(method, body(chat, thread), patience).await {
            Err(Failure::Closed(why)) if why.starts_with(MOVED) => {
                self.call(method, body(&why[MOVED.len()..], thread), patience).await?
            }
            other => other?,
        };
        let id = sent["message_id"]
            .as_i64()
            .ok_or_else(|| Failure::Unknown("the response contains no message id".to_owned()))?;
        Ok(Sent { id: id.to_string() })
    }

    fn paced(&self, to: &Conversation) -> Result<(), Failure> {
        let group = format!("group {}", to.id);
        let limits = [(to.id.as_str(), PER_CHAT), ("", PER_BOT), (&group, PER_GROUP)];
        self.pace.take(&limits[..if to.is_group { 3 } else { 2 }])
    }

    async fn poll(&self, inbox: &dyn Inbox, us: &Us) -> End {
        let mut offset = inbox.cursor().await.and_then(|cursor| offset(&cursor));
        loop {
            let asked = json!({
                "offset": offset, "timeout": POLL_S, "limit": UPDATES_MAX,
                "allowed_updates": UPDATES_WANTED,
            });
            let updates = match self.call("getUpdates", Body::Json(asked), POLL_PATIENCE).await {
                Ok(updates) => updates,
                Err(Failure::Message(why)) if why.contains("webhook") => {
                    return match self.ends_own_deliveries().await {
                        Ok(true) => {
                            End::Lost("deliveries were ended; Telegram is polled from now on".to_owned())
                        }
                        Ok(false) => self.ended(Failure::Message(why)),
                        Err(failure) => self.ended(failure),
                    };
                }
                Err(failure) => return self.ended(failure),
            };
            inbox.alive();
            let updates = updates.as_array().map_or(&[][..], Vec::as_slice);
            let Some(last) = updates.iter().filter_map(|update| update["update_id"].as_i64()).max() else {
                offset = None;
                continue;
            };
            let events = updates.iter().filter_map(|update| updates::event(update, us)).collect();
            if let Err(why) = inbox.take(events, Some(cursor(last + 1))).await {
                return End::Lost(format!("the events could not be stored: {why}"));
            }
            offset = Some(last + 1);
        }
    }

    fn ended(&self, failure: Failure) -> End {
        match failure {
            Failure::Account(why) => End::Refused(format!("Telegram refuses the token: {why}")),
            // Telegram reports these cases with the status 409.
            Failure::Message(why) if why.contains("webhook") => {
                End::Refused("a webhook is set for this bot, so another program receives its messages: delete it with the Bot API's deleteWebhook, or use another bot".to_owned())
            }
            Failure::Message(why) if why.contains("other getUpdates") => {
                let why = "another program polls with this token: stop it, or use another bot".to_owned();
                End::Wait { ms: CONFLICT_PAUSE_MS, why }
            }
            Failure::TooFast { wait_ms } => End::Wait { ms: wait_ms, why: "Telegram asks to wait".to_owned() },
            failure => End::Lost(failure.to_string()),
        }
    }
}

impl Platform for Telegram {
    fn caps(&self) -> Caps {
        Caps {
            text_max: TEXT_MAX,
            unit: Unit::Utf16,
            buttons: true,
            edits: true,
            // Edits count as messages.
            edit_every_ms: 3000,
            send_every_ms: 1100,
            key_lifetime_ms: None,
            reply_window_ms: None,
            replies_max: None,
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move { Ok(self.us().await?.shown()) })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            let work = async {
                let us = match self.us().await {
                    Ok(us) => us,
                    Err(failure) => return self.ended(failure),
                };
                inbox.connected(&us.shown());
                match &self.deliveries {
                    Some(address) => self.receive(address, inbox, stop).await,
                    None => self.poll(inbox, &us).await,
                }
            };
            tokio::select! {
                end = work => end,
                () = stop.cancelled() => End::Stopped,
            }
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        render::messages(text, buttons)
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let body = |chat: &str, thread: Option<i64>| {
                let mut body = message.payload.clone();
                body["chat_id"] = json!(chat);
                if let Some(thread) = thread {
                    body["message_thread_id"] = json!(thread);
                }
                if let Some(answered) = reply["message"].as_i64() {
                    body["reply_parameters"] =
                        json!({"message_id": answered, "allow_sending_without_reply": true});
                }
                Body::Json(body)
            };
            self.send_to(to, "sendMessage", body).await
        })
    }

    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            self.paced(to)?;
            let mut body = message.payload.clone();
            body["chat_id"] = json!(parted(&to.id)?.0);
            body["message_id"] = json!(
                id.parse::<i64>().map_err(|_| Failure::Message("the message id is invalid".to_owned()))?
            );
            match self.ask("editMessageText", body).await {
                Ok(_) => Ok(()),
                Err(Failure::Message(why)) if why.contains("message is not modified") => Ok(()),
                Err(failure) => Err(failure),
            }
        })
    }

    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let name: String = crate::names::file(&file.name).chars().take(FILE_NAME_MAX_CHARS).collect();
            let name = if name.is_empty() { "file".to_owned() } else { name };
            let body = |field: &'static str| {
                let name = name.clone();
                move |chat: &str, thread: Option<i64>| {
                    let mut form = Multipart::default().field("chat_id", chat);
                    if let Some(thread) = thread {
                        form = form.field("message_thread_id", &thread.to_string());
                    }
                    if let Some(answered) = reply["message"].as_i64() {
                        let answered = json!({"message_id": answered, "allow_sending_without_reply": true});
                        form = form.field("reply_parameters", &answered.to_string());
                    }
                    Body::Multipart(form.file(field, &name, "application/octet-stream", &file.bytes))
                }
            };
            if file.is_image && file.bytes.len() <= PHOTO_MAX_BYTES {
                match self.send_to(to, "sendPhoto", body("photo")).await {
                    // Telegram cannot read the picture and has not sent anything, so it is sent as a file.
                    Err(Failure::Message(_)) => {}
                    other => return other,
                }
                // Sent without being counted again: the pace has already counted the message, although Telegram does not count refused ones.
                let (chat, thread) = parted(&to.id)?;
                let sent =
                    self.call("sendDocument", body("document")(chat, thread), TRANSFER_TIMEOUT).await?;
                return Ok(Sent { id: sent["message_id"].as_i64().unwrap_or_default().to_string() });
            }
            self.send_to(to, "sendDocument", body("document")).await
        })
    }

    fn answer_press<'a>(&'a self, handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let text: String = text.chars().take(NOTICE_MAX_CHARS).collect();
            self.ask("answerCallbackQuery", json!({"callback_query_id": handle, "text": text}))
                .await
                .map(drop)
        })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let file = self.ask("getFile", json!({"file_id": media.handle})).await?;
            let path = file["file_path"].as_str().unwrap_or_default();
            // A self-hosted Bot API server may return the path of a file on its own disk.
            let is_plain = |part: &str| {
                let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
                !part.is_empty() && !part.starts_with('.') && part.chars().all(of_name)
            };
            if !path.split('/').all(is_plain) {
                return Err(Failure::Message("Telegram returned no path for fetching the file".to_owned()));
            }
            self.http.fetch(&format!("{}/file/bot{}/{path}", self.api, self.token), &[], max_bytes).await
        })
    }

    fn takes_deliveries(&self) -> bool {
        self.deliveries.is_some()
    }

    fn delivered<'a>(
        &'a self,
        headers: &'a [(String, String)],
        body: &'a [u8],
        inbox: &'a dyn Inbox,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(self.take_delivery(headers, body, inbox))
    }
}

/// The text that precedes the new id of a group in a failure.
const MOVED: &str = "the group has a new id: ";

fn is_closed(why: &str) -> bool {
    [
        "chat not found",
        "chat_write_forbidden",
        "have no rights to send",
        "group chat was deactivated",
        "topic_closed",
    ]
    .iter()
    .any(|known| why.to_ascii_lowercase().contains(known))
}

/// Splits a conversation's id into the chat and the topic.
fn parted(id: &str) -> Result<(&str, Option<i64>), Failure> {
    match id.split_once('/') {
        None => Ok((id, None)),
        Some((chat, thread)) => match thread.parse() {
            Ok(thread) => Ok((chat, Some(thread))),
            Err(_) => Err(Failure::Message("the conversation id is invalid".to_owned())),
        },
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Writes a cursor, which contains the offset and the current time.
fn cursor(offset: i64) -> String {
    format!("{offset}@{}", now_s())
}

/// Returns the offset of a cursor that is not too old; a cursor from the future (the clock was set back) does not count as too old.
fn offset(cursor: &str) -> Option<i64> {
    let (offset, at) = cursor.split_once('@')?;
    let age = now_s().saturating_sub(at.parse().ok()?);
    if age > CURSOR_MAX_AGE.as_secs() { None } else { offset.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_cursor_is_not_used() {
        assert_eq!(offset(&cursor(7)), Some(7));
        assert_eq!(offset("7@1000"), None);
        assert_eq!(offset("7"), None);
    }

    #[test]
    fn a_token_is_checked_before_it_is_used() {
        for wrong in ["", "12", "12:short", "x:AAAAAAAAAAAAAAAAAAAAAAAA", "1:AAAAAAAAAAAAAAAAAAAAAAAA/getMe"]
        {
            let made = make(&json!({"token": wrong}), &Reach::public(&[]));
            assert!(made.is_err(), "{wrong}");
        }
        assert!(make(&json!({"token": " 12:AAAAAAAAAAAAAAAAAAAAAAAA "}), &Reach::public(&[])).is_ok());
        let inside = json!({"token": "12:AAAAAAAAAAAAAAAAAAAAAAAA", "api": "http://10.0.0.1"});
        assert!(make(&inside, &Reach::public(&[])).is_err());
    }
}
