//! A server's events about its user's chats, runners and settings, as they happen.

use api::event::{Event, ServerEvent};
use serde::Deserialize;

use super::failure::Failure;
use super::http::{nonsense, percent_encoded};
use super::session::Session;
use super::socket::{self, Inbox};

/// The events of one user.
pub(super) struct Events {
    inbox: Inbox,
    stood: Stood,
}

/// A position in the events, from which another connection can continue.
pub(super) struct Stood {
    epoch: String,
    seq: u64,
}

/// The kind of an event that cannot be read as a whole.
#[derive(Deserialize)]
struct Kind {
    r#type: String,
}

impl Events {
    /// Starts to listen; no event is missed after this returns.
    pub(super) async fn open(session: &Session) -> Result<Self, Failure> {
        Ok(Self::go_on(session, None).await?.0)
    }

    /// Continues from an earlier connection's position; returns true if all events since then will arrive, each once.
    pub(super) async fn go_on(session: &Session, stood: Option<&Stood>) -> Result<(Self, bool), Failure> {
        let path = match stood {
            None => "/api/v1/events".to_owned(),
            Some(Stood { epoch, seq }) => {
                format!("/api/v1/events?epoch={}&after={seq}", percent_encoded(epoch))
            }
        };
        let (_, inbox) = socket::open(session, &path).await?;
        let mut events = Self { inbox, stood: Stood { epoch: String::new(), seq: 0 } };
        let resumed = loop {
            if let Event::Hello { epoch, resumed, .. } = events.next().await? {
                events.stood.epoch = epoch;
                break resumed;
            }
        };
        if let Some(stood) = stood.filter(|_| resumed) {
            // The missed events are still to come.
            events.stood.seq = stood.seq;
        }
        Ok((events, resumed))
    }

    /// The next readable event; an error if the connection to the server is lost, or its greeting cannot be read.
    pub(super) async fn next(&mut self) -> Result<Event, Failure> {
        loop {
            let message = self.inbox.next().await?;
            if !message.is_text() {
                continue;
            }
            match serde_json::from_slice(message.as_payload()) {
                Ok(ServerEvent { seq, event }) => {
                    if seq > 0 {
                        self.stood.seq = seq;
                    }
                    return Ok(event);
                }
                // A caller that waits for the greeting would wait forever.
                Err(_) if is_hello(message.as_payload()) => return Err(nonsense()),
                Err(error) => tracing::debug!(%error, "an event of an unknown shape"),
            }
        }
    }

    /// The position in the events.
    pub(super) fn stood(self) -> Stood {
        self.stood
    }
}

fn is_hello(frame: &[u8]) -> bool {
    serde_json::from_slice::<Kind>(frame).is_ok_and(|kind| kind.r#type == "hello")
}
