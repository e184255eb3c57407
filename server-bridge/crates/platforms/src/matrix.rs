//! Matrix: the client-server API, without end-to-end encryption.
//!
//! ```text
//!   /sync?since ─▶ rooms ─▶ gaps filled from /messages ─▶ Inbox::take(next_batch) ─▶ /sync?since=next_batch
//! ```
//! A message is sent with its key as the transaction id, so that the server creates only one event, however many times the message is sent. All
//! invitations are accepted; crate `channels` decides who may give instructions.

mod events;
mod render;
mod sync;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use rand::RngExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::event::{Conversation, Media};
use crate::http::{Body, Http, segment, too_fast};
use crate::limits::{REQUEST_TIMEOUT, TRANSFER_TIMEOUT};
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::styled::Styled;
use events::Us;

/// How long a homeserver remembers a transaction's id, in milliseconds: Synapse keeps them for a day.
const KEY_LIFETIME_MS: u64 = 24 * 60 * 60 * 1000;
/// The largest file that is sent, in bytes: Synapse's default limit.
const FILE_MAX_BYTES: u64 = 50 << 20;
/// The largest response that is read from the homeserver, in bytes; a larger sync is requested again with fewer events.
const ANSWER_MAX_BYTES: usize = 16 << 20;
/// The longest file name, in characters.
const FILE_NAME_MAX_CHARS: usize = 100;

const SETUP: &[Setup] = &[
    Setup {
        key: "server",
        label: "Homeserver",
        help: "The address of the homeserver on which the bot has its account, such as https://matrix.org.",
        is_secret: false,
        default: None,
    },
    Setup {
        key: "token",
        label: "Access token",
        help: "Create an account for the bot, sign in to it in Element, and copy the token from All settings → Help & About → Access token. Then close the window without signing out, which would end the token.",
        is_secret: true,
        default: None,
    },
];

/// Matrix as a kind of platform.
pub(crate) const KIND: Kind = Kind { name: "matrix", title: "Matrix", setup: SETUP, make };

fn make(values: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let token = setting(SETUP, values, "token")?;
    if !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err("the access token contains characters that a token cannot contain".to_owned());
    }
    let http = Http::new(reach, &[&token])?.with_answer_max(ANSWER_MAX_BYTES);
    let server = http.base(&setting(SETUP, values, "server")?)?;
    Ok(Arc::new(Matrix { http, server, token, members: Mutex::default(), told: Mutex::default() }))
}

/// One account on a homeserver.
struct Matrix {
    http: Http,
    server: String,
    token: String,
    /// The number of people in each room, until a person joins or leaves.
    members: Mutex<HashMap<String, usize>>,
    /// The rooms in which a notice has said that encrypted messages cannot be read.
    told: Mutex<HashSet<String>>,
}

impl Matrix {
    /// Calls the API below `/_matrix`.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Body,
        patience: Duration,
    ) -> Result<Value, Failure> {
        let document = self.ask_sized(method, path, body, patience).await?;
        document
            .ok_or_else(|| Failure::Unknown(format!("the response is larger than {ANSWER_MAX_BYTES} bytes")))
    }

    /// As [`Self::ask`]; `None` if the response is larger than [`ANSWER_MAX_BYTES`].
    async fn ask_sized(
        &self,
        method: Method,
        path: &str,
        body: Body,
        patience: Duration,
    ) -> Result<Option<Value>, Failure> {
        let url = format!("{}/_matrix/{path}", self.server);
        let token = format!("Bearer {}", self.token);
        let answer = self.http.call_sized(method, &url, &[("authorization", &token)], body, patience).await?;
        let Some(answer) = answer else { return Ok(None) };
        let document = answer.json();
        if answer.is_success() {
            return Ok(Some(document));
        }
        let code = document["errcode"].as_str().unwrap_or_default();
        let said = document["error"].as_str().unwrap_or_default();
        let why = self.http.reason(&format!("{code} {said}"));
        Err(match (answer.status, code) {
            (429, _) | (_, "M_LIMIT_EXCEEDED") => match document["retry_after_ms"].as_f64() {
                Some(ms) => too_fast(Some(ms / 1000.0)),
                None => answer.too_fast(),
            },
            (401, _)
            | (_, "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_USER_DEACTIVATED" | "M_USER_LOCKED") => {
                Failure::Account(why)
            }
            // Only a gateway responds without an error code.
            (status, "") if status >= 500 => Failure::Unknown(format!("status {status}")),
            (status, "") => Failure::Away(format!("status {status}")),
            (500.., _) => Failure::Unknown(why),
            (403 | 404, _) => Failure::Closed(why),
            _ => Failure::Message(why),
        })
    }

    async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::GET, path, Body::Empty, REQUEST_TIMEOUT).await
    }

    async fn us(&self) -> Result<Us, Failure> {
        let us = self.get("client/v3/account/whoami").await?;
        let id = us["user_id"]
            .as_str()
            .ok_or_else(|| Failure::Away("the response to whoami contains no user id".to_owned()))?
            .to_owned();
        let name = match self.get(&format!("client/v3/profile/{}/displayname", segment(&id))).await {
            Ok(profile) => profile["displayname"].as_str().unwrap_or_default().to_owned(),
            Err(Failure::Closed(_) | Failure::Message(_)) => String::new(),
            Err(failure) => return Err(failure),
        };
        Ok(Us { id, name })
    }

    async fn put(
        &self,
        to: &Conversation,
        mut content: Value,
        reply: &Value,
        key: &str,
    ) -> Result<Sent, Failure> {
        let (room, thread) = parted(&to.id);
        // The members are counted each time, because somebody may have joined since the last sync.
        if !to.is_group && self.count(room).await.map_err(Failure::not_sent)? > 2 {
            return Err(Failure::Message("other people can read this room now".to_owned()));
        }
        let answered = reply["event"].as_str();
        if content["m.relates_to"].is_null() {
            let in_reply_to = |event: &str| json!({"event_id": event});
            match (thread, answered) {
                (Some(root), answered) => {
                    content["m.relates_to"] = json!({
                        "rel_type": "m.thread", "event_id": root, "is_falling_back": true,
                        "m.in_reply_to": in_reply_to(answered.unwrap_or(root)),
                    });
                }
                (None, Some(answered)) => {
                    content["m.relates_to"] = json!({"m.in_reply_to": in_reply_to(answered)})
                }
                (None, None) => {}
            }
        }
        let path = format!("client/v3/rooms/{}/send/m.room.message/{}", segment(room), segment(key));
        let sent = self.ask(Method::PUT, &path, Body::Json(content), REQUEST_TIMEOUT).await?;
        let id = sent["event_id"]
            .as_str()
            .ok_or_else(|| Failure::Unknown("the response contains no message id".to_owned()))?;
        Ok(Sent { id: id.to_owned() })
    }

    fn ended(&self, failure: Failure) -> End {
        match failure {
            Failure::Account(why) => End::Refused(format!("the homeserver refuses the token: {why}")),
            Failure::TooFast { wait_ms } => {
                End::Wait { ms: wait_ms, why: "the homeserver asks to wait".to_owned() }
            }
            failure => End::Lost(failure.to_string()),
        }
    }

    fn members(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platform for Matrix {
    fn caps(&self) -> Caps {
        Caps {
            // The plain body and the HTML share the limit of an event.
            text_max: render::EVENT_TEXT_MAX_BYTES / 2,
            unit: Unit::Bytes,
            buttons: false,
            edits: true,
            // Synapse's default is one message every 5 s after the first ten.
            edit_every_ms: 5000,
            send_every_ms: 500,
            key_lifetime_ms: Some(KEY_LIFETIME_MS),
            reply_window_ms: None,
            replies_max: None,
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move { Ok(self.us().await?.id) })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            let work = async {
                let us = match self.us().await {
                    Ok(us) => us,
                    Err(failure) => return self.ended(failure),
                };
                inbox.connected(&us.id);
                self.sync(inbox, &us).await
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
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(self.put(to, message.payload.clone(), reply, key))
    }

    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let key = format!("{:032x}", rand::rng().random::<u128>());
            self.put(to, render::replacement(&message.payload, id), &Value::Null, &key).await.map(drop)
        })
    }

    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let name: String = crate::names::file(&file.name).chars().take(FILE_NAME_MAX_CHARS).collect();
            let name = if name.is_empty() { "file".to_owned() } else { name };
            let media_type = if file.is_image { picture(&file.bytes) } else { None };
            let kind = if media_type.is_some() { "m.image" } else { "m.file" };
            let media_type = media_type.unwrap_or("application/octet-stream");
            let path = format!("media/v3/upload?filename={}", segment(&name));
            let body = Body::Bytes(media_type.to_owned(), file.bytes.clone());
            // An uploaded file is not visible to anybody until it is sent.
            let uploaded = self.ask(Method::POST, &path, body, TRANSFER_TIMEOUT).await.map_err(
                |failure| match failure {
                    Failure::Unknown(why) => Failure::Away(why),
                    Failure::Closed(why) => Failure::Message(why),
                    other => other,
                },
            )?;
            let content = json!({
                "msgtype": kind, "body": name, "filename": name, "url": uploaded["content_uri"], "m.mentions": {},
                "info": {"size": file.bytes.len(), "mimetype": media_type},
            });
            self.put(to, content, reply, key).await
        })
    }

    fn answer_press<'a>(&'a self, _handle: &'a Value, _text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        // There are no buttons.
        Box::pin(async { Ok(()) })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let address =
                media.handle.as_str().and_then(|url| url.strip_prefix("mxc://")).unwrap_or_default();
            let is_plain = |part: &str| {
                let of_name =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '[' | ']');
                !part.is_empty() && !part.starts_with('.') && part.chars().all(of_name)
            };
            let Some((server, id)) =
                address.split_once('/').filter(|(server, id)| is_plain(server) && is_plain(id))
            else {
                return Err(Failure::Message(
                    "the message does not name a file on the homeserver".to_owned(),
                ));
            };
            let url = format!(
                "{}/_matrix/client/v1/media/download/{}/{}",
                self.server,
                segment(server),
                segment(id)
            );
            let token = format!("Bearer {}", self.token);
            self.http.fetch(&url, &[("authorization", &token)], max_bytes).await
        })
    }
}

/// Splits a conversation's id into the room and the thread.
fn parted(id: &str) -> (&str, Option<&str>) {
    id.split_once('/').map_or((id, None), |(room, thread)| (room, Some(thread)))
}

/// The media type of a picture, according to its first bytes.
fn picture(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"RIFF", "image/webp"),
    ];
    known.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}
