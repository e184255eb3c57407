//! Changes in accounts, for every front end and for the holder of connections.

use std::sync::{Mutex, PoisonError};

use store::UserId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::Accounts;

/// A change of an account, for the code that shows it or acts on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountEvent {
    /// A runner was registered or got another token.
    Runner {
        /// The user it belongs to.
        user: UserId,
        /// Its name.
        name: String,
    },
    /// A runner was revoked: its connection has to be closed.
    RunnerRevoked {
        /// Its user.
        user: UserId,
        /// Its name.
        name: String,
    },
    /// A user's active place changed.
    ActiveRunner {
        /// Whose work.
        user: UserId,
        /// A runner's name or a place with its own name; `None` lets the server choose.
        choice: Option<String>,
    },
}

/// Passes events to their listeners. None is ever dropped, since a missed revocation leaves a connection open; the queue is
/// bounded by the writes to the store that precede each event.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<UnboundedSender<AccountEvent>>>);

impl Accounts {
    /// Every change from now on, in order, however slow the listener is.
    pub fn subscribe(&self) -> UnboundedReceiver<AccountEvent> {
        let (sender, receiver) = unbounded_channel();
        self.events.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Sends an event to every listener, and removes those that are gone.
    pub(crate) fn tell(&self, event: AccountEvent) {
        let mut listeners = self.events.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }
}
