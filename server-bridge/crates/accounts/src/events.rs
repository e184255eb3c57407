//! What changes in accounts, told to every front end and to the holder of connections.

use std::sync::{Mutex, PoisonError};

use store::UserId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::Accounts;

/// A change of an account, for those who show it or act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountEvent {
    /// A runner was registered or got another token.
    Runner {
        /// Whose it is.
        user: UserId,
        /// Its name.
        name: String,
    },
    /// A runner was revoked: its connection is to be closed.
    RunnerRevoked {
        /// Whose it was.
        user: UserId,
        /// Its name.
        name: String,
    },
    /// A user's work goes somewhere else from now on.
    ActiveRunner {
        /// Whose work.
        user: UserId,
        /// A runner's name or a place with a name of its own; `None` lets the server choose.
        choice: Option<String>,
    },
}

/// The way of events to their listeners. None is ever dropped, since a revocation that is missed leaves a connection open; what
/// waits is bounded by the writes to the store that each event comes after.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<UnboundedSender<AccountEvent>>>);

impl Accounts {
    /// Every change from now on, in order, however late the listener is.
    pub fn subscribe(&self) -> UnboundedReceiver<AccountEvent> {
        let (sender, receiver) = unbounded_channel();
        self.events.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Sends an event to every listener, and forgets those that are gone.
    pub(crate) fn tell(&self, event: AccountEvent) {
        let mut listeners = self.events.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }
}
