//! Feishu and Lark: events arrive on the long connection; answers are sent as cards.
//!
//! ```text
//!   endpoint ─▶ WebSocket ─▶ frames ─▶ joined ─▶ read ─▶ Inbox::take ─▶ the same frame, as acknowledgement within 3 s
//! ```
//! Each event is delivered to one of up to 50 connections of an application. Unacknowledged events are delivered again after 15 seconds, 5 minutes,
//! an hour and 6 hours (documentation of the platform). The outcome of a press can be shown only in the acknowledgement of the press, which therefore
//! waits a moment for [`Platform::answer_press`].

mod api;
mod card;
mod frame;
mod incoming;
mod join;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::prelude::*;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::sync::{OnceCell, oneshot};
use tokio::time::{Instant, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use self::api::Api;
use self::frame::{CONTROL, DATA, Frame};
use self::join::Joiner;
use crate::card::Card;
use crate::event::{Conversation, Media, MediaKind, What};
use crate::http::{Body, Http};
use crate::limits::SILENCE_TIMEOUT;
use crate::pace::{Limit, Pace};
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::socket::{self, Socket};
use crate::styled::Styled;
use guard::Reach;

/// How long the acknowledgement of a press waits for the outcome; the platform waits 3 s for the acknowledgement.
const PRESS_PATIENCE: Duration = Duration::from_millis(2000);

/// How long Feishu remembers a `uuid`, in milliseconds, according to the API documentation.
const KEY_LIFETIME_MS: u64 = 60 * 60 * 1000;

/// The longest `uuid`, in characters, according to the API documentation. A message's key is longer, but its first half is random enough.
const UUID_MAX_CHARS: usize = 50;

/// The largest file, in bytes, according to the API documentation.
const FILE_MAX_BYTES: u64 = 30 * 1024 * 1024;

/// The largest picture, in bytes; a larger one is sent as a file.
const IMAGE_MAX_BYTES: usize = 10 * 1024 * 1024;

/// The limits on messages sent, and on messages edited, of one application. Feishu allows 50 a second and 1,000 a minute for each, by its own clock.
const PER_SECOND: Limit = Limit { count: 48, window: Duration::from_secs(1) };
const PER_MINUTE: Limit = Limit { count: 980, window: Duration::from_secs(60) };

/// Codes of the connection endpoint that require a change of the account: forbidden, wrong credentials, and too many connections.
const REFUSED_CODES: [i64; 3] = [403, 514, 1_000_040_350];

/// The kind of platform, with the values that an account needs.
pub(crate) const KIND: Kind = Kind {
    name: "feishu",
    title: "Feishu / Lark",
    setup: &[
        Setup {
            key: "app_id",
            label: "App ID",
            help: "Create a custom app in the developer console, enable the bot, subscribe to im.message.receive_v1 and card.action.trigger over the persistent connection, and copy the App ID from Credentials.",
            is_secret: false,
            default: None,
        },
        Setup {
            key: "app_secret",
            label: "App Secret",
            help: "Copy it from Credentials of the same app.",
            is_secret: true,
            default: None,
        },
        Setup {
            key: "domain",
            label: "Address",
            help: "https://open.feishu.cn for Feishu, https://open.larksuite.com for Lark.",
            is_secret: false,
            default: Some("https://open.feishu.cn"),
        },
    ],
    make,
};

fn make(setup: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let value = |key: &str| setting(KIND.setup, setup, key);
    let (app_id, app_secret) = (value("app_id")?, value("app_secret")?);
    let http = Http::new(reach, &[&app_secret])?;
    let domain = http.base(&value("domain")?)?;
    Ok(Arc::new(Feishu::new(Api::new(http, domain, app_id, app_secret))))
}

/// The bot of one application.
struct Feishu {
    api: Api,
    /// The bot's open id and its name.
    bot: OnceCell<(String, String)>,
    /// The waiting acknowledgements of presses, by event.
    presses: Mutex<HashMap<String, oneshot::Sender<String>>>,
    sends: Pace,
    edits: Pace,
    silence: Duration,
}

impl Feishu {
    fn new(api: Api) -> Self {
        let (sends, edits) = Default::default();
        Self { api, bot: OnceCell::new(), presses: Mutex::default(), sends, edits, silence: SILENCE_TIMEOUT }
    }

    async fn bot(&self) -> Result<&(String, String), Failure> {
        let ask = || async {
            let info = self.api.call(Method::GET, "bot/v3/info", Body::default).await?;
            let text = |key: &str| info["bot"][key].as_str().unwrap_or_default().to_owned();
            if text("open_id").is_empty() {
                return Err(Failure::Account("the application has no bot".to_owned()));
            }
            Ok((text("open_id"), text("app_name")))
        };
        self.bot.get_or_try_init(ask).await
    }

    /// The address to connect to, and the interval between pings.
    async fn endpoint(&self) -> Result<(String, Duration), End> {
        let found = self.api.endpoint().await.map_err(End::from)?;
        let code = found["code"].as_i64().unwrap_or(-1);
        let why = || {
            let why = found["msg"].as_str().unwrap_or("the platform returned no reason");
            self.api.http.reason(&format!("{why} ({code})"))
        };
        if REFUSED_CODES.contains(&code) {
            return Err(End::Refused(why()));
        }
        let url = found["data"]["URL"].as_str().filter(|_| code == 0).ok_or_else(|| End::Lost(why()))?;
        Ok((url.to_owned(), self.ping_every(&found["data"]["ClientConfig"])))
    }

    /// The interval between pings: short enough that a pong arrives before the connection counts as dead.
    fn ping_every(&self, config: &Value) -> Duration {
        let asked = Duration::from_secs(config["PingInterval"].as_u64().unwrap_or(u64::MAX).min(3600));
        asked.clamp(Duration::from_millis(50), self.silence / 3)
    }

    async fn connect(&self) -> Result<(Connection, Duration), End> {
        let (url, ping_every) = self.endpoint().await?;
        let service = Url::parse(&url).ok().and_then(|url| {
            let (_, service) = url.query_pairs().find(|(key, _)| key == "service_id")?;
            service.parse().ok()
        });
        let socket = Socket::connect(self.api.http.reach(), &url, &[]).await.map_err(End::from)?;
        let socket = socket.with_silence(self.silence);
        let acks = FuturesUnordered::new();
        let connection =
            Connection { socket, service: service.unwrap_or(0), joiner: Joiner::default(), acks };
        Ok((connection, ping_every))
    }

    async fn run(&self, inbox: &dyn Inbox, stop: &CancellationToken) -> Result<End, End> {
        let (bot, name) = self.bot().await.map_err(End::from)?;
        let (mut connection, ping_every) = self.connect().await?;
        inbox.connected(name);
        let mut pings = interval_at(Instant::now(), ping_every);
        loop {
            let ack = tokio::select! {
                () = stop.cancelled() => {
                    connection.socket.close().await;
                    return Ok(End::Stopped);
                }
                _ = pings.tick() => Some(Frame::ping(connection.service)),
                Some(ack) = connection.acks.next() => Some(ack),
                came = connection.socket.next() => {
                    inbox.alive();
                    match came.map_err(End::Lost)? {
                        socket::Frame::Binary(bytes) => self.take(&bytes, bot, &mut connection, &mut pings, inbox).await,
                        socket::Frame::Closed(code, why) => {
                            return Err(End::Lost(self.api.http.reason(&format!("the connection was closed with code {code}: {why}"))));
                        }
                        socket::Frame::Text(_) | socket::Frame::Beat => None,
                    }
                }
            };
            if let Some(ack) = ack {
                connection.socket.binary(ack.encode().into()).await.map_err(End::Lost)?;
            }
        }
    }

    /// Handles a frame; returns the acknowledgement to send now, if there is one.
    async fn take(
        &self,
        bytes: &[u8],
        bot: &str,
        connection: &mut Connection,
        pings: &mut tokio::time::Interval,
        inbox: &dyn Inbox,
    ) -> Option<Frame> {
        let frame = match Frame::decode(bytes) {
            Ok(frame) => frame,
            Err(why) => {
                tracing::warn!("Feishu sent a frame that cannot be read: {why}");
                return None;
            }
        };
        if frame.method == CONTROL && frame.header("type") == "pong" && !frame.payload.is_empty() {
            let config: Value = serde_json::from_slice(&frame.payload).unwrap_or_default();
            let every = self.ping_every(&config);
            if every != pings.period() {
                *pings = interval_at(Instant::now() + every, every);
            }
        }
        if frame.method != DATA || frame.header("type") != "event" {
            return None;
        }
        let began = Instant::now();
        let (id, sum, seq) = (frame.header("message_id"), frame.header("sum"), frame.header("seq"));
        let whole = match connection.joiner.add(id, sum, seq, frame.payload.clone()) {
            Ok(whole) => whole?,
            Err(why) => {
                tracing::warn!("Feishu sent a fragment that cannot be used: {why}");
                return None;
            }
        };
        let event: Value = serde_json::from_slice(&whole).unwrap_or_default();
        let Some(event) = incoming::read(&event, bot) else {
            // The event is of no use here, but without an acknowledgement the platform would send it again.
            return Some(ack(&frame, &Value::Null, began));
        };
        let waits = match &event.what {
            What::Press(_) => Some(self.wait_for_press(&event.id)),
            _ => None,
        };
        let id = event.id.clone();
        if let Err(why) = inbox.take(vec![event], None).await {
            self.forget_press(&id);
            tracing::warn!("an event from Feishu could not be stored; Feishu will send it again: {why}");
            return None;
        }
        let Some(waits) = waits else { return Some(ack(&frame, &Value::Null, began)) };
        connection.acks.push(Box::pin(async move {
            let data = match timeout(PRESS_PATIENCE, waits).await {
                Ok(Ok(text)) => json!({"toast": {"type": "info", "content": text}}),
                _ => Value::Null,
            };
            ack(&frame, &data, began)
        }));
        None
    }

    fn wait_for_press(&self, event: &str) -> oneshot::Receiver<String> {
        let (tell, told) = oneshot::channel();
        let mut presses = self.presses.lock().unwrap_or_else(PoisonError::into_inner);
        presses.retain(|_, tell| !tell.is_closed());
        presses.insert(event.to_owned(), tell);
        told
    }

    fn forget_press(&self, event: &str) -> Option<oneshot::Sender<String>> {
        self.presses.lock().unwrap_or_else(PoisonError::into_inner).remove(event)
    }

    async fn send_content(
        &self,
        to: &Conversation,
        kind: &str,
        content: String,
        reply: &Value,
        key: &str,
    ) -> Result<Sent, Failure> {
        paced(&self.sends)?;
        let uuid: String = key.chars().take(UUID_MAX_CHARS).collect();
        let (chat, thread) =
            to.id.split_once('/').map_or((&*to.id, None), |(chat, thread)| (chat, Some(thread)));
        let answered = incoming::id(&reply["message"]).filter(|_| to.is_group || thread.is_some());
        let mut body = json!({"msg_type": kind, "content": content, "uuid": uuid});
        let path = if let Some(message) = answered {
            body["reply_in_thread"] = json!(thread.is_some());
            format!("im/v1/messages/{message}/reply")
        } else {
            body["receive_id"] = json!(chat);
            "im/v1/messages?receive_id_type=chat_id".to_owned()
        };
        let data = self.api.call(Method::POST, &path, || Body::Json(body.clone())).await?;
        let id = incoming::id(&data["message_id"]);
        Ok(Sent {
            id: id.ok_or_else(|| {
                Failure::Unknown("the platform's response contains no message id".to_owned())
            })?,
        })
    }
}

/// Counts a request of the application.
fn paced(pace: &Pace) -> Result<(), Failure> {
    pace.take(&[("second", PER_SECOND), ("minute", PER_MINUTE)])
}

/// A connection, and the state of the events that arrived on it.
struct Connection {
    socket: Socket,
    service: i32,
    joiner: Joiner,
    /// Acknowledgements that wait for the outcome of a press.
    acks: FuturesUnordered<BoxFuture<'static, Frame>>,
}

/// The acknowledgement of an event: its last frame, with another payload.
fn ack(frame: &Frame, data: &Value, began: Instant) -> Frame {
    let mut payload = json!({"code": 200});
    if !data.is_null() {
        payload["data"] = json!(BASE64_STANDARD.encode(data.to_string()));
    }
    let mut ack = Frame { payload: payload.to_string().into_bytes(), ..frame.clone() };
    ack.headers.push(("biz_rt".to_owned(), began.elapsed().as_millis().to_string()));
    ack
}

impl Platform for Feishu {
    fn caps(&self) -> Caps {
        Caps {
            text_max: card::CARD_MAX_BYTES,
            unit: Unit::Bytes,
            buttons: true,
            edits: true,
            edit_every_ms: 250,
            send_every_ms: 250,
            key_lifetime_ms: Some(KEY_LIFETIME_MS),
            reply_window_ms: None,
            replies_max: None,
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async {
            let (_, name) = self.bot().await?;
            // The connection endpoint is queried too: the token may be older than a change of the secret, and the endpoint may refuse independently.
            match self.endpoint().await {
                Ok(_) => Ok(name.clone()),
                Err(End::Refused(why)) => Err(Failure::Account(why)),
                Err(End::Lost(why) | End::Wait { why, .. }) => Err(Failure::Away(why)),
                Err(End::Stopped) => Err(Failure::Away("stopped".to_owned())),
            }
        })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            tokio::select! {
                end = Feishu::run(self, inbox, stop) => end.unwrap_or_else(|end| end),
                // An open connection closes by itself; a connection attempt is dropped 3 s after the run was asked to stop.
                () = async { stop.cancelled().await; tokio::time::sleep(Duration::from_secs(3)).await } => End::Stopped,
            }
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        card::render(text, buttons)
    }

    fn render_card(&self, card: &Card, buttons: &[Button]) -> Vec<Outgoing> {
        card::native(card, buttons).map_or_else(|| card::render(&card.styled(), buttons), |card| vec![card])
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(self.send_content(to, "interactive", card::content(&message.payload, to), reply, key))
    }

    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            paced(&self.edits)?;
            let body = json!({"content": card::content(&message.payload, to)});
            let path = format!("im/v1/messages/{id}");
            self.api.call(Method::PATCH, &path, || Body::Json(body.clone())).await.map(drop)
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
            if file.bytes.is_empty() || file.bytes.len() as u64 > FILE_MAX_BYTES {
                return Err(Failure::Message("a file must be 1 byte to 30 MiB in size".to_owned()));
            }
            let is_image = file.is_image && file.bytes.len() <= IMAGE_MAX_BYTES;
            let uploaded = self.api.upload(&file.name, &file.bytes, is_image).await?;
            let (kind, field) = if is_image { ("image", "image_key") } else { ("file", "file_key") };
            self.send_content(to, kind, json!({field: uploaded}).to_string(), reply, key).await
        })
    }

    fn answer_press<'a>(&'a self, handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let waits = self.forget_press(handle["event"].as_str().unwrap_or_default());
            // The acknowledgement may have been sent by now; the card shows the outcome as well.
            let _ = waits.map(|waits| waits.send(text.to_owned()));
            Ok(())
        })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let (message, key) = (incoming::id(&media.handle["message"]), incoming::id(&media.handle["key"]));
            let (Some(message), Some(key)) = (message, key) else {
                return Err(Failure::Message("the file has no key".to_owned()));
            };
            let kind = if media.kind == MediaKind::Image { "image" } else { "file" };
            let path = format!("im/v1/messages/{message}/resources/{key}?type={kind}");
            self.api.resource(&path, max_bytes).await
        })
    }
}

#[cfg(test)]
mod tests;
