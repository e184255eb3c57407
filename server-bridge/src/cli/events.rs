//! What a server tells of its user's chats, runners and settings, as it happens.

use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use super::failure::Failure;
use super::session::Session;
use super::socket::{self, Inbox};

/// The events of one user.
pub(super) struct Events(Inbox);

impl Events {
    /// Begins to listen; from its return on nothing is missed.
    pub(super) async fn open(session: &Session) -> Result<Self, Failure> {
        let (_, inbox) = socket::open(session, "/api/v1/events").await?;
        let mut events = Self(inbox);
        while events.next().await?["type"] != "hello" {}
        Ok(events)
    }

    /// The next one; an error once the server is gone.
    pub(super) async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            if let Message::Text(text) = self.0.next().await?
                && let Ok(event) = serde_json::from_str(&text)
            {
                return Ok(event);
            }
        }
    }
}
