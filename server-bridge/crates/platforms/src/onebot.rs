//! OneBot 11: QQ accounts in NapCat and similar programs.
//!
//! ```text
//!   forward: the server connects to NapCat    reverse: NapCat connects to the server
//!   events ─▶ read ─▶ Inbox::take             actions {action, params, echo} ─▶ answers by their echo
//! ```
//! Nothing is acknowledged and nothing is replayed: messages sent while the account was not connected are lost, and [`Inbox::gap`] reports
//! that. Messages are sent as segments, in which a CQ code is plain text. There are no buttons, and messages cannot be changed.

mod message;

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::*;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use self::message::{id, number};
use crate::calls::{Call, Calls, Pending};
use crate::event::{Conversation, Media};
use crate::http::Http;
use crate::limits::{CONNECT_TIMEOUT, SILENCE_TIMEOUT};
use crate::markup::{Plain, numbered};
use crate::parts::split;
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::socket::{self, Socket};
use crate::styled::Styled;

/// The longest text, in characters: QQ loses texts of more than about 4,500 characters.
const TEXT_MAX_CHARS: usize = 3000;

/// The shortest time between two messages of the account: QQ restricts accounts that send faster.
const SEND_EVERY: Duration = Duration::from_millis(500);

/// The largest file, in bytes: it is sent as text within one frame.
const FILE_MAX_BYTES: u64 = 20 * 1024 * 1024;

/// The shortest permitted token for connections that NapCat opens, in characters; anyone who can reach the port could try to guess the token.
const LISTEN_TOKEN_MIN_CHARS: usize = 16;

/// The limit on simultaneous handshakes, and on the time that one handshake may take.
const HANDSHAKES_MAX: usize = 16;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait while another message is being sent.
const TURN_WAIT_MS: u64 = 500;

/// How long to wait before trying again to commit an event.
const COMMIT_AGAIN: Duration = Duration::from_secs(1);

/// The kind of platform, with the values that an account needs.
pub(crate) const KIND: Kind = Kind {
    name: "onebot",
    title: "OneBot 11 (NapCat)",
    setup: &[
        Setup {
            key: "url",
            label: "Address",
            help: "Enable a WebSocket server in NapCat's network settings, with messages as arrays, and enter its address: ws://host:3001. Leave it empty if NapCat connects to this server.",
            is_secret: false,
            default: Some(""),
        },
        Setup {
            key: "listen",
            label: "Listen on",
            help: "For a WebSocket client in NapCat: the IP address and port of this server that NapCat connects to, such as 0.0.0.0:6199.",
            is_secret: false,
            default: Some(""),
        },
        Setup {
            key: "token",
            label: "Token",
            help: "The token that NapCat's network settings show for this connection; at least 16 characters if NapCat connects to this server.",
            is_secret: true,
            default: None,
        },
    ],
    make,
};

fn make(setup: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let value = |key: &str| setting(KIND.setup, setup, key);
    // The token is required, because without one anyone could send events in the account's name.
    let token = value("token")?;
    let http = Http::new(reach, &[&token])?;
    let (url, listen) = (value("url")?, value("listen")?);
    let way = match (
        Some(url).filter(|url| !url.is_empty()),
        Some(listen).filter(|listen| !listen.is_empty()),
    ) {
        (Some(url), None) => {
            let (scheme, rest) =
                url.split_once("://").ok_or("the address must begin with ws:// or wss://")?;
            let scheme = match scheme {
                "ws" => "http",
                "wss" => "https",
                _ => return Err("the address must begin with ws:// or wss://".to_owned()),
            };
            http.base(&format!("{scheme}://{rest}"))?;
            Way::Forward(url)
        }
        (None, Some(_)) if token.chars().count() < LISTEN_TOKEN_MIN_CHARS => {
            return Err(format!(
                "the token must have at least {LISTEN_TOKEN_MIN_CHARS} characters if NapCat connects to this server"
            ));
        }
        (None, Some(listen)) => {
            let address =
                listen.parse().map_err(|_| "the address to listen on must be an IP address and a port")?;
            Way::Reverse(address)
        }
        _ => return Err("enter either the address to connect to or the address to listen on".to_owned()),
    };
    Ok(Arc::new(OneBot::new(http, way, token)))
}

/// The direction in which the connection is opened.
#[derive(Debug)]
enum Way {
    Forward(String),
    Reverse(std::net::SocketAddr),
}

/// One QQ account.
struct OneBot {
    http: Http,
    way: Way,
    token: String,
    calls: Calls,
    /// When the next message may be sent.
    next: Mutex<Instant>,
    silence: Duration,
}

impl OneBot {
    fn new(http: Http, way: Way, token: String) -> Self {
        Self {
            http,
            way,
            token,
            calls: Calls::default(),
            next: Mutex::new(Instant::now()),
            silence: SILENCE_TIMEOUT,
        }
    }

    async fn connect(&self) -> Result<Socket, Failure> {
        let socket = match &self.way {
            Way::Forward(url) => {
                let bearer = format!("Bearer {}", self.token);
                Socket::connect(self.http.reach(), url, &[("authorization", &bearer)]).await?
            }
            Way::Reverse(address) => {
                let listener = TcpListener::bind(address).await;
                let listener =
                    listener.map_err(|error| Failure::Away(format!("listening on {address}: {error}")))?;
                // Handshakes run in parallel, so that a silent connection does not block others; dropping the set closes the remaining ones.
                let mut handshakes = JoinSet::new();
                loop {
                    tokio::select! {
                        accepted = listener.accept(), if handshakes.len() < HANDSHAKES_MAX => {
                            let (stream, _) = accepted.map_err(|error| Failure::Away(error.to_string()))?;
                            let token = self.token.clone();
                            handshakes.spawn(async move {
                                timeout(HANDSHAKE_TIMEOUT, Socket::accept(stream, &token)).await.ok().flatten()
                            });
                        }
                        // A connection without the token, or without a WebSocket handshake, is dropped.
                        Some(done) = handshakes.join_next() => if let Ok(Some(socket)) = done {
                            break socket;
                        }
                    }
                }
            }
        };
        Ok(socket.with_silence(self.silence))
    }

    /// Runs a connection; `calls` are the requests to send on it.
    async fn session(
        &self,
        mut socket: Socket,
        mut calls: mpsc::Receiver<Call>,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> End {
        let mut pending = Pending::default();
        // Pings are for programs that send no heartbeats.
        let mut pings = interval(self.silence / 3);
        loop {
            let sent = tokio::select! {
                () = stop.cancelled() => {
                    socket.close().await;
                    return End::Stopped;
                }
                _ = pings.tick() => socket.ping().await,
                Some(call) = calls.recv() => socket.text(pending.add(call)).await,
                came = socket.next() => match came {
                    Ok(socket::Frame::Text(text)) => match self.take(&text, &mut pending, inbox, stop).await {
                        Some(end) => return end,
                        None => Ok(()),
                    },
                    Ok(socket::Frame::Closed(code, why)) => Err(self.http.reason(&format!("the connection was closed with code {code}: {why}"))),
                    Ok(socket::Frame::Binary(_)) => Ok(()),
                    Ok(socket::Frame::Beat) => {
                        inbox.alive();
                        Ok(())
                    }
                    Err(why) => Err(why),
                },
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
        if came["post_type"].is_null() {
            let result = match came["status"].as_str() {
                // The status `async` means that the program accepted the action and does not report its result.
                Some("ok" | "async") => Ok(came["data"].clone()),
                _ => Err(failure(&came)),
            };
            let is_refused = matches!(result, Err(Failure::Account(_)));
            let is_ours = id(&came["echo"]).is_some_and(|echo| pending.answer(&echo, result));
            if is_refused && !is_ours {
                return Some(End::Refused("the token is refused".to_owned()));
            }
            inbox.alive();
            return None;
        }
        // NapCat is connected but the account is not logged in to QQ, so no messages would arrive.
        if came["status"]["online"] == false {
            return Some(End::Lost("the account is not logged in to QQ".to_owned()));
        }
        inbox.alive();
        let event = message::read(&came)?;
        let time = came["time"].to_string();
        // OneBot does not send the event again, so this loop keeps it until it is committed.
        while let Err(why) = inbox.take(vec![event.clone()], Some(time.clone())).await {
            tracing::warn!("an event from OneBot could not be stored; the server will try again: {why}");
            tokio::select! {
                () = stop.cancelled() => return Some(End::Stopped),
                () = sleep(COMMIT_AGAIN) => {}
            }
        }
        None
    }

    /// Once the account is connected, reports its name, and that messages may have been missed.
    async fn greet(&self, inbox: &dyn Inbox) -> Result<(), Failure> {
        let info = self.ask("get_login_info", json!({})).await?;
        inbox.connected(&login(&info));
        if inbox.cursor().await.is_some() {
            inbox.gap("messages sent while the account was not connected are lost: OneBot does not deliver them later");
        }
        Ok(())
    }

    /// Requests an action; returns the field `data` of the response.
    async fn ask(&self, action: &'static str, params: Value) -> Result<Value, Failure> {
        let echo = self.calls.number().to_string();
        self.calls.ask(echo.clone(), json!({"action": action, "params": params, "echo": echo})).await
    }

    async fn ask_paced(&self, action: &'static str, params: Value) -> Result<Value, Failure> {
        // The lock is held until the response arrives. A second caller fails at once instead of waiting.
        let Ok(mut next) = self.next.try_lock() else {
            return Err(Failure::TooFast { wait_ms: TURN_WAIT_MS });
        };
        sleep_until(*next).await;
        let answer = self.ask(action, params).await;
        *next = Instant::now() + SEND_EVERY;
        answer
    }

    async fn send_segments(
        &self,
        to: &Conversation,
        segments: Vec<Value>,
        reply: &Value,
    ) -> Result<Sent, Failure> {
        let mut params = target(to)?;
        if let Some(group) = id(&reply["group"]).filter(|_| !to.is_group) {
            params["group_id"] = number(&group);
        }
        params["message"] = json!(segments);
        let action = if to.is_group { "send_group_msg" } else { "send_private_msg" };
        let data = self.ask_paced(action, params).await?;
        Ok(Sent { id: id(&data["message_id"]).unwrap_or_default() })
    }
}

/// Returns the failure that the response to an action reports.
fn failure(answer: &Value) -> Failure {
    let texts = ["wording", "message", "msg"].map(|key| answer[key].as_str().unwrap_or_default());
    let text = texts.into_iter().find(|text| !text.is_empty()).unwrap_or("the platform returned no reason");
    let code = answer["retcode"].as_i64().unwrap_or(0);
    let why = format!("{text:.200} ({code})");
    if matches!(code, 1401 | 1403) { Failure::Account(why) } else { Failure::Message(why) }
}

/// The parameters that name the group or the person of a conversation.
fn target(to: &Conversation) -> Result<Value, Failure> {
    match to.id.split_once(':') {
        Some(("group", group)) => Ok(json!({"group_id": number(group)})),
        Some(("private", user)) => Ok(json!({"user_id": number(user)})),
        _ => Err(Failure::Message("the conversation is not on OneBot".to_owned())),
    }
}

fn login(info: &Value) -> String {
    let name = crate::names::person(info["nickname"].as_str().unwrap_or_default());
    format!("{name} ({})", id(&info["user_id"]).unwrap_or_default())
}

impl Platform for OneBot {
    fn caps(&self) -> Caps {
        Caps {
            text_max: TEXT_MAX_CHARS,
            unit: Unit::Chars,
            buttons: false,
            edits: false,
            edit_every_ms: 0,
            send_every_ms: 500,
            key_lifetime_ms: None,
            reply_window_ms: None,
            replies_max: None,
            replays: false,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async {
            if let Way::Reverse(_) = self.way {
                // In reverse mode only the open connection can be used for requests.
                return Ok(login(&self.ask("get_login_info", json!({})).await?));
            }
            let mut socket = self.connect().await?;
            let ask = json!({"action": "get_login_info", "params": {}, "echo": "probe"});
            socket.text(ask.to_string()).await.map_err(Failure::Away)?;
            let answer = async {
                loop {
                    let socket::Frame::Text(text) = socket.next().await.map_err(Failure::Away)? else {
                        continue;
                    };
                    let came: Value = serde_json::from_str(&text).unwrap_or_default();
                    if came["status"] == "failed" {
                        return Err(failure(&came));
                    }
                    if came["echo"] == "probe" {
                        return Ok(login(&came["data"]));
                    }
                }
            };
            timeout(CONNECT_TIMEOUT, answer).await.map_err(|_| Failure::Away("no response".to_owned()))?
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
            let session = self.session(socket, calls, inbox, stop);
            let greeted = async {
                match self.greet(inbox).await {
                    // The session's own end gives the better reason, so this waits for the session to end.
                    Ok(()) | Err(Failure::Away(_) | Failure::Unknown(_)) => std::future::pending().await,
                    Err(failure) => failure.into(),
                }
            };
            let end = tokio::select! {
                end = session => end,
                end = greeted => end,
            };
            self.calls.end(&line);
            end
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        const PLAIN: Plain = Plain { unit: Unit::Chars, tags: &[] };
        let text = numbered(text, buttons, "\n");
        let mut parts: Vec<_> =
            split(&text, TEXT_MAX_CHARS, &PLAIN).iter().map(|part| PLAIN.render(part)).collect();
        if parts.is_empty() {
            parts.push("…".to_owned());
        }
        parts.into_iter().map(|text| Outgoing { payload: json!({"text": text}) }).collect()
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let mut segments = vec![json!({"type": "text", "data": {"text": message.payload["text"]}})];
            if let Some(answered) = id(&reply["message"]).filter(|_| to.is_group) {
                segments.insert(0, json!({"type": "reply", "data": {"id": answered}}));
            }
            self.send_segments(to, segments, reply).await
        })
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
        _: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            if file.bytes.is_empty() || file.bytes.len() as u64 > FILE_MAX_BYTES {
                return Err(Failure::Message("a file must be 1 byte to 20 MiB in size".to_owned()));
            }
            let data = format!("base64://{}", BASE64_STANDARD.encode(&file.bytes));
            if file.is_image {
                return self
                    .send_segments(to, vec![json!({"type": "image", "data": {"file": data}})], reply)
                    .await;
            }
            let mut params = target(to)?;
            params["file"] = json!(data);
            let name = crate::names::file(&file.name);
            params["name"] = json!(if name.is_empty() { "file" } else { &name });
            let action = if to.is_group { "upload_group_file" } else { "upload_private_file" };
            let data = self.ask_paced(action, params).await?;
            Ok(Sent { id: id(&data["message_id"]).or_else(|| id(&data["file_id"])).unwrap_or_default() })
        })
    }

    fn answer_press<'a>(&'a self, _: &'a Value, _: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            if let Some(url) = media.handle["url"].as_str() {
                return self.http.fetch(url, &[], max_bytes).await;
            }
            let file =
                id(&media.handle["file"]).ok_or_else(|| Failure::Message("the file has no id".to_owned()))?;
            let found = self.ask("get_file", json!({"file_id": file, "file": file})).await?;
            // A path on NapCat's machine cannot be read here, so only content sent as base64 is used.
            if let Some(text) = found["base64"].as_str().filter(|text| !text.is_empty()) {
                let bytes = BASE64_STANDARD
                    .decode(text)
                    .map_err(|_| Failure::Message("the file's content is not valid base64".to_owned()))?;
                let is_good = bytes.len() as u64 <= max_bytes;
                return if is_good {
                    Ok(bytes.into())
                } else {
                    Err(Failure::Message("the file is too large".to_owned()))
                };
            }
            let url = found["url"].as_str().filter(|url| url.starts_with("http")).unwrap_or_default();
            self.http.fetch(url, &[], max_bytes).await
        })
    }
}

#[cfg(test)]
mod tests;
