//! What a server tells of its user's chats, runners and settings, as it happens.

use serde_json::Value;

use super::client::percent_encoded;
use super::failure::Failure;
use super::session::Session;
use super::socket::{self, Inbox};

/// The events of one user.
pub(super) struct Events {
    inbox: Inbox,
    stood: Stood,
}

/// How far they were heard: where another connection goes on.
pub(super) struct Stood {
    epoch: String,
    seq: u64,
}

impl Events {
    /// Begins to listen; from its return on nothing is missed.
    pub(super) async fn open(session: &Session) -> Result<Self, Failure> {
        Ok(Self::go_on(session, None).await?.0)
    }

    /// The same where an earlier connection stood; says whether what came since then will come, each event once.
    pub(super) async fn go_on(session: &Session, stood: Option<&Stood>) -> Result<(Self, bool), Failure> {
        let path = match stood {
            None => "/api/v1/events".to_owned(),
            Some(Stood { epoch, seq }) => {
                format!("/api/v1/events?epoch={}&after={seq}", percent_encoded(epoch))
            }
        };
        let (_, inbox) = socket::open(session, &path).await?;
        let mut events = Self { inbox, stood: Stood { epoch: String::new(), seq: 0 } };
        let hello = loop {
            let event = events.next().await?;
            if event["type"] == "hello" {
                break event;
            }
        };
        hello["epoch"].as_str().unwrap_or_default().clone_into(&mut events.stood.epoch);
        let resumed = hello["resumed"] == true;
        if let Some(stood) = stood.filter(|_| resumed) {
            // What was missed is still to come.
            events.stood.seq = stood.seq;
        }
        Ok((events, resumed))
    }

    /// The next one; an error once the server is gone.
    pub(super) async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            let message = self.inbox.next().await?;
            if message.is_text()
                && let Ok(event) = serde_json::from_slice::<Value>(message.as_payload())
            {
                self.stood.seq = event["seq"].as_u64().unwrap_or(self.stood.seq);
                return Ok(event);
            }
        }
    }

    /// How far they were heard.
    pub(super) fn stood(self) -> Stood {
        self.stood
    }
}
