//! The connection to the gateway.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rand::RngExt as _;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::Discord;
use super::events::event;
use crate::event::What;
use crate::http::{Body, segment};
use crate::limits::{CONNECT_TIMEOUT, SILENCE_TIMEOUT};
use crate::names;
use crate::platform::{End, Failure, Inbox};
use crate::socket::{Frame, Socket};

/// The query of the gateway's address: the protocol version and the encoding.
const QUERY: &str = "/?v=10&encoding=json";
/// The intents for servers, their messages, and direct messages.
const INTENTS: u64 = 1 | 1 << 9 | 1 << 12;
/// The intent for receiving the content of messages that do not mention the bot; Discord must allow it for the application.
const MESSAGE_CONTENT: u64 = 1 << 15;
/// How long the first answer to a press may take: Discord gives up after 3 s.
const PRESS_PATIENCE: Duration = Duration::from_millis(2500);

/// The maximum number of conversations in which messages are looked up after a session could not be resumed; the most recently active ones are
/// chosen.
const CHANNELS_MAX: usize = 100;
/// The number of messages in a page: small enough that, with their embeds, they stay below the size limit of a response.
const PAGE: usize = 50;
/// The longest wait for Discord's rate limit while messages are looked up; heartbeats are delayed by the same time.
const WAIT_MAX_MS: u64 = 10_000;
/// The maximum number of pages that are looked up in one conversation, which is 1,000 messages.
const PAGES_MAX: usize = 20;

/// The cursor that the inbox stores: the place to resume at.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    /// The session's id; empty if the session cannot be resumed.
    session: String,
    url: String,
    seq: u64,
    us: Us,
    /// The last message of each conversation, the most recently active conversation at the end.
    #[serde(default)]
    channels: Vec<Channel>,
}

/// A conversation, and the last message that was read there.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Channel {
    id: String,
    /// The id of its server; `None` for a direct conversation.
    guild: Option<String>,
    last: String,
}

impl Place {
    /// Records that a message was read.
    fn read(&mut self, message: &Value) {
        let (Some(id), Some(last)) = (message["channel_id"].as_str(), message["id"].as_str()) else { return };
        self.channels.retain(|known| known.id != id);
        if self.channels.len() >= CHANNELS_MAX {
            self.channels.remove(0);
        }
        let guild = message["guild_id"].as_str().map(str::to_owned);
        self.channels.push(Channel { id: id.to_owned(), guild, last: last.to_owned() });
    }
}

/// The identity of the bot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Us {
    /// The bot user's id.
    pub(super) id: String,
    /// The application's id.
    pub(super) app: String,
    /// The bot's name.
    pub(super) name: String,
}

impl Discord {
    /// Connects once, and reads until the connection ends.
    pub(super) async fn connect(&self, inbox: &dyn Inbox) -> End {
        let place = inbox.cursor().await.and_then(|cursor| serde_json::from_str::<Place>(&cursor).ok());
        let resumable = place.as_ref().filter(|place| !place.session.is_empty());
        let base = match resumable {
            Some(place) => place.url.clone(),
            None => match self.gateway().await {
                Ok(url) => url,
                Err(end) => return end,
            },
        };
        let url = format!("{}{QUERY}", base.trim_end_matches('/'));
        let connected = Socket::connect(self.http.reach(), &url, &[]).await;
        let socket = match connected {
            Ok(socket) => socket,
            // The address for resuming may no longer exist; the general address always does.
            Err(failure) if resumable.is_some() => {
                let Ok(url) = self.gateway().await else { return ended(failure) };
                match Socket::connect(
                    self.http.reach(),
                    &format!("{}{QUERY}", url.trim_end_matches('/')),
                    &[],
                )
                .await
                {
                    Ok(socket) => socket,
                    Err(failure) => return ended(failure),
                }
            }
            Err(failure) => return ended(failure),
        };
        let mut session = Session { discord: self, inbox, socket, place, seq: 0 };
        match session.talk().await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn gateway(&self) -> Result<String, End> {
        let gateway = self.call(Method::GET, "/gateway/bot", Body::Empty).await.map_err(ended)?;
        let limit = &gateway["session_start_limit"];
        if limit["remaining"] == json!(0) {
            let ms = limit["reset_after"].as_u64().unwrap_or(60_000);
            return Err(End::Wait {
                ms,
                why: "Discord does not allow any more new sessions today".to_owned(),
            });
        }
        let url = gateway["url"].as_str();
        url.map(str::to_owned).ok_or_else(|| End::Lost("Discord returned no gateway address".to_owned()))
    }

    fn identify(&self) -> Value {
        let content = if self.has_no_content.load(Ordering::Relaxed) { 0 } else { MESSAGE_CONTENT };
        json!({"op": 2, "d": {
            "token": self.token, "intents": INTENTS | content,
            "properties": {"os": std::env::consts::OS, "browser": "sandbridge", "device": "sandbridge"},
        }})
    }

    /// Returns how a run ends if Discord closed the connection with this code.
    fn closed(&self, code: u16) -> End {
        match code {
            4004 => End::Refused("Discord refuses the token".to_owned()),
            4014 if !self.has_no_content.swap(true, Ordering::Relaxed) => {
                End::Lost("Message Content Intent is not turned on for this bot, so in servers it can read only messages that mention it".to_owned())
            }
            4010..=4014 => End::Refused(format!("Discord refuses the connection with code {code}")),
            code => End::Lost(format!("Discord closed the connection with code {code}")),
        }
    }
}

/// Uninhabited: the function ends only with an error.
enum Never {}

struct Session<'a> {
    discord: &'a Discord,
    inbox: &'a dyn Inbox,
    socket: Socket,
    place: Option<Place>,
    /// The sequence number of the last event.
    seq: u64,
}

impl Session<'_> {
    async fn talk(&mut self) -> Result<Never, End> {
        let hello = timeout(CONNECT_TIMEOUT, self.next())
            .await
            .map_err(|_| End::Lost("Discord did not send its hello message".to_owned()))??;
        let every = hello["d"]["heartbeat_interval"].as_u64().filter(|_| hello["op"] == 10);
        let Some(every) = every.filter(|every| *every > 0) else {
            return Err(End::Lost("Discord did not send its hello message".to_owned()));
        };
        let every = Duration::from_millis(every).min(SILENCE_TIMEOUT / 2);
        match self.place.as_ref().filter(|place| !place.session.is_empty()) {
            Some(place) => {
                self.seq = place.seq;
                let resume =
                    json!({"token": self.discord.token, "session_id": place.session, "seq": place.seq});
                self.send(&json!({"op": 6, "d": resume})).await?;
            }
            None => self.send(&self.discord.identify()).await?,
        }
        // The first heartbeat is at a random time, so that not all bots send theirs at once.
        let mut beat_at = Instant::now() + every.mul_f64(rand::rng().random_range(0.0..1.0));
        let mut is_answered = true;
        loop {
            let frame = tokio::select! {
                frame = self.next() => frame?,
                () = sleep_until(beat_at) => {
                    if !is_answered {
                        return Err(End::Lost("Discord does not answer heartbeats".to_owned()));
                    }
                    self.beat().await?;
                    is_answered = false;
                    beat_at = Instant::now() + every;
                    continue;
                }
            };
            self.inbox.alive();
            match frame["op"].as_u64() {
                Some(0) => self.dispatch(&frame).await?,
                Some(1) => self.beat().await?,
                Some(7) => return Err(End::Lost("Discord asks to connect again".to_owned())),
                Some(9) if frame["d"] == json!(true) => {
                    return Err(End::Lost("Discord asks to resume".to_owned()));
                }
                Some(9) => {
                    // The session is lost. Messages sent in the meantime are looked up when the next session begins.
                    let wait_ms = rand::rng().random_range(1000..5000);
                    sleep(Duration::from_millis(wait_ms)).await;
                    self.seq = 0;
                    self.send(&self.discord.identify()).await?;
                }
                Some(11) => is_answered = true,
                _ => {}
            }
        }
    }

    async fn next(&mut self) -> Result<Value, End> {
        loop {
            match self.socket.next().await.map_err(End::Lost)? {
                Frame::Text(text) => return Ok(serde_json::from_str(&text).unwrap_or_default()),
                Frame::Closed(code @ (4007 | 4009), _) => {
                    // Discord does not know the sequence number, so the next connection starts a new session.
                    if let Some(place) = &mut self.place {
                        place.session.clear();
                        let cursor = self.cursor();
                        self.take(Vec::new(), cursor).await?;
                    }
                    return Err(End::Lost(format!("Discord closed the connection with code {code}")));
                }
                Frame::Closed(code, _) => return Err(self.discord.closed(code)),
                Frame::Binary(_) | Frame::Beat => {}
            }
        }
    }

    async fn send(&mut self, frame: &Value) -> Result<(), End> {
        self.socket.text(frame.to_string()).await.map_err(End::Lost)
    }

    async fn beat(&mut self) -> Result<(), End> {
        let seq = if self.seq == 0 { Value::Null } else { json!(self.seq) };
        self.send(&json!({"op": 1, "d": seq})).await
    }

    async fn take(&self, events: Vec<crate::Event>, cursor: String) -> Result<(), End> {
        let taken = self.inbox.take(events, Some(cursor)).await;
        taken.map_err(|why| End::Lost(format!("the events could not be stored: {why}")))
    }

    async fn dispatch(&mut self, frame: &Value) -> Result<(), End> {
        self.seq = frame["s"].as_u64().unwrap_or(self.seq);
        let data = &frame["d"];
        match frame["t"].as_str() {
            Some("READY") => {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let us = Us {
                    id: text(&data["user"]["id"]),
                    app: text(&data["application"]["id"]),
                    name: names::person(data["user"]["username"].as_str().unwrap_or_default()),
                };
                let (session, url) = (text(&data["session_id"]), text(&data["resume_gateway_url"]));
                let old = self.place.take();
                let channels = old.map(|old| old.channels);
                let is_later = channels.is_some();
                self.place =
                    Some(Place { session, url, seq: self.seq, us, channels: channels.unwrap_or_default() });
                self.missed().await?;
                self.take(Vec::new(), self.cursor()).await?;
                if is_later {
                    self.inbox.gap(GAP);
                }
                self.connected();
            }
            Some("RESUMED") => self.connected(),
            Some(kind) => {
                let Some(place) = &mut self.place else { return Ok(()) };
                let Some(event) = event(kind, data, &place.us) else { return Ok(()) };
                if kind == "MESSAGE_CREATE" {
                    place.read(data);
                }
                let is_press = matches!(event.what, What::Press(_));
                self.take(vec![event], self.cursor()).await?;
                if is_press {
                    self.acknowledge(data).await;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Looks up, through the API, the messages sent in known conversations since those were last read. Each page is committed with the position up to
    /// which its conversation was read, and without the session, so that after a crash the server does not resume past messages that were not looked
    /// up.
    async fn missed(&mut self) -> Result<(), End> {
        let known = self.place.as_ref().map(|place| place.channels.clone()).unwrap_or_default();
        for Channel { id, guild, mut last } in known {
            let mut pages = 0;
            loop {
                if pages == PAGES_MAX {
                    self.inbox.gap(
                        "a conversation has more new messages than the server looks up; the newest ones were missed",
                    );
                    break;
                }
                pages += 1;
                let path =
                    format!("/channels/{}/messages?limit={PAGE}&after={}", segment(&id), segment(&last));
                let page = loop {
                    match self.discord.call(Method::GET, &path, Body::Empty).await {
                        Ok(page) => break page,
                        // Waits here, because ending the connection would start a new session and repeat all lookups.
                        Err(Failure::TooFast { wait_ms }) if wait_ms <= WAIT_MAX_MS => {
                            sleep(Duration::from_millis(wait_ms)).await;
                        }
                        // The bot may not read the conversation, or it was deleted.
                        Err(Failure::Closed(_) | Failure::Message(_)) => break Value::Null,
                        Err(failure) => return Err(ended(failure)),
                    }
                };
                let mut messages = page.as_array().cloned().unwrap_or_default();
                // Discord returns the newest message first.
                messages.reverse();
                let Some(place) = &mut self.place else { return Ok(()) };
                let mut missed = Vec::new();
                for message in &mut messages {
                    if let Some(guild) = &guild {
                        message["guild_id"] = json!(guild);
                    }
                    place.read(message);
                    missed.extend(event("MESSAGE_CREATE", message, &place.us));
                }
                if !missed.is_empty() {
                    let unfinished = Place { session: String::new(), ..place.clone() };
                    let cursor = serde_json::to_string(&unfinished).unwrap_or_default();
                    self.take(missed, cursor).await?;
                }
                match messages.last().and_then(|message| message["id"].as_str()) {
                    Some(id) if messages.len() >= PAGE => last = id.to_owned(),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    fn connected(&self) {
        if let Some(place) = &self.place {
            self.inbox.connected(&format!("@{}", place.us.name));
        }
    }

    /// The cursor after the last event.
    fn cursor(&self) -> String {
        let place = self.place.as_ref().map(|place| Place { seq: self.seq, ..place.clone() });
        place.and_then(|place| serde_json::to_string(&place).ok()).unwrap_or_default()
    }

    /// Confirms a button press to Discord, which otherwise shows the person a failure. The outcome is sent later.
    async fn acknowledge(&self, press: &Value) {
        let part = |key: &str| segment(press[key].as_str().unwrap_or_default());
        let path = format!("/interactions/{}/{}/callback", part("id"), part("token"));
        let told = self.discord.call(Method::POST, &path, Body::Json(json!({"type": 6})));
        match timeout(PRESS_PATIENCE, told).await {
            Ok(Ok(_)) => {}
            // The press has been recorded anyway.
            Ok(Err(failure)) => {
                tracing::info!(%failure, "a button press could not be acknowledged to Discord")
            }
            Err(_) => tracing::info!("a button press could not be acknowledged to Discord in time"),
        }
    }
}

const GAP: &str = "the bot was disconnected for longer than Discord keeps events: button presses were missed, and messages may have been missed in conversations that the bot had not read before";

fn ended(failure: Failure) -> End {
    match failure {
        Failure::Account(why) => End::Refused(format!("Discord refuses the token: {why}")),
        Failure::TooFast { wait_ms } => End::Wait { ms: wait_ms, why: "Discord asks to wait".to_owned() },
        failure => End::Lost(failure.to_string()),
    }
}
