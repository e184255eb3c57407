//! The connections of the gateway.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message as Frame;
use tungstenite::protocol::CloseFrame;

use super::{BOT, Command, Inner, Session, TOKEN};
use crate::platforms::serve::{Polled, Socket, poll};

const MESSAGE_CONTENT: u64 = 1 << 15;

type Talked = Result<(), tungstenite::Error>;

/// One connection.
struct Talk<'a> {
    inner: &'a Inner,
    socket: Socket,
    number: u64,
    session: Option<String>,
    sent: usize,
    beat: Instant,
}

impl Inner {
    pub(super) fn serve_socket(&self, socket: Socket) {
        let number = {
            let mut state = self.state();
            state.next += 1;
            state.next
        };
        let talk = Talk { inner: self, socket, number, session: None, sent: 0, beat: Instant::now() };
        // The client may disconnect at any time.
        let _ = talk.run();
    }
}

impl Talk<'_> {
    fn send(&mut self, frame: &Value) -> Talked {
        self.socket.send(Frame::Text(frame.to_string().into()))
    }

    fn close(&mut self, code: u16) -> Talked {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        self.socket.close(Some(frame))?;
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until && poll(&mut self.socket) != Polled::Ended {}
        Ok(())
    }

    fn run(mut self) -> Talked {
        let (every, mut command) = {
            let state = self.inner.state();
            (state.heartbeat_ms, state.command.0)
        };
        self.send(
            &json!({"op": 10, "t": null, "s": null, "d": {"heartbeat_interval": every, "_trace": []}}),
        )?;
        loop {
            if self.inner.state().is_deaf {
                std::thread::sleep(Duration::from_millis(20));
                if self.socket.get_ref().peek(&mut [0]).is_ok_and(|read| read == 0) {
                    return Ok(());
                }
                continue;
            }
            let (now, what) = self.inner.state().command;
            if now > command {
                command = now;
                match what {
                    Command::Nothing => {}
                    Command::Reconnect => self.send(&json!({"op": 7, "d": null, "s": null, "t": null}))?,
                    Command::Invalidate => {
                        self.session = None;
                        self.send(&json!({"op": 9, "d": false, "s": null, "t": null}))?;
                    }
                    Command::Close(code) => return self.close(code),
                }
            }
            // A client without heartbeats is disconnected; Discord allows it some time.
            if self.beat.elapsed() > Duration::from_millis(every * 2 + 10_000) {
                return self.close(4009);
            }
            self.deliver()?;
            match poll(&mut self.socket) {
                Polled::Text(text) => {
                    if !self.handle(&text)? {
                        return Ok(());
                    }
                }
                Polled::Nothing => {}
                Polled::Ended => return Ok(()),
            }
        }
    }

    /// Sends the session's events that were not sent yet.
    fn deliver(&mut self) -> Talked {
        loop {
            let next = {
                let state = self.inner.state();
                let session = self.session.as_ref().and_then(|id| state.sessions.get(id));
                session
                    .filter(|session| session.connection == self.number)
                    .and_then(|session| session.events.get(self.sent).cloned())
            };
            let Some(event) = next else { return Ok(()) };
            self.sent += 1;
            self.send(&event)?;
        }
    }

    /// False if the connection ends.
    fn handle(&mut self, text: &str) -> Result<bool, tungstenite::Error> {
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            self.close(4002)?;
            return Ok(false);
        };
        match frame["op"].as_u64() {
            Some(1) => {
                self.beat = Instant::now();
                self.inner.state().beats += 1;
                self.send(&json!({"op": 11, "d": null, "s": null, "t": null}))?;
            }
            Some(2) => return self.identify(&frame["d"]),
            Some(6) => return self.resume(&frame["d"]),
            _ => {
                self.close(4001)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_known(&self, data: &Value) -> bool {
        // Clients differ in whether they write the scheme here.
        let token = data["token"].as_str().unwrap_or_default();
        token.trim_start_matches("Bot ") == TOKEN && !self.inner.state().is_revoked
    }

    fn identify(&mut self, data: &Value) -> Result<bool, tungstenite::Error> {
        if self.session.is_some() {
            self.close(4005)?;
            return Ok(false);
        }
        if !self.is_known(data) {
            self.close(4004)?;
            return Ok(false);
        }
        let Some(intents) = data["intents"].as_u64().filter(|_| data["properties"]["browser"].is_string())
        else {
            self.close(4013)?;
            return Ok(false);
        };
        if self.inner.state().forbids_content && intents & MESSAGE_CONTENT != 0 {
            self.close(4014)?;
            return Ok(false);
        }
        let url = self.inner.ws_url();
        let mut state = self.inner.state();
        state.identified += 1;
        let id = format!("session-{}", state.identified);
        let ready = json!({"v": 10, "user": {"id": BOT, "username": "sand", "bot": true}, "guilds": [], "session_id": id,
            "session_type": "normal", "resume_gateway_url": format!("{url}/resume"), "application": {"id": BOT, "flags": 0}});
        let events = vec![json!({"op": 0, "t": "READY", "s": 1, "d": ready})];
        state.sessions.insert(id.clone(), Session { events, connection: self.number });
        for (kind, data) in std::mem::take(&mut state.early) {
            state.dispatch(&kind, &data);
        }
        (self.session, self.sent) = (Some(id), 0);
        Ok(true)
    }

    fn resume(&mut self, data: &Value) -> Result<bool, tungstenite::Error> {
        if !self.is_known(data) {
            self.close(4004)?;
            return Ok(false);
        }
        let id = data["session_id"].as_str().unwrap_or_default().to_owned();
        let seq = usize::try_from(data["seq"].as_u64().unwrap_or(0)).unwrap_or(0);
        let mut state = self.inner.state();
        let Some(session) = state.sessions.get_mut(&id) else {
            drop(state);
            self.send(&json!({"op": 9, "d": false, "s": null, "t": null}))?;
            return Ok(true);
        };
        if seq > session.events.len() {
            drop(state);
            self.close(4007)?;
            return Ok(false);
        }
        session.connection = self.number;
        let next = session.events.len() + 1;
        session.events.push(json!({"op": 0, "t": "RESUMED", "s": next, "d": {"_trace": []}}));
        state.resumed += 1;
        drop(state);
        (self.session, self.sent) = (Some(id), seq);
        Ok(true)
    }
}
