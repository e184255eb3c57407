//! The connections of Socket Mode.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, interval_at, sleep_until, timeout};

use super::Slack;
use super::events::event;
use crate::http::Body;
use crate::limits::{CONNECT_TIMEOUT, REQUEST_TIMEOUT};
use crate::platform::{End, Failure, Inbox};
use crate::socket::{Frame, Socket};

/// How often Slack is pinged, in addition to Slack's own pings.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long the old connection is still read after a new one has been opened.
const OLD_FOR: Duration = Duration::from_secs(10);

impl Slack {
    /// Requests the address of a connection, which contains a ticket.
    pub(super) async fn open(&self) -> Result<String, Failure> {
        let opened = self
            .call("apps.connections.open", &self.app_token, Body::Form(Vec::new()), REQUEST_TIMEOUT)
            .await?;
        let url = opened["url"].as_str();
        url.map(str::to_owned)
            .ok_or_else(|| Failure::Away("Slack returned no address to connect to".to_owned()))
    }

    /// Opens a connection, and waits for Slack's hello.
    async fn greeted(&self) -> Result<Socket, Failure> {
        let mut socket = Socket::connect(self.http.reach(), &self.open().await?, &[]).await?;
        let hello = async {
            loop {
                match socket.next().await.map_err(Failure::Away)? {
                    Frame::Text(text) => {
                        let greeting: Value = serde_json::from_str(&text).unwrap_or_default();
                        if greeting["type"] == "hello" {
                            return Ok(());
                        }
                        return Err(Failure::Away("Slack did not send its hello message".to_owned()));
                    }
                    Frame::Closed(code, _) => {
                        return Err(Failure::Away(format!("the connection was closed with code {code}")));
                    }
                    Frame::Binary(_) | Frame::Beat => {}
                }
            }
        };
        timeout(CONNECT_TIMEOUT, hello)
            .await
            .map_err(|_| Failure::Away("Slack did not send its hello message".to_owned()))??;
        Ok(socket)
    }

    /// Connects once, and reads until the connection ends.
    pub(super) async fn connect(&self, inbox: &dyn Inbox) -> End {
        let us = match self.us().await {
            Ok(us) => us,
            Err(failure) => return ended(failure),
        };
        let mut socket = match self.greeted().await {
            Ok(socket) => socket,
            Err(failure) => return ended(failure),
        };
        inbox.connected(&us.shown);
        inbox.alive();
        let mut old: Option<(Socket, Instant)> = None;
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        loop {
            let until = old.as_ref().map_or_else(Instant::now, |(_, until)| *until);
            let (frame, is_old) = tokio::select! {
                frame = socket.next() => (frame, false),
                frame = next_of(&mut old) => (frame, true),
                () = sleep_until(until), if old.is_some() => {
                    if let Some((old, _)) = old.take() {
                        old.close().await;
                    }
                    continue;
                }
                _ = ping.tick() => match socket.ping().await {
                    Ok(()) => continue,
                    Err(why) => return End::Lost(why),
                },
            };
            let text = match frame {
                Ok(Frame::Text(text)) => text,
                Ok(Frame::Beat | Frame::Binary(_)) => {
                    inbox.alive();
                    continue;
                }
                // The old connection has ended.
                Ok(Frame::Closed(..)) | Err(_) if is_old => {
                    old = None;
                    continue;
                }
                Ok(Frame::Closed(code, _)) => {
                    return End::Lost(format!("Slack closed the connection with code {code}"));
                }
                Err(why) => return End::Lost(why),
            };
            inbox.alive();
            let envelope: Value = serde_json::from_str(&text).unwrap_or_default();
            if envelope["type"] == "disconnect" {
                if envelope["reason"] == "link_disabled" {
                    return End::Refused(
                        "Socket Mode is turned off for this app: turn it on at api.slack.com/apps".to_owned(),
                    );
                }
                if is_old {
                    continue;
                }
                // Events that were sent to the old connection are read there until it ends.
                match self.greeted().await {
                    Ok(new) => old = Some((std::mem::replace(&mut socket, new), Instant::now() + OLD_FOR)),
                    Err(failure) => return ended(failure),
                }
                continue;
            }
            let Some(id) = envelope["envelope_id"].as_str() else { continue };
            if let Some(event) = event(&envelope, &us) {
                let event = self.named(event).await;
                if let Err(why) = inbox.take(vec![event], None).await {
                    return End::Lost(format!("the events could not be stored: {why}"));
                }
            }
            let answer = json!({"envelope_id": id}).to_string();
            let sent = match &mut old {
                Some((old, _)) if is_old => old.text(answer).await,
                _ => socket.text(answer).await,
            };
            if let Err(why) = sent
                && !is_old
            {
                return End::Lost(why);
            }
        }
    }
}

/// Waits for the next frame of the old connection; waits forever if there is no old connection.
async fn next_of(old: &mut Option<(Socket, Instant)>) -> Result<Frame, String> {
    match old {
        Some((socket, _)) => socket.next().await,
        None => std::future::pending().await,
    }
}

fn ended(failure: Failure) -> End {
    match failure {
        Failure::Account(why) => End::Refused(format!("Slack refuses a token: {why}")),
        Failure::TooFast { wait_ms } => End::Wait { ms: wait_ms, why: "Slack asks to wait".to_owned() },
        failure => End::Lost(failure.to_string()),
    }
}
