//! What changes in accounts, told to every front end and to the holder of connections.

use store::UserId;
use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::Accounts;
use crate::limits::EVENTS_BUFFERED;

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

/// The way of events to their listeners.
#[derive(Debug)]
pub(crate) struct Events(Sender<AccountEvent>);

impl Default for Events {
    fn default() -> Self {
        Self(channel(EVENTS_BUFFERED).0)
    }
}

impl Accounts {
    /// Every change from now on, in order. A listener that falls far behind is told how many it missed.
    pub fn subscribe(&self) -> Receiver<AccountEvent> {
        self.events.0.subscribe()
    }

    pub(crate) fn tell(&self, event: AccountEvent) {
        // An error says that nobody listens, as on the command line.
        let _ = self.events.0.send(event);
    }
}
