//! AI bots of WeCom: one WebSocket for each bot, for both messages and answers.
//!
//! ```text
//!   aibot_subscribe ─▶ aibot_msg_callback ─▶ Inbox::take        aibot_respond_msg, aibot_send_msg ─▶ errcode, by the request's id
//! ```
//! A callback is not acknowledged and not replayed, so [`Inbox::gap`] reports messages that were lost while there was no connection. A second
//! connection of the bot ends the first one: this happens if two servers use the same bot, and an administrator has to act.

mod files;
mod incoming;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::prelude::*;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::calls::{Call, Calls, Pending};
use crate::event::{Conversation, Media};
use crate::http::{Http, too_fast};
use crate::limits::{CONNECT_TIMEOUT, SILENCE_TIMEOUT};
use crate::markup::Markdown;
use crate::parts::split;
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::socket::{Frame, Socket};
use crate::styled::Styled;

/// The longest text, in bytes, according to the bot documentation.
const TEXT_MAX_BYTES: usize = 20_480;

/// The maximum number of buttons on a card.
const BUTTONS_MAX: usize = 6;

/// The longest label of a button, and the longest title of a card, in characters: clients do not show more in full.
const LABEL_MAX_CHARS: usize = 20;
const TITLE_MAX_CHARS: usize = 26;

/// How much of a file one request contains, and the largest file, both in bytes, according to the upload documentation.
const CHUNK_BYTES: usize = 512 * 1024;
const FILE_MAX_BYTES: u64 = 20 * 1024 * 1024;

/// The largest picture, in bytes; a larger one is sent as a file.
const IMAGE_MAX_BYTES: usize = 2 * 1024 * 1024;

/// How long to wait while another reply to the same request is being sent.
const TURN_WAIT_MS: u64 = 500;

/// How long to wait before trying again to commit an event.
const COMMIT_AGAIN: Duration = Duration::from_secs(1);

/// The codes for too many messages of the bot, or to one conversation.
const TOO_FAST_CODES: [i64; 3] = [45_009, 45_033, 846_607];

const MARKDOWN: Markdown =
    Markdown { is_entity: false, is_json: false, strike: "", tags: &["<@", "<font", "<think"] };

/// The kind of platform, with the values that an account needs.
pub(crate) const KIND: Kind = Kind {
    name: "wecom",
    title: "WeCom",
    setup: &[
        Setup {
            key: "bot_id",
            label: "Bot ID",
            help: "Create an AI bot in WeCom's admin console, choose API mode with a long connection, and copy the Bot ID.",
            is_secret: false,
            default: None,
        },
        Setup {
            key: "secret",
            label: "Secret",
            help: "Copy it from the same page: it is not the Secret of an app.",
            is_secret: true,
            default: None,
        },
        Setup {
            key: "address",
            label: "Address",
            help: "Leave it as it is, except for a private deployment: its admin console shows the address.",
            is_secret: false,
            default: Some("wss://openws.work.weixin.qq.com"),
        },
    ],
    make,
};

fn make(setup: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    Ok(Arc::new(WeCom::new(setup, reach)?))
}

/// An account on WeCom, which is one bot.
struct WeCom {
    http: Http,
    url: String,
    bot_id: String,
    secret: String,
    calls: Calls,
    /// The requests whose replies wait for the platform's response: all replies to one request have the same id.
    replies: Mutex<HashSet<String>>,
    silence: Duration,
}

/// The right to reply to a request, until it is dropped.
struct Turn<'a> {
    account: &'a WeCom,
    request: String,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.account.replies.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.request);
    }
}

impl WeCom {
    fn new(setup: &Value, reach: &Reach) -> Result<Self, String> {
        let value = |key: &str| setting(KIND.setup, setup, key);
        let (bot_id, secret, url) = (value("bot_id")?, value("secret")?, value("address")?);
        let http = Http::new(reach, &[&secret])?;
        let (scheme, rest) = url.split_once("://").ok_or("the address must begin with wss://")?;
        let scheme = match scheme {
            "ws" => "http",
            "wss" => "https",
            _ => return Err("the address must begin with wss://".to_owned()),
        };
        http.base(&format!("{scheme}://{rest}"))?;
        let calls = Calls::default();
        Ok(Self { http, url, bot_id, secret, calls, replies: Mutex::default(), silence: SILENCE_TIMEOUT })
    }

    /// Connects, and subscribes to the bot's callbacks.
    async fn connect(&self) -> Result<Socket, Failure> {
        let mut socket = Socket::connect(self.http.reach(), &self.url, &[]).await?.with_silence(self.silence);
        let request = self.request("aibot_subscribe");
        let body = json!({"bot_id": self.bot_id, "secret": self.secret});
        let frame = json!({"cmd": "aibot_subscribe", "headers": {"req_id": request}, "body": body});
        socket.text(frame.to_string()).await.map_err(Failure::Away)?;
        let subscribed = async {
            loop {
                match socket.next().await.map_err(Failure::Away)? {
                    Frame::Text(text) => {
                        let came: Value = serde_json::from_str(&text).unwrap_or_default();
                        if came["headers"]["req_id"] == request.as_str() {
                            return self.judged(&came, true).map(drop);
                        }
                    }
                    Frame::Closed(code, why) => {
                        return Err(Failure::Away(
                            self.http.reason(&format!("the connection was closed with code {code}: {why}")),
                        ));
                    }
                    Frame::Binary(_) | Frame::Beat => {}
                }
            }
        };
        timeout(CONNECT_TIMEOUT, subscribed).await.map_err(|_| Failure::Away("no response".to_owned()))??;
        Ok(socket)
    }

    /// A new id for a request; it begins with the command, as in the platform's own clients.
    fn request(&self, command: &str) -> String {
        format!("{command}_{}", self.calls.number())
    }

    /// Checks a response: returns it, or the failure that it reports.
    fn judged(&self, came: &Value, is_subscription: bool) -> Result<Value, Failure> {
        let code = came["errcode"].as_i64().unwrap_or(-1);
        let why = || {
            self.http.reason(&format!(
                "{} ({code})",
                came["errmsg"].as_str().unwrap_or("the platform returned no reason")
            ))
        };
        match code {
            0 => Ok(came["body"].clone()),
            code if TOO_FAST_CODES.contains(&code) => Err(too_fast(None)),
            // The platform is busy.
            -1 => Err(Failure::Away(why())),
            _ if is_subscription => Err(Failure::Account(why())),
            _ => Err(Failure::Message(why())),
        }
    }

    async fn session(
        &self,
        mut socket: Socket,
        mut calls: mpsc::Receiver<Call>,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> End {
        let mut pending = Pending::default();
        let mut pings = interval(self.silence / 3);
        loop {
            let sent = tokio::select! {
                () = stop.cancelled() => {
                    socket.close().await;
                    return End::Stopped;
                }
                _ = pings.tick() => {
                    let ping = json!({"cmd": "ping", "headers": {"req_id": self.request("ping")}});
                    socket.text(ping.to_string()).await
                }
                Some(call) = calls.recv() => socket.text(pending.add(call)).await,
                came = socket.next() => {
                    inbox.alive();
                    match came {
                        Ok(Frame::Text(text)) => match self.take(&text, &mut pending, inbox, stop).await {
                            Some(end) => return end,
                            None => Ok(()),
                        },
                        Ok(Frame::Closed(code, why)) => Err(self.http.reason(&format!("the connection was closed with code {code}: {why}"))),
                        Ok(Frame::Binary(_) | Frame::Beat) => Ok(()),
                        Err(why) => Err(why),
                    }
                }
            };
            if let Err(why) = sent {
                return End::Lost(why);
            }
        }
    }

    async fn take(
        &self,
        text: &str,
        pending: &mut Pending,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Option<End> {
        let came: Value = serde_json::from_str(text).unwrap_or_default();
        let request = &came["headers"]["req_id"];
        let Some(command) = came["cmd"].as_str().filter(|command| !command.is_empty()) else {
            pending.answer(request.as_str().unwrap_or_default(), self.judged(&came, false));
            return None;
        };
        if !matches!(command, "aibot_msg_callback" | "aibot_event_callback") {
            return None;
        }
        if came["body"]["event"]["eventtype"] == "disconnected_event" {
            return Some(End::Refused(
                "another connection of this bot replaced this one: use the bot on one server only".to_owned(),
            ));
        }
        let event = incoming::read(&came["body"], request)?;
        let cursor = event.at_ms.to_string();
        // WeCom does not send the event again, so this loop keeps it until it is committed.
        while let Err(why) = inbox.take(vec![event.clone()], Some(cursor.clone())).await {
            tracing::warn!("an event from WeCom could not be stored; the server will try again: {why}");
            tokio::select! {
                () = stop.cancelled() => return Some(End::Stopped),
                () = sleep(COMMIT_AGAIN) => {}
            }
        }
        None
    }

    async fn ask(&self, command: &str, request: String, body: Value) -> Result<Value, Failure> {
        let frame = json!({"cmd": command, "headers": {"req_id": request}, "body": body});
        self.calls.ask(request, frame).await
    }

    /// Acquires the right to reply to a request; fails at once while another reply to it waits for the platform's response.
    fn turn(&self, request: &str) -> Result<Turn<'_>, Failure> {
        let is_free = self.replies.lock().unwrap_or_else(PoisonError::into_inner).insert(request.to_owned());
        let turn = is_free.then(|| Turn { account: self, request: request.to_owned() });
        turn.ok_or(Failure::TooFast { wait_ms: TURN_WAIT_MS })
    }

    /// Sends a message to a conversation, but not as a reply.
    async fn push(&self, to: &Conversation, mut body: Value) -> Result<Value, Failure> {
        let chat = to.id.split_once(':').filter(|(kind, _)| matches!(*kind, "user" | "group"));
        let (_, chat) =
            chat.ok_or_else(|| Failure::Message("the conversation is not on WeCom".to_owned()))?;
        body["chatid"] = json!(chat);
        self.ask("aibot_send_msg", self.request("aibot_send_msg"), body).await
    }

    async fn upload(&self, name: &str, bytes: &Bytes, kind: &str) -> Result<Value, Failure> {
        let chunks = bytes.len().div_ceil(CHUNK_BYTES);
        let announced = json!({"type": kind, "filename": name, "total_size": bytes.len(), "total_chunks": chunks, "md5": files::md5(bytes)});
        let upload =
            self.ask("aibot_upload_media_init", self.request("aibot_upload_media_init"), announced).await?;
        let id = &upload["upload_id"];
        for (index, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
            let body =
                json!({"upload_id": id, "chunk_index": index, "base64_data": BASE64_STANDARD.encode(chunk)});
            self.ask("aibot_upload_media_chunk", self.request("aibot_upload_media_chunk"), body).await?;
        }
        let done = self
            .ask(
                "aibot_upload_media_finish",
                self.request("aibot_upload_media_finish"),
                json!({"upload_id": id}),
            )
            .await?;
        Ok(done["media_id"].clone())
    }
}

/// Returns a card's id on the platform; the same key always gives the same id, and different keys give different ids.
fn task_of(key: &str) -> String {
    format!("sb_{}", key.chars().take(64).collect::<String>())
}

fn card(title: &str, buttons: Vec<Value>) -> Value {
    let title: String = title.trim().chars().take(TITLE_MAX_CHARS).collect();
    let title = if title.is_empty() { "…".to_owned() } else { title };
    json!({"card_type": "button_interaction", "main_title": {"title": title}, "button_list": buttons})
}

fn button(button: &Button) -> Value {
    let label: String = button.label.trim().chars().take(LABEL_MAX_CHARS).collect();
    json!({"text": if label.is_empty() { "…".to_owned() } else { label }, "style": 1, "key": button.token})
}

impl Platform for WeCom {
    fn caps(&self) -> Caps {
        Caps {
            text_max: TEXT_MAX_BYTES,
            unit: Unit::Bytes,
            buttons: true,
            edits: false,
            edit_every_ms: 0,
            // WeCom allows 30 messages a minute to one conversation.
            send_every_ms: 2000,
            key_lifetime_ms: None,
            reply_window_ms: None,
            replies_max: None,
            replays: false,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async {
            // A second connection would end the first one.
            if self.calls.is_begun() {
                return Ok(self.bot_id.clone());
            }
            self.connect().await?.close().await;
            // The platform does not report a bot's name.
            Ok(self.bot_id.clone())
        })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            let socket = tokio::select! {
                () = stop.cancelled() => return End::Stopped,
                socket = self.connect() => match socket {
                    Ok(socket) => socket,
                    Err(failure) => return failure.into(),
                },
            };
            let (line, calls) = self.calls.begin();
            inbox.connected(&self.bot_id);
            if inbox.cursor().await.is_some() {
                inbox.gap("messages sent while the bot was not connected are lost: WeCom does not deliver them later");
            }
            let end = self.session(socket, calls, inbox, stop).await;
            self.calls.end(&line);
            end
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        let parts = split(text, TEXT_MAX_BYTES, &MARKDOWN);
        let mut messages: Vec<_> =
            parts.iter().map(|part| Outgoing { payload: json!({"text": MARKDOWN.render(part)}) }).collect();
        if !buttons.is_empty() {
            let text = text.text();
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let buttons = buttons.iter().take(BUTTONS_MAX).map(button).collect();
            messages.push(Outgoing { payload: json!({"card": card(last, buttons)}) });
        } else if messages.is_empty() {
            messages.push(Outgoing { payload: json!({"text": "…"}) });
        }
        messages
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let (task, text) = (task_of(key), &message.payload["text"]);
            let (as_reply, pushed) = if message.payload["card"].is_object() {
                let mut card = message.payload["card"].clone();
                card["task_id"] = json!(task);
                let body = json!({"msgtype": "template_card", "template_card": card});
                (body.clone(), body)
            } else {
                let stream = json!({"id": task, "finish": true, "content": text});
                (
                    json!({"msgtype": "stream", "stream": stream}),
                    json!({"msgtype": "markdown", "markdown": {"content": text}}),
                )
            };
            if let Some(request) = reply["request"].as_str() {
                let _turn = self.turn(request)?;
                match self.ask("aibot_respond_msg", request.to_owned(), as_reply).await {
                    // The request may be too old or from an earlier connection. The platform certainly did not accept the reply.
                    Err(Failure::Message(_)) => {}
                    done => return done.map(|_| Sent { id: task }),
                }
            }
            self.push(to, pushed).await.map(|_| Sent { id: task })
        })
    }

    fn edit<'a>(
        &'a self,
        _: &'a Conversation,
        _: &'a str,
        _: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Err(Failure::Message("WeCom cannot change finished messages".to_owned())) })
    }

    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        _: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            if file.bytes.is_empty() || file.bytes.len() as u64 > FILE_MAX_BYTES {
                return Err(Failure::Message("a file must be 1 byte to 20 MiB in size".to_owned()));
            }
            let kind = if file.is_image && file.bytes.len() <= IMAGE_MAX_BYTES { "image" } else { "file" };
            let name = crate::names::file(&file.name);
            let name = if name.is_empty() { "file" } else { &name };
            // An uploaded file is not visible to anybody until it is sent.
            let media = self.upload(name, &file.bytes, kind).await.map_err(Failure::not_sent)?;
            self.push(to, json!({"msgtype": kind, kind: {"media_id": media}}))
                .await
                .map(|_| Sent { id: task_of(key) })
        })
    }

    fn answer_press<'a>(&'a self, handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let (Some(request), Some(task)) = (handle["request"].as_str(), handle["task"].as_str()) else {
                return Ok(());
            };
            let done = json!({"text": "✓", "style": 2, "key": "done"});
            let mut card = card(text, vec![done]);
            card["task_id"] = json!(task);
            let mut body = json!({"response_type": "update_template_card", "template_card": card});
            if handle["user"].is_string() {
                // Without the list of users, the card changes for everybody.
                body["userids"] = json!([handle["user"]]);
            }
            let _turn = self.turn(request)?;
            self.ask("aibot_respond_update_msg", request.to_owned(), body).await.map(drop)
        })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let url = media.handle["url"].as_str().unwrap_or_default();
            let Some(key) = media.handle["key"].as_str() else {
                return self.http.fetch(url, &[], max_bytes).await;
            };
            let encrypted = self.http.fetch(url, &[], max_bytes + files::PADDING_MAX_BYTES as u64).await?;
            let plain = files::decrypt(&encrypted, key).map_err(|why| Failure::Message(why.to_owned()))?;
            if plain.len() as u64 > max_bytes {
                return Err(Failure::Message(format!("the file is larger than {max_bytes} bytes")));
            }
            Ok(plain.into())
        })
    }
}

#[cfg(test)]
mod tests;
