//! Changes in accounts, for every front end and for the code that keeps runners' connections.

use std::sync::{Mutex, PoisonError};

use store::UserId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::Accounts;

/// A change of an account, for the code that shows it or acts on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountEvent {
    /// A runner was registered or got a new token.
    Runner {
        /// The user it belongs to.
        user: UserId,
        /// The runner's name.
        name: String,
    },
    /// A runner was revoked: its connection has to be closed.
    RunnerRevoked {
        /// The user it belonged to.
        user: UserId,
        /// The runner's name.
        name: String,
    },
    /// A user's active place changed.
    ActiveRunner {
        /// The user whose place changed.
        user: UserId,
        /// A runner's name or a place with its own name; `None` lets the server choose.
        choice: Option<String>,
    },
}

/// Passes events to their listeners. No event is ever dropped, because a missed revocation would leave a connection open; the
/// queue is bounded in practice by the writes to the store that precede each event.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<UnboundedSender<AccountEvent>>>);

impl Accounts {
    /// A receiver of every change from now on, in order, however slow the listener is.
    pub fn subscribe(&self) -> UnboundedReceiver<AccountEvent> {
        let (sender, receiver) = unbounded_channel();
        self.events.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Sends an event to every listener, and removes listeners that were dropped.
    pub(crate) fn tell(&self, event: AccountEvent) {
        let mut listeners = self.events.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }
}
