//! QQ bots: events arrive through the gateway or by webhook; answers are sent as replies to a message.
//!
//! A bot cannot begin a conversation: each of its messages must answer a message that arrived at most an hour ago (in a group: five minutes), and at
//! most five messages can answer the same one. The platform recognizes duplicates by `(msg_id, msg_seq)`; the sequence number is derived from the
//! message's key.

mod api;
mod gateway;
mod incoming;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::*;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use self::api::Api;
use self::gateway::Gateway;
use crate::event::{Conversation, Media};
use crate::http::{Body, Http};
use crate::limits::SILENCE_TIMEOUT;
use crate::markup::{Markdown, Plain, numbered};
use crate::parts::split;
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::styled::Styled;

/// The longest text, in characters. QQ documents no limit; this is well below the 4,000 that other users of the API report.
const TEXT_MAX_CHARS: usize = 2000;

/// The longest Markdown text, in bytes.
const MARKDOWN_MAX_BYTES: usize = 3500;

/// The maximum number of buttons: one in each of five rows (the documentation allows at most five rows).
const BUTTONS_MAX: usize = 5;

/// The longest label of a button, in characters.
const LABEL_MAX_CHARS: usize = 30;

/// How long a direct message can be replied to, in milliseconds.
const REPLY_WINDOW_MS: u64 = 60 * 60 * 1000;

/// The largest file, in bytes; a file is sent as text within one request.
const FILE_MAX_BYTES: u64 = 10 * 1024 * 1024;

/// Beginnings of tags that mention people or show emoji.
const TAGS: &[&str] = &["<@", "<qqbot-", "<emoji:", "<#"];

const MARKDOWN: Markdown = Markdown { is_entity: false, is_json: false, strike: "~~", tags: TAGS };
const PLAIN: Plain = Plain { unit: Unit::Chars, tags: TAGS };

/// The kind of platform, with the values that an account needs.
pub(crate) const KIND: Kind = Kind {
    name: "qq",
    title: "QQ",
    setup: &[
        Setup {
            key: "app_id",
            label: "AppID",
            help: "Create a bot at q.qq.com and copy the AppID from its development settings.",
            is_secret: false,
            default: None,
        },
        Setup {
            key: "secret",
            label: "AppSecret",
            help: "Copy it from the same page; it is shown only once.",
            is_secret: true,
            default: None,
        },
        Setup {
            key: "delivery",
            label: "Delivery",
            help: "Enter websocket, or webhook if the bot has a callback address in its settings; in that case enter this account's address there.",
            is_secret: false,
            default: Some("websocket"),
        },
        Setup {
            key: "markdown",
            label: "Markdown and buttons",
            help: "Enter yes if QQ has granted the bot Markdown messages, which it does on request. Otherwise texts are sent without formatting, and choices are numbered.",
            is_secret: false,
            default: Some("no"),
        },
        Setup {
            key: "address",
            label: "Address of the API",
            help: "Use https://sandbox.api.sgroup.qq.com for the sandbox.",
            is_secret: false,
            default: Some("https://api.sgroup.qq.com"),
        },
        Setup {
            key: "token_address",
            label: "Token address",
            help: "Leave it as it is, unless requests to the API go through your own proxy.",
            is_secret: false,
            default: Some("https://bots.qq.com/app/getAppAccessToken"),
        },
    ],
    make,
};

fn make(setup: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    Ok(Arc::new(Qq::new(setup, reach)?))
}

/// An account on QQ, which is one bot.
struct Qq {
    api: Api,
    gateway: Gateway,
    by_webhook: bool,
    has_markdown: bool,
    silence: Duration,
}

impl Qq {
    fn new(setup: &Value, reach: &Reach) -> Result<Self, String> {
        let value = |key: &str| setting(KIND.setup, setup, key);
        let (app_id, secret) = (value("app_id")?, value("secret")?);
        let http = Http::new(reach, &[&secret])?;
        let (base, token_url) = (http.base(&value("address")?)?, http.base(&value("token_address")?)?);
        let choice = |key: &str, no: &str, yes: &str, else_say: &str| match value(key)?.as_str() {
            text if text == no => Ok(false),
            text if text == yes => Ok(true),
            _ => Err(else_say.to_owned()),
        };
        Ok(Self {
            by_webhook: choice(
                "delivery",
                "websocket",
                "webhook",
                "the delivery must be websocket or webhook",
            )?,
            has_markdown: choice("markdown", "no", "yes", "Markdown and buttons must be no or yes")?,
            api: Api::new(http, base, token_url, app_id, secret),
            gateway: Gateway::default(),
            silence: SILENCE_TIMEOUT,
        })
    }

    /// In webhook mode there is no connection; the account counts as connected while its token is valid.
    async fn wait_for_deliveries(&self, inbox: &dyn Inbox, stop: &CancellationToken) -> Result<End, End> {
        inbox.connected(&self.probe().await.map_err(End::from)?);
        let mut checks = interval(self.silence / 2);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(End::Stopped),
                _ = checks.tick() => {
                    self.api.authorization().await.map_err(End::from)?;
                    inbox.alive();
                }
            }
        }
    }

    /// Sends a document as a reply.
    async fn reply(
        &self,
        to: &Conversation,
        mut body: Value,
        reply: &Value,
        key: &str,
    ) -> Result<Sent, Failure> {
        let answered =
            ["msg_id", "event_id"].into_iter().find_map(|field| Some((field, incoming::id(&reply[field])?)));
        match answered {
            Some((field, id)) => body[field] = json!(id),
            None => return Err(Failure::Expired),
        }
        if reply["until_ms"].as_i64().is_some_and(|until| incoming::now_ms() > until) {
            return Err(Failure::Expired);
        }
        body["msg_seq"] = json!(number_of(key));
        let path = format!("{}/messages", path_of(to)?);
        let found = self.api.call(Method::POST, &path, Body::Json(body)).await?;
        // For a duplicate, the platform does not return the message's id.
        Ok(Sent { id: found.and_then(|found| incoming::id(&found["id"])).unwrap_or_default() })
    }
}

/// Returns the sequence number of an answer, from 1 to 2^31 - 1; the same key always gives the same number.
fn number_of(key: &str) -> u32 {
    let hash =
        key.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 1).max(1)
}

fn path_of(to: &Conversation) -> Result<String, Failure> {
    let other = || Failure::Message("the conversation is not on QQ".to_owned());
    let (kind, id) = to.id.split_once(':').ok_or_else(other)?;
    let id = incoming::id(&json!(id)).ok_or_else(other)?;
    match kind {
        "group" => Ok(format!("/v2/groups/{id}")),
        "user" => Ok(format!("/v2/users/{id}")),
        "channel" => Ok(format!("/channels/{id}")),
        "dm" => Ok(format!("/dms/{id}")),
        _ => Err(other()),
    }
}

fn button(index: usize, button: &Button) -> Value {
    let label: String = button.label.chars().take(LABEL_MAX_CHARS).collect();
    let label = if label.trim().is_empty() { "…".to_owned() } else { label };
    let action = json!({"type": 1, "permission": {"type": 2}, "data": button.token, "unsupport_tips": label});
    let shown = json!({"label": label, "visited_label": label, "style": 1});
    json!({"buttons": [{"id": index.to_string(), "render_data": shown, "action": action}]})
}

impl Platform for Qq {
    fn caps(&self) -> Caps {
        Caps {
            text_max: if self.has_markdown { MARKDOWN_MAX_BYTES } else { TEXT_MAX_CHARS },
            unit: if self.has_markdown { Unit::Bytes } else { Unit::Chars },
            buttons: self.has_markdown,
            edits: false,
            edit_every_ms: 0,
            send_every_ms: 1000,
            // As long as the message can be replied to.
            key_lifetime_ms: Some(REPLY_WINDOW_MS),
            // In a group the window is shorter; each event's `reply` contains its end.
            reply_window_ms: Some(REPLY_WINDOW_MS),
            replies_max: Some(5),
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async {
            let found = self.api.call(Method::GET, "/users/@me", Body::Empty).await?.unwrap_or_default();
            Ok(crate::names::person(found["username"].as_str().unwrap_or_default()))
        })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            let end = if self.by_webhook {
                self.wait_for_deliveries(inbox, stop).await
            } else {
                self.gateway.run(&self.api, self.silence, inbox, stop).await
            };
            end.unwrap_or_else(|end| end)
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        let text = if self.has_markdown { text.clone() } else { numbered(text, buttons, "\n") };
        let mut parts: Vec<String> = if self.has_markdown {
            split(&text, MARKDOWN_MAX_BYTES, &MARKDOWN).iter().map(|part| MARKDOWN.render(part)).collect()
        } else {
            split(&text, TEXT_MAX_CHARS, &PLAIN).iter().map(|part| PLAIN.render(part)).collect()
        };
        if parts.is_empty() {
            parts.push("…".to_owned());
        }
        let last = parts.len() - 1;
        let message = |(at, text): (usize, String)| {
            if !self.has_markdown {
                return Outgoing { payload: json!({"msg_type": 0, "content": text}) };
            }
            let mut payload = json!({"msg_type": 2, "markdown": {"content": text}});
            if at == last && !buttons.is_empty() {
                let rows: Vec<_> =
                    buttons.iter().take(BUTTONS_MAX).enumerate().map(|(at, it)| button(at, it)).collect();
                payload["keyboard"] = json!({"content": {"rows": rows}});
            }
            Outgoing { payload }
        };
        parts.into_iter().enumerate().map(message).collect()
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(self.reply(to, message.payload.clone(), reply, key))
    }

    fn edit<'a>(
        &'a self,
        _: &'a Conversation,
        _: &'a str,
        _: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Err(Failure::Message("QQ cannot change messages that have been sent".to_owned())) })
    }

    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            if file.bytes.is_empty() || file.bytes.len() as u64 > FILE_MAX_BYTES {
                return Err(Failure::Message("a file must be 1 byte to 10 MiB in size".to_owned()));
            }
            let kind = if file.is_image { 1 } else { 4 };
            let data = BASE64_STANDARD.encode(&file.bytes);
            let body =
                json!({"file_type": kind, "file_data": data, "file_name": file.name, "srv_send_msg": false});
            let path = format!("{}/files", path_of(to)?);
            let found = self.api.call(Method::POST, &path, Body::Json(body)).await;
            // An uploaded file is not visible to anybody until it is sent.
            let found = found.map_err(Failure::not_sent)?;
            let media = json!({"file_info": found.unwrap_or_default()["file_info"]});
            self.reply(to, json!({"msg_type": 7, "content": " ", "media": media}), reply, key).await
        })
    }

    fn answer_press<'a>(&'a self, handle: &'a Value, _: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let Some(interaction) = incoming::id(&handle["interaction"]) else { return Ok(()) };
            // Tells the client to stop showing the button as waiting; QQ cannot show a text there.
            let path = format!("/interactions/{interaction}");
            self.api.call(Method::PUT, &path, Body::Json(json!({"code": 0}))).await.map(drop)
        })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            self.api.http.fetch(media.handle["url"].as_str().unwrap_or_default(), &[], max_bytes).await
        })
    }

    fn takes_deliveries(&self) -> bool {
        self.by_webhook
    }

    fn delivered<'a>(
        &'a self,
        headers: &'a [(String, String)],
        body: &'a [u8],
        inbox: &'a dyn Inbox,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            webhook::check(&self.api.secret, headers, body)?;
            let frame: Value =
                serde_json::from_slice(body).map_err(|_| Failure::Message("no JSON".to_owned()))?;
            match frame["op"].as_u64() {
                Some(13) => webhook::validated(&self.api.secret, &frame["d"]),
                Some(0) => {
                    let kind = frame["t"].as_str().unwrap_or_default();
                    let event = incoming::read(kind, &frame["d"], &frame["id"], &self.api.app_id);
                    inbox.take(event.into_iter().collect(), None).await.map_err(Failure::Away)?;
                    inbox.alive();
                    Ok(json!({"op": 12, "d": 0}))
                }
                _ => Err(Failure::Message("the delivery is of an unknown kind".to_owned())),
            }
        })
    }
}

#[cfg(test)]
mod tests;
