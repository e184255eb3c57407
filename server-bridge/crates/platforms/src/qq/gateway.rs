//! The gateway: one WebSocket, and a session that is resumed on the next one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, interval, interval_at};
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::incoming;
use crate::http::Body;
use crate::platform::{End, Inbox};
use crate::socket::{Frame, Socket};

/// The sets of intents to request, the largest first: groups and direct messages, presses, mentions in channels, direct messages of channels. Bots
/// are granted the first of these intents sooner than the others, so if a set is refused, the next smaller one is requested.
const INTENTS: [u64; 3] = [1 << 25 | 1 << 26 | 1 << 30 | 1 << 12, 1 << 25 | 1 << 26, 1 << 25];

/// The shortest time between heartbeats.
const BEAT_MIN: Duration = Duration::from_millis(50);

/// A session, which is committed together with the events that arrived in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    id: String,
    seq: u64,
    /// The bot's id and name, which the platform sends only when a session begins.
    bot: String,
    name: String,
}

/// The state that is kept from one connection to the next.
#[derive(Debug, Default)]
pub(super) struct Gateway {
    /// The index in [`INTENTS`] of the set to request.
    level: AtomicUsize,
}

impl Gateway {
    pub(super) async fn run(
        &self,
        api: &Api,
        silence: Duration,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<End, End> {
        let found = api
            .call(reqwest::Method::GET, "/gateway/bot", Body::Empty)
            .await
            .map_err(End::from)?
            .unwrap_or_default();
        let limit = &found["session_start_limit"];
        if limit["remaining"] == 0 {
            let ms = limit["reset_after"].as_u64().unwrap_or(60_000);
            return Err(End::Wait {
                ms,
                why: "the platform does not allow any more new sessions today".to_owned(),
            });
        }
        let url = found["url"]
            .as_str()
            .ok_or_else(|| End::Lost("the platform returned no gateway address".to_owned()))?;
        let socket =
            Socket::connect(api.http.reach(), url, &[]).await.map_err(End::from)?.with_silence(silence);
        let session =
            inbox.cursor().await.and_then(|cursor| serde_json::from_str(&cursor).ok()).unwrap_or_default();
        let connection =
            Connection { gateway: self, api, inbox, socket, session, beats: None, is_beat_open: false };
        connection.run(silence, stop).await
    }

    /// Requests fewer intents from now on; returns false if there is no smaller set.
    fn ask_for_less(&self) -> bool {
        self.level.fetch_add(1, Ordering::SeqCst) + 1 < INTENTS.len()
    }
}

struct Connection<'a> {
    gateway: &'a Gateway,
    api: &'a Api,
    inbox: &'a dyn Inbox,
    socket: Socket,
    session: Session,
    beats: Option<Interval>,
    /// True while a heartbeat has not been answered.
    is_beat_open: bool,
}

impl Connection<'_> {
    async fn run(mut self, silence: Duration, stop: &CancellationToken) -> Result<End, End> {
        // This interval applies until the platform sends its own heartbeat interval.
        let mut none = interval(silence);
        none.tick().await;
        loop {
            let beats = self.beats.as_mut().unwrap_or(&mut none);
            tokio::select! {
                () = stop.cancelled() => {
                    self.socket.close().await;
                    return Ok(End::Stopped);
                }
                _ = beats.tick() => self.beat().await?,
                came = self.socket.next() => {
                    self.inbox.alive();
                    match came.map_err(End::Lost)? {
                        Frame::Text(text) => self.take(&text, silence).await?,
                        Frame::Closed(code, why) => return Err(self.closed(code, &why).await),
                        Frame::Binary(_) | Frame::Beat => {}
                    }
                }
            }
        }
    }

    async fn beat(&mut self) -> Result<(), End> {
        if self.is_beat_open {
            return Err(End::Lost("a heartbeat was not answered".to_owned()));
        }
        self.is_beat_open = true;
        let seq = if self.session.seq == 0 { Value::Null } else { json!(self.session.seq) };
        self.send(json!({"op": 1, "d": seq})).await
    }

    async fn send(&mut self, frame: Value) -> Result<(), End> {
        self.socket.text(frame.to_string()).await.map_err(End::Lost)
    }

    async fn take(&mut self, text: &str, silence: Duration) -> Result<(), End> {
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        match frame["op"].as_u64() {
            Some(0) => self.dispatched(&frame).await,
            Some(1) => self.beat().await,
            Some(7) => Err(End::Lost("the platform asks to connect again".to_owned())),
            Some(9) => {
                self.forget_session().await?;
                Err(End::Lost("the session is invalid".to_owned()))
            }
            Some(10) => {
                let ms = frame["d"]["heartbeat_interval"].as_u64().unwrap_or(30_000);
                let every = Duration::from_millis(ms).clamp(BEAT_MIN, silence / 3);
                self.beats = Some(interval_at(Instant::now() + every, every));
                self.join().await
            }
            Some(11) => {
                self.is_beat_open = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Identifies a new session or resumes the previous one.
    async fn join(&mut self) -> Result<(), End> {
        let token = self.api.authorization().await.map_err(End::from)?;
        let frame = if self.session.id.is_empty() {
            let intents = INTENTS[self.gateway.level.load(Ordering::SeqCst).min(INTENTS.len() - 1)];
            json!({"op": 2, "d": {"token": token, "intents": intents, "shard": [0, 1], "properties": {}}})
        } else {
            json!({"op": 6, "d": {"token": token, "session_id": self.session.id, "seq": self.session.seq}})
        };
        self.send(frame).await
    }

    async fn dispatched(&mut self, frame: &Value) -> Result<(), End> {
        let kind = frame["t"].as_str().unwrap_or_default();
        let seq = frame["s"].as_u64().unwrap_or(self.session.seq);
        let mut events = Vec::new();
        match kind {
            "READY" => {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                self.session.id = text(&frame["d"]["session_id"]);
                self.session.bot = text(&frame["d"]["user"]["id"]);
                self.session.name = crate::names::person(&text(&frame["d"]["user"]["username"]));
                self.inbox.connected(&self.session.name);
            }
            "RESUMED" => self.inbox.connected(&self.session.name),
            _ => events.extend(incoming::read(kind, &frame["d"], &frame["id"], &self.session.bot)),
        }
        // The sequence number is stored together with its events, so that after a failure the session resumes before them.
        let session = Session { seq, ..self.session.clone() };
        self.commit(events, &session)
            .await
            .map_err(|why| End::Lost(format!("the events could not be stored: {why}")))?;
        self.session = session;
        Ok(())
    }

    async fn commit(&self, events: Vec<crate::Event>, session: &Session) -> Result<(), String> {
        let cursor = serde_json::to_string(session).map_err(|error| error.to_string())?;
        self.inbox.take(events, Some(cursor)).await
    }

    async fn forget_session(&mut self) -> Result<(), End> {
        if !self.session.id.is_empty() {
            self.inbox.gap("the session could not be resumed: messages sent since it ended are lost");
        }
        self.session = Session::default();
        self.commit(Vec::new(), &self.session)
            .await
            .map_err(|why| End::Lost(format!("the events could not be stored: {why}")))
    }

    /// Returns how a run ends after a close code, according to the table in the platform's documentation.
    async fn closed(&mut self, code: u16, why: &str) -> End {
        let why = self.api.http.reason(&format!("the connection was closed with code {code}: {why}"));
        match code {
            4004 => self.api.renew().await,
            // The session is unknown, the sequence number is wrong, or the platform has an internal error.
            4006 | 4007 | 4900..=4913 => {
                if let Err(end) = self.forget_session().await {
                    return end;
                }
            }
            // The next connection asks for fewer intents; with no smaller set left, the account is refused.
            4013 | 4014 if !self.gateway.ask_for_less() => return End::Refused(why),
            4914 | 4915 => return End::Refused(why),
            _ => {}
        }
        End::Lost(why)
    }
}
