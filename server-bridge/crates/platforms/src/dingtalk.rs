//! DingTalk: events arrive on a stream connection; answers are sent to the session's webhook until it expires, then by the robot API.
//!
//! Unacknowledged messages are delivered again for a minute (documentation of the stream mode), so messages are lost if the connection is down for
//! longer, and [`Inbox::gap`] reports that. The platform has no key for recognizing duplicates, and cannot change messages of this kind.

mod api;
mod incoming;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use serde_json::{Value, json};
use tokio::time::{Instant, interval};
use tokio_util::sync::CancellationToken;

use self::api::Api;
use crate::event::{Conversation, Media};
use crate::http::Http;
use crate::limits::SILENCE_TIMEOUT;
use crate::markup::{Markdown, numbered};
use crate::parts::split;
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::socket::{Frame, Socket};
use crate::styled::Styled;

/// The longest text, in bytes; the robot documentation allows 20,000.
const TEXT_MAX_BYTES: usize = 18_000;

/// The longest title, in characters; notifications show it.
const TITLE_MAX_CHARS: usize = 40;

/// How long the platform keeps redelivering unacknowledged messages.
const REPEATED_FOR: Duration = Duration::from_secs(60);

/// The largest file, in bytes, according to the upload documentation.
const FILE_MAX_BYTES: u64 = 20 * 1024 * 1024;

/// How long before its end a webhook is no longer used, in milliseconds.
const WEBHOOK_MARGIN_MS: i64 = 5_000;

const MARKDOWN: Markdown =
    Markdown { is_entity: false, is_json: false, strike: "", tags: &["<font", "<img"] };

/// The kind of platform, with the values that an account needs.
pub(crate) const KIND: Kind = Kind {
    name: "dingtalk",
    title: "DingTalk",
    setup: &[
        Setup {
            key: "client_id",
            label: "Client ID",
            help: "Create an internal app in the developer console, add a robot in stream mode, and copy the Client ID (AppKey) from Credentials.",
            is_secret: false,
            default: None,
        },
        Setup {
            key: "client_secret",
            label: "Client Secret",
            help: "Copy it from Credentials of the same app.",
            is_secret: true,
            default: None,
        },
        Setup {
            key: "robot_code",
            label: "Robot code",
            help: "Leave it empty if the robot code is the Client ID.",
            is_secret: false,
            default: Some(""),
        },
        Setup {
            key: "address",
            label: "Address",
            help: "Leave it as it is, unless requests to the API go through your own proxy.",
            is_secret: false,
            default: Some("https://api.dingtalk.com"),
        },
        Setup {
            key: "upload_address",
            label: "Upload address",
            help: "Leave it as it is, unless requests to the API go through your own proxy.",
            is_secret: false,
            default: Some("https://oapi.dingtalk.com"),
        },
    ],
    make,
};

fn make(setup: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    Ok(Arc::new(DingTalk::new(setup, reach)?))
}

/// An account on DingTalk, which is one robot.
struct DingTalk {
    api: Api,
    robot: String,
    /// When the last connection ended.
    ended: Mutex<Option<Instant>>,
    silence: Duration,
}

impl DingTalk {
    fn new(setup: &Value, reach: &Reach) -> Result<Self, String> {
        let value = |key: &str| setting(KIND.setup, setup, key);
        let (client_id, secret) = (value("client_id")?, value("client_secret")?);
        let http = Http::new(reach, &[&secret])?;
        let (base, upload) = (http.base(&value("address")?)?, http.base(&value("upload_address")?)?);
        let robot =
            Some(value("robot_code")?).filter(|code| !code.is_empty()).unwrap_or_else(|| client_id.clone());
        let api = Api::new(http, base, upload, client_id, secret);
        Ok(Self { api, robot, ended: Mutex::new(None), silence: SILENCE_TIMEOUT })
    }

    async fn run(&self, inbox: &dyn Inbox, stop: &CancellationToken) -> Result<End, End> {
        let url = self.api.open().await.map_err(End::from)?;
        let mut socket = Socket::connect(self.api.http.reach(), &url, &[])
            .await
            .map_err(End::from)?
            .with_silence(self.silence);
        inbox.connected(&self.robot);
        self.tell_gap(inbox).await;
        let mut pings = interval(self.silence / 3);
        let end = loop {
            let sent = tokio::select! {
                () = stop.cancelled() => {
                    socket.close().await;
                    return Ok(End::Stopped);
                }
                _ = pings.tick() => socket.ping().await,
                came = socket.next() => {
                    inbox.alive();
                    match came {
                        Ok(Frame::Text(text)) => match self.take(&text, inbox).await {
                            Ok(Some(ack)) => socket.text(ack.to_string()).await,
                            Ok(None) => Ok(()),
                            Err(end) => break end,
                        },
                        Ok(Frame::Closed(code, why)) => Err(self.api.http.reason(&format!("the connection was closed with code {code}: {why}"))),
                        Ok(Frame::Binary(_) | Frame::Beat) => Ok(()),
                        Err(why) => Err(why),
                    }
                }
            };
            if let Err(why) = sent {
                break End::Lost(why);
            }
        };
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Err(end)
    }

    async fn tell_gap(&self, inbox: &dyn Inbox) {
        let ended = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let is_gap = match ended {
            Some(ended) => ended.elapsed() > REPEATED_FOR,
            // The server was not running for an unknown time.
            None => inbox.cursor().await.is_some(),
        };
        if is_gap {
            inbox.gap("messages sent more than a minute before this connection are lost: DingTalk does not deliver them later");
        }
    }

    /// Handles a frame; returns its acknowledgement, if it needs one.
    async fn take(&self, text: &str, inbox: &dyn Inbox) -> Result<Option<Value>, End> {
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        let ack = |data: Value| {
            let headers =
                json!({"messageId": frame["headers"]["messageId"], "contentType": "application/json"});
            Some(json!({"code": 200, "headers": headers, "message": "OK", "data": data}))
        };
        match (
            frame["type"].as_str().unwrap_or_default(),
            frame["headers"]["topic"].as_str().unwrap_or_default(),
        ) {
            ("SYSTEM", "disconnect") => Err(End::Lost("the platform ended the connection".to_owned())),
            // A ping is answered with its own data.
            ("SYSTEM", _) => Ok(ack(json!(frame["data"].as_str().unwrap_or("{}")))),
            ("EVENT", _) => Ok(ack(json!(json!({"status": "SUCCESS"}).to_string()))),
            ("CALLBACK", _) => {
                let message: Value = frame["data"]
                    .as_str()
                    .and_then(|data| serde_json::from_str(data).ok())
                    .unwrap_or_default();
                if let Some(event) = incoming::read(&message) {
                    let cursor = event.at_ms.to_string();
                    if let Err(why) = inbox.take(vec![event], Some(cursor)).await {
                        tracing::warn!(
                            "a message from DingTalk could not be stored; DingTalk will send it again: {why}"
                        );
                        return Ok(None);
                    }
                }
                Ok(ack(json!(json!({"response": null}).to_string())))
            }
            _ => Ok(None),
        }
    }

    /// Sends a message by the robot API.
    async fn by_api(&self, to: &Conversation, kind: &str, param: &Value) -> Result<Sent, Failure> {
        let mut body = json!({"robotCode": self.robot, "msgKey": kind, "msgParam": param.to_string()});
        let path = match to.id.split_once(':') {
            Some(("group", id)) => {
                body["openConversationId"] = json!(id);
                "/v1.0/robot/groupMessages/send"
            }
            Some(("user", id)) => {
                body["userIds"] = json!([id]);
                "/v1.0/robot/oToMessages/batchSend"
            }
            _ => return Err(Failure::Message("the conversation is not on DingTalk".to_owned())),
        };
        let found = self.api.call(path, body).await?;
        let is_listed = |key: &str| found[key].as_array().is_some_and(|list| !list.is_empty());
        if is_listed("invalidStaffIdList") {
            return Err(Failure::Closed("this person is not a member of the organization".to_owned()));
        }
        if is_listed("flowControlledStaffIdList") {
            return Err(crate::http::too_fast(None));
        }
        Ok(Sent { id: found["processQueryKey"].as_str().unwrap_or_default().to_owned() })
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

impl Platform for DingTalk {
    fn caps(&self) -> Caps {
        Caps {
            text_max: TEXT_MAX_BYTES,
            unit: Unit::Bytes,
            buttons: false,
            edits: false,
            edit_every_ms: 0,
            // DingTalk allows 20 messages a minute.
            send_every_ms: 3000,
            key_lifetime_ms: None,
            reply_window_ms: None,
            replies_max: None,
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async {
            self.api.token().await?;
            self.api.open().await?;
            // The platform does not report the name of a robot.
            Ok(self.robot.clone())
        })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move { DingTalk::run(self, inbox, stop).await.unwrap_or_else(|end| end) })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        let text = numbered(text, buttons, "\n\n");
        let title = title_of(&text);
        let mut parts: Vec<_> =
            split(&text, TEXT_MAX_BYTES, &MARKDOWN).iter().map(|part| MARKDOWN.render(part)).collect();
        if parts.is_empty() {
            parts.push("…".to_owned());
        }
        parts.into_iter().map(|text| Outgoing { payload: json!({"title": title, "text": text}) }).collect()
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let is_open =
                reply["until_ms"].as_i64().is_some_and(|until| now_ms() < until - WEBHOOK_MARGIN_MS);
            if let Some(webhook) = reply["webhook"].as_str().filter(|_| is_open) {
                let body = json!({"msgtype": "markdown", "markdown": message.payload});
                if self.api.by_session(webhook, body).await? {
                    // A message sent by webhook gets no id.
                    return Ok(Sent { id: String::new() });
                }
            }
            self.by_api(to, "sampleMarkdown", &message.payload).await
        })
    }

    fn edit<'a>(
        &'a self,
        _: &'a Conversation,
        _: &'a str,
        _: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Err(Failure::Message("DingTalk cannot change messages of this kind".to_owned())) })
    }

    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        _: &'a Value,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            if file.bytes.is_empty() || file.bytes.len() as u64 > FILE_MAX_BYTES {
                return Err(Failure::Message("a file must be 1 byte to 20 MiB in size".to_owned()));
            }
            let name = crate::names::file(&file.name);
            let name = if name.is_empty() { "file" } else { &name };
            let media = self.api.upload(name, &file.bytes, file.is_image).await.map_err(Failure::not_sent)?;
            if file.is_image {
                return self.by_api(to, "sampleImageMsg", &json!({"photoURL": media})).await;
            }
            let ending = name.rsplit_once('.').map_or("txt", |(_, ending)| ending);
            self.by_api(to, "sampleFile", &json!({"mediaId": media, "fileName": name, "fileType": ending}))
                .await
        })
    }

    fn answer_press<'a>(&'a self, _: &'a Value, _: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let body = json!({"robotCode": self.robot, "downloadCode": media.handle["code"]});
            let found =
                self.api.call("/v1.0/robot/messageFiles/download", body).await.map_err(Failure::not_sent)?;
            self.api.http.fetch(found["downloadUrl"].as_str().unwrap_or_default(), &[], max_bytes).await
        })
    }
}

/// The title that notifications show: the first line that is not empty.
fn title_of(text: &Styled) -> String {
    let text = text.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("…");
    line.chars().take(TITLE_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests;
