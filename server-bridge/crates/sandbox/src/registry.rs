//! The runners that are connected now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use proto::BootId;
use proto::session::{Close, CloseCode};
use tokio::sync::broadcast;

use crate::driver::LinkHandle;
use crate::error::LinkError;
use crate::facts::RunnerFacts;
use crate::handshake::Admitted;
use crate::limits::WAITING_EVENTS;

/// A connected runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerState {
    /// Its registered name.
    pub name: String,
    /// When this connection registered.
    pub since: SystemTime,
    /// What it said of itself.
    pub facts: Arc<RunnerFacts>,
}

/// Something happened to a runner's connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerEvent {
    /// It connected, or connected again.
    Online {
        /// Its owner.
        user_key: String,
        /// Its name.
        name: String,
        /// What it said of itself.
        facts: Arc<RunnerFacts>,
    },
    /// It is no longer connected.
    Offline {
        /// Its owner.
        user_key: String,
        /// Its name.
        name: String,
    },
    /// Another process with the same token took the place of a connected one; tell the user.
    TakenOver {
        /// Its owner.
        user_key: String,
        /// Its name.
        name: String,
        /// The machine that was told to stop.
        old_hostname: String,
        /// The machine that took over.
        new_hostname: String,
    },
}

/// Why a runner is disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// Its token is no longer valid; it is told not to come back.
    Revoked,
    /// It may reconnect.
    Stopping,
}

impl Disconnect {
    fn last_word(self) -> Close {
        match self {
            Self::Revoked => {
                Close::new(CloseCode::Revoked, "this runner was revoked; add it again to use it")
            }
            Self::Stopping => Close::new(CloseCode::GoingAway, "the server asks you to reconnect"),
        }
    }
}

type Key = (String, String);

#[derive(Debug)]
struct Connected {
    epoch: u64,
    boot_id: BootId,
    since: SystemTime,
    link: LinkHandle,
}

/// Connected runners by user and name; of two connections of one runner the higher epoch wins.
#[derive(Debug)]
pub(crate) struct Registry {
    connected: Mutex<HashMap<Key, Connected>>,
    events: broadcast::Sender<RunnerEvent>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self { connected: Mutex::default(), events: broadcast::channel(WAITING_EVENTS).0 }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<RunnerEvent> {
        self.events.subscribe()
    }

    pub(crate) fn link(&self, user_key: &str, runner: &str) -> Option<LinkHandle> {
        let connected = self.connected();
        let entry = connected.get(&(user_key.to_owned(), runner.to_owned()))?;
        entry.link.is_open().then(|| entry.link.clone())
    }

    pub(crate) fn runners(&self, user_key: &str) -> Vec<RunnerState> {
        let connected = self.connected();
        let mut runners: Vec<_> = connected
            .iter()
            .filter(|((owner, _), entry)| owner == user_key && entry.link.is_open())
            .map(|((_, name), entry)| RunnerState {
                name: name.clone(),
                since: entry.since,
                facts: Arc::clone(entry.link.facts()),
            })
            .collect();
        runners.sort_by(|left, right| left.name.cmp(&right.name));
        runners
    }

    /// Enters a connection whose registration took effect, and ends the one it replaces.
    pub(crate) fn enter(&self, admitted: &Admitted, link: &LinkHandle) -> Result<(), LinkError> {
        let entry = Connected {
            epoch: admitted.admission.epoch,
            boot_id: admitted.boot_id,
            since: SystemTime::now(),
            link: link.clone(),
        };
        let old = {
            let mut connected = self.connected();
            let key = key_of(admitted);
            if connected.get(&key).is_some_and(|old| old.epoch >= entry.epoch) {
                return Err(LinkError::Stale);
            }
            connected.insert(key, entry)
        };
        let (user_key, name) = key_of(admitted);
        match old {
            // The same process lost its connection and has a new one; the old socket is as good as dead.
            Some(old) if old.boot_id == admitted.boot_id => old.link.close(None),
            Some(old) => {
                let new_hostname = admitted.facts.hostname.clone();
                let reason = format!("another runner with this token connected from {new_hostname}");
                old.link.close(Some(Close::new(CloseCode::Replaced, reason)));
                self.tell(RunnerEvent::TakenOver {
                    user_key: user_key.clone(),
                    name: name.clone(),
                    old_hostname: old.link.facts().hostname.clone(),
                    new_hostname,
                });
            }
            None => {}
        }
        self.tell(RunnerEvent::Online { user_key, name, facts: Arc::clone(&admitted.facts) });
        Ok(())
    }

    /// Takes out a connection that ended, unless a newer one stands in its place.
    pub(crate) fn leave(&self, admitted: &Admitted) {
        let key = key_of(admitted);
        let is_current = {
            let mut connected = self.connected();
            let is_current = connected.get(&key).is_some_and(|entry| entry.epoch == admitted.admission.epoch);
            if is_current {
                connected.remove(&key);
            }
            is_current
        };
        if is_current {
            self.tell(RunnerEvent::Offline { user_key: key.0, name: key.1 });
        }
    }

    pub(crate) fn disconnect(&self, user_key: &str, runner: &str, why: Disconnect) {
        let key = (user_key.to_owned(), runner.to_owned());
        let Some(entry) = self.connected().remove(&key) else { return };
        entry.link.close(Some(why.last_word()));
        self.tell(RunnerEvent::Offline { user_key: key.0, name: key.1 });
    }

    fn tell(&self, event: RunnerEvent) {
        // Without a subscriber nobody wants to know.
        let _ = self.events.send(event);
    }

    fn connected(&self) -> MutexGuard<'_, HashMap<Key, Connected>> {
        // Every change is one insert or remove, so a panic elsewhere leaves the map whole.
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key_of(admitted: &Admitted) -> Key {
    (admitted.admission.user_key.clone(), admitted.admission.runner.clone())
}
