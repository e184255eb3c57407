//! The connections of Socket Mode.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message as Frame;

use super::{Envelope, Inner};
use crate::platforms::serve::{Polled, Request, Socket, poll};

/// An envelope that is not acknowledged within this time is sent again.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(3);
/// The interval between Slack's pings.
const PING_EVERY: Duration = Duration::from_secs(5);

impl Inner {
    pub(super) fn accepts(&self, request: &Request) -> bool {
        let ticket = request.query("ticket").unwrap_or_default();
        request.path == "/link/" && self.state().tickets.remove(&ticket)
    }

    pub(super) fn serve_socket(&self, mut socket: Socket) {
        {
            let mut state = self.state();
            state.sockets += 1;
            state.connections += 1;
            state.most_sockets = state.most_sockets.max(state.sockets);
        }
        let mut sent: HashMap<String, (Envelope, Instant)> = HashMap::new();
        // The client may disconnect at any time.
        let _ = self.talk(&mut socket, &mut sent);
        let mut state = self.state();
        state.sockets -= 1;
        for (_, (envelope, _)) in sent {
            state.waiting.push_front(Envelope { attempt: envelope.attempt + 1, ..envelope });
        }
    }

    fn talk(
        &self,
        socket: &mut Socket,
        sent: &mut HashMap<String, (Envelope, Instant)>,
    ) -> Result<(), tungstenite::Error> {
        let text = |value: &Value| Frame::Text(value.to_string().into());
        let mut disconnects = self.state().disconnect.0;
        let info = json!({"host": "stand-in", "build_number": 1, "approximate_connection_time": 3600});
        socket.send(text(&json!({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A111"}, "debug_info": info})))?;
        let mut pinged = Instant::now();
        let mut is_leaving = false;
        loop {
            if self.state().is_deaf {
                std::thread::sleep(Duration::from_millis(20));
                // Only the end of the connection ends this loop.
                if socket.get_ref().peek(&mut [0]).is_ok_and(|read| read == 0) {
                    return Ok(());
                }
                continue;
            }
            let (now, reason) = self.state().disconnect.clone();
            if now > disconnects {
                disconnects = now;
                is_leaving = true;
                socket.send(text(&json!({"type": "disconnect", "reason": reason, "debug_info": info})))?;
            }
            if pinged.elapsed() > PING_EVERY {
                pinged = Instant::now();
                socket.send(Frame::Ping("ping".into()))?;
            }
            let late: Vec<String> = sent
                .iter()
                .filter(|(_, (_, at))| at.elapsed() > ACKNOWLEDGED_WITHIN)
                .map(|(id, _)| id.clone())
                .collect();
            for id in late {
                if let Some((envelope, _)) = sent.remove(&id) {
                    self.state().waiting.push_back(Envelope { attempt: envelope.attempt + 1, ..envelope });
                }
            }
            let next = {
                let mut state = self.state();
                // A connection that is being replaced gets nothing new once another one exists.
                let takes = !is_leaving || state.sockets == 1;
                takes
                    .then(|| state.waiting.pop_front())
                    .flatten()
                    .map(|envelope| (envelope, state.unique(), state.repeats))
            };
            if let Some((envelope, number, repeats)) = next {
                let id = format!("{number:08x}-envelope");
                let document = json!({"envelope_id": id, "type": envelope.kind, "payload": envelope.payload,
                    "accepts_response_payload": envelope.kind == "interactive", "retry_attempt": envelope.attempt,
                    "retry_reason": if envelope.attempt > 0 { "timeout" } else { "" }});
                sent.insert(id, (envelope, Instant::now()));
                for _ in 0..if repeats { 2 } else { 1 } {
                    self.state().delivered += 1;
                    socket.send(text(&document))?;
                }
            }
            match poll(socket) {
                Polled::Text(answer) => {
                    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
                    let id = answer["envelope_id"].as_str().unwrap_or_default();
                    if sent.remove(id).is_some() {
                        self.state().acknowledged += 1;
                    }
                }
                Polled::Nothing => {}
                Polled::Ended => return Ok(()),
            }
        }
    }
}
