//! Discord: the REST API, and events over its gateway.
//!
//! ```text
//!   hello ─▶ identify, or resume(session, seq) ─▶ dispatch(seq) ─▶ Inbox::take(session, seq)
//!     heartbeat ◀─▶ acknowledgement; if one is missed, the connection is dead ─▶ another connection, resumed
//! ```
//! The place to resume at is committed together with the events. After a session that cannot be resumed, messages are looked up in the
//! conversations that were read before. A message is sent with a nonce, so that Discord accepts it only once.

mod events;
mod gateway;
mod render;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::card::Card;
use crate::event::{Conversation, Media};
use crate::http::{Body, Http, Multipart, segment, too_fast};
use crate::limits::{REQUEST_TIMEOUT, TRANSFER_TIMEOUT};
use crate::names;
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::styled::Styled;

/// The longest text of a message, in characters.
const TEXT_MAX: usize = 2000;
/// How long Discord remembers a nonce, in milliseconds; its documentation says a few minutes.
const KEY_LIFETIME_MS: u64 = 2 * 60 * 1000;
/// The longest nonce, in characters.
const NONCE_MAX_CHARS: usize = 25;
/// The largest file that a bot may send, in bytes.
const FILE_MAX_BYTES: u64 = 10 << 20;
/// The longest file name, in characters.
const FILE_NAME_MAX_CHARS: usize = 100;
/// The message flag that turns off link previews, so that a model cannot make Discord load a page.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// The message flag that shows a message only to the person who pressed the button.
const EPHEMERAL: u64 = 1 << 6;
/// The user agent, in the form that Discord demands of bots.
const USER_AGENT: &str = concat!("DiscordBot (sandbridge, ", env!("CARGO_PKG_VERSION"), ")");

const SETUP: &[Setup] = &[
    Setup {
        key: "token",
        label: "Bot token",
        help: "On discord.com/developers/applications, create an application; under Bot, reset the token and copy it, and turn on Message Content Intent. Under OAuth2, create a URL with the scope bot and the permissions Send Messages, Attach Files and Read Message History, and open it to add the bot to a server. For direct messages, a shared server is enough.",
        is_secret: true,
        default: None,
    },
    Setup {
        key: "api",
        label: "Address of the API",
        help: "Leave it as it is.",
        is_secret: false,
        default: Some("https://discord.com/api/v10"),
    },
];

/// Discord as a kind of platform.
pub(crate) const KIND: Kind = Kind { name: "discord", title: "Discord", setup: SETUP, make };

fn make(values: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let token = setting(SETUP, values, "token")?;
    let of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if token.len() < 30 || token.split('.').count() != 3 || !token.chars().all(of_token) {
        return Err("a bot token consists of three parts separated by dots; copy it from the Bot page of your application on Discord"
            .to_owned());
    }
    let http = Http::new(reach, &[&token])?;
    let api = http.base(&setting(SETUP, values, "api")?)?;
    Ok(Arc::new(Discord { http, api, token, has_no_content: AtomicBool::new(false) }))
}

/// An account on Discord, which is one bot.
struct Discord {
    http: Http,
    api: String,
    token: String,
    /// True if Discord refused the message content intent; then only direct messages and mentions arrive with their content.
    has_no_content: AtomicBool,
}

impl Discord {
    /// Calls the API; returns the response, or the failure.
    async fn call(&self, method: Method, path: &str, body: Body) -> Result<Value, Failure> {
        let url = format!("{}{path}", self.api);
        let token = format!("Bot {}", self.token);
        let headers = [("authorization", token.as_str()), ("user-agent", USER_AGENT)];
        let patience = if matches!(body, Body::Multipart(_)) { TRANSFER_TIMEOUT } else { REQUEST_TIMEOUT };
        let answer = self.http.call_within(method, &url, &headers, body, patience).await?;
        let document = answer.json();
        if answer.is_success() {
            return Ok(document);
        }
        let why = self.http.reason(document["message"].as_str().unwrap_or_default());
        Err(match (answer.status, document["code"].as_u64()) {
            (429, _) => match document["retry_after"].as_f64() {
                Some(seconds) => too_fast(Some(seconds)),
                None => answer.too_fast(),
            },
            (401, _) => Failure::Account(why),
            (_, Some(10_015 | 50_027 | 10_062)) => Failure::Expired,
            (_, Some(10_008 | 50_005)) => Failure::Message(why),
            (403 | 404, Some(code)) if code > 0 => Failure::Closed(why),
            (403 | 404, _) => Failure::Account(format!("status {} {why}", answer.status)),
            (500.., _) => Failure::Unknown(format!("status {}", answer.status)),
            (status, None) => Failure::Away(format!("status {status}")),
            _ => Failure::Message(why),
        })
    }

    /// Adds the fields that every message needs.
    fn addressed(message: &Value, reply: &Value, key: &str) -> Value {
        let mut body = message.clone();
        body["nonce"] = json!(key.chars().take(NONCE_MAX_CHARS).collect::<String>());
        body["enforce_nonce"] = json!(true);
        body["allowed_mentions"] = json!({"parse": []});
        body["flags"] = json!(SUPPRESS_EMBEDS);
        if let Some(answered) = reply["message"].as_str() {
            body["message_reference"] = json!({"message_id": answered, "fail_if_not_exists": false});
        }
        body
    }
}

fn sent(document: &Value) -> Result<Sent, Failure> {
    let id = document["id"]
        .as_str()
        .ok_or_else(|| Failure::Unknown("the response contains no message id".to_owned()))?;
    Ok(Sent { id: id.to_owned() })
}

fn messages_of(to: &Conversation) -> String {
    format!("/channels/{}/messages", segment(&to.id))
}

impl Platform for Discord {
    fn caps(&self) -> Caps {
        Caps {
            text_max: TEXT_MAX,
            unit: Unit::Utf16,
            buttons: true,
            edits: true,
            // Discord allows five messages, and also five changes, in 5 s in a channel.
            edit_every_ms: 1200,
            send_every_ms: 1050,
            key_lifetime_ms: Some(KEY_LIFETIME_MS),
            reply_window_ms: None,
            replies_max: None,
            // The gateway replays events of the last few minutes; older messages are looked up in the known conversations.
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move {
            let us = self.call(Method::GET, "/users/@me", Body::Empty).await?;
            Ok(format!("@{}", names::person(us["username"].as_str().unwrap_or_default())))
        })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            tokio::select! {
                end = self.connect(inbox) => end,
                () = stop.cancelled() => End::Stopped,
            }
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        render::messages(text, buttons)
    }

    fn render_card(&self, card: &Card, buttons: &[Button]) -> Vec<Outgoing> {
        render::card(card, buttons)
            .map_or_else(|| render::messages(&card.styled(), buttons), |card| vec![card])
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let body = Self::addressed(&message.payload, reply, key);
            sent(&self.call(Method::POST, &messages_of(to), Body::Json(body)).await?)
        })
    }

    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let mut body = message.payload.clone();
            if body["components"].is_null() {
                // An empty list removes the buttons that the message had.
                body["components"] = json!([]);
            }
            for (key, empty) in [("embeds", json!([])), ("content", json!(""))] {
                // Discord keeps fields that are left out, so fields that the message no longer has are emptied.
                if body[key].is_null() {
                    body[key] = empty;
                }
            }
            body["allowed_mentions"] = json!({"parse": []});
            let path = format!("{}/{}", messages_of(to), segment(id));
            self.call(Method::PATCH, &path, Body::Json(body)).await.map(drop)
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
            let name: String = names::file(&file.name).chars().take(FILE_NAME_MAX_CHARS).collect();
            let name = if name.is_empty() { "file".to_owned() } else { name };
            let attached = json!({"attachments": [{"id": 0, "filename": name}]});
            let body = Self::addressed(&attached, reply, key).to_string();
            let form = Multipart::default().field("payload_json", &body).file(
                "files[0]",
                &name,
                "application/octet-stream",
                &file.bytes,
            );
            sent(&self.call(Method::POST, &messages_of(to), Body::Multipart(form)).await?)
        })
    }

    fn answer_press<'a>(&'a self, handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let (Some(app), Some(token)) = (handle["app"].as_str(), handle["token"].as_str()) else {
                return Ok(());
            };
            let text: String = text.chars().take(TEXT_MAX).collect();
            let body = json!({"content": text, "flags": EPHEMERAL, "allowed_mentions": {"parse": []}});
            let path = format!("/webhooks/{}/{}", segment(app), segment(token));
            self.call(Method::POST, &path, Body::Json(body)).await.map(drop)
        })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let url = media.handle.as_str().unwrap_or_default();
            let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let place = host(url).unwrap_or_default();
            let is_discords = matches!(place.as_str(), "cdn.discordapp.com" | "media.discordapp.net");
            if !is_discords && Some(&place) != host(&self.api).as_ref() {
                return Err(Failure::Message("the file is not on Discord".to_owned()));
            }
            self.http.fetch(url, &[("user-agent", USER_AGENT)], max_bytes).await
        })
    }
}
