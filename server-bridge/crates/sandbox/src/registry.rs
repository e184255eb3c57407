//! The runners that are connected now, and those that may reconnect to resume their work.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use proto::BootId;
use proto::session::{Close, CloseCode};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::driver::LinkHandle;
use crate::error::LinkError;
use crate::expected::Expected;
use crate::facts::RunnerFacts;
use crate::handshake::Admitted;
use crate::limits::{RETURN_SPACING, SENT_AWAY_KEPT, WAITING_EVENTS};
use crate::requirement::Requirement;

/// A runner that is connected now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerState {
    /// The runner's registered name.
    pub name: String,
    /// The time at which this connection registered.
    pub since: SystemTime,
    /// The runner's description of itself.
    pub facts: Arc<RunnerFacts>,
}

/// A change in a runner's connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerEvent {
    /// The runner connected, or connected again.
    Online {
        /// The user key of its owner.
        user_key: String,
        /// The runner's name.
        name: String,
        /// The runner's description of itself.
        facts: Arc<RunnerFacts>,
    },
    /// The runner is no longer connected.
    Offline {
        /// The user key of its owner.
        user_key: String,
        /// The runner's name.
        name: String,
    },
    /// Another process with the same token replaced a connected one; to be reported to the user.
    TakenOver {
        /// The user key of its owner.
        user_key: String,
        /// The runner's name.
        name: String,
        /// The host name of the machine whose runner was disconnected.
        old_hostname: String,
        /// The host name of the machine that took over.
        new_hostname: String,
    },
}

/// The reason why a runner is disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// The runner's token is no longer valid; the runner is asked not to come back.
    Revoked,
    /// The runner may reconnect.
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

/// The user's key and the runner's name.
pub(crate) type Key = (String, String);

/// One process of a runner, and its newest link.
#[derive(Debug)]
struct Life {
    epoch: u64,
    boot_id: BootId,
    since: SystemTime,
    link: LinkHandle,
    is_online: bool,
}

impl Life {
    fn is_online(&self) -> bool {
        self.is_online && self.link.is_open()
    }
}

/// The runners' lives by user and name; of two connections of one runner the higher epoch wins.
#[derive(Debug)]
pub(crate) struct Registry {
    lives: Mutex<HashMap<Key, Life>>,
    /// The times at which users' runners were last sent away, by user key. Changed before `lives`, and read while `lives` is locked.
    sent_away: Mutex<HashMap<String, Instant>>,
    events: broadcast::Sender<RunnerEvent>,
    /// The layers that a process must have to get the requests waiting for its predecessor.
    require: Requirement,
    /// The number of runners that were informed of the server's stop.
    farewells: AtomicU32,
    expected: Expected,
}

impl Registry {
    pub(crate) fn new(require: Requirement) -> Self {
        let events = broadcast::channel(WAITING_EVENTS).0;
        Self {
            lives: Mutex::default(),
            sent_away: Mutex::default(),
            events,
            require,
            farewells: AtomicU32::new(0),
            expected: Expected::default(),
        }
    }

    /// The last message of a stopping server to the next runner: each runner is asked to come back a little later than the one
    /// before it, so that they do not all reconnect at the same time.
    pub(crate) fn farewell(&self) -> Close {
        let before = self.farewells.fetch_add(1, Ordering::Relaxed);
        Close::come_back_after("the server is stopping", RETURN_SPACING.saturating_mul(before))
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<RunnerEvent> {
        self.events.subscribe()
    }

    /// The runner's link, if it has one or announced that it will be back.
    pub(crate) fn link(&self, user_key: &str, runner: &str) -> Option<LinkHandle> {
        let lives = self.lives();
        let life = lives.get(&(user_key.to_owned(), runner.to_owned()))?;
        (life.is_online() || life.link.is_returning()).then(|| life.link.clone())
    }

    /// The runner's link; for a runner that is expected after the server's start, once it has arrived.
    pub(crate) async fn awaited_link(&self, user_key: &str, runner: &str) -> Option<LinkHandle> {
        let key = (user_key.to_owned(), runner.to_owned());
        self.expected.wait(&key, || self.link(user_key, runner)).await
    }

    /// True if a runner has a link, or is expected to have one.
    pub(crate) fn is_there_soon(&self, user_key: &str, runner: &str) -> bool {
        self.link(user_key, runner).is_some()
            || self.expected.holds(&(user_key.to_owned(), runner.to_owned()))
    }

    /// Expects runners that an earlier life of the server had.
    pub(crate) fn expect(&self, runners: impl IntoIterator<Item = Key>) {
        self.expected.add(runners);
    }

    pub(crate) fn runners(&self, user_key: &str) -> Vec<RunnerState> {
        let lives = self.lives();
        let mut runners: Vec<_> = lives
            .iter()
            .filter(|((owner, _), life)| owner == user_key && life.is_online())
            .map(|((_, name), life)| RunnerState {
                name: name.clone(),
                since: life.since,
                facts: Arc::clone(life.link.facts()),
            })
            .collect();
        runners.sort_by(|left, right| left.name.cmp(&right.name));
        runners
    }

    /// Enters a connection after its registration took effect.
    ///
    /// `connect` gets the handle of the same process's earlier connections, if there were any, and returns the runner's
    /// current one. The work of any other process is over, and its connection is ended; a process that announced that it
    /// will be back had no work, and the requests that wait for it continue with this one if it may be used.
    pub(crate) fn enter<T>(
        &self,
        admitted: &Admitted,
        connect: impl FnOnce(Option<&LinkHandle>) -> (LinkHandle, T),
    ) -> Result<T, LinkError> {
        let epoch = admitted.admission.epoch;
        let (connected, replaced) = {
            let mut lives = self.lives();
            let key = key_of(admitted);
            if lives.get(&key).is_some_and(|life| life.epoch >= epoch) {
                return Err(LinkError::Stale);
            }
            if self.sent_away().get(&key.0).is_some_and(|at| *at >= admitted.began) {
                return Err(LinkError::SentAway);
            }
            let (same, replaced) = match lives.remove(&key) {
                Some(life) if self.is_same(&life, admitted) && !life.link.is_over() => (Some(life), None),
                other => (None, other),
            };
            let (link, connected) = connect(same.as_ref().map(|life| &life.link));
            let since = SystemTime::now();
            lives.insert(key, Life { epoch, boot_id: admitted.boot_id, since, link, is_online: true });
            (connected, replaced)
        };
        if let Some(replaced) = replaced {
            self.replace(&replaced, admitted);
        }
        self.expected.remove(&key_of(admitted));
        let (user_key, name) = key_of(admitted);
        self.tell(RunnerEvent::Online { user_key, name, facts: Arc::clone(&admitted.facts) });
        Ok(connected)
    }

    fn is_same(&self, life: &Life, admitted: &Admitted) -> bool {
        let is_returned = life.link.is_returning() && self.require.lacking(&admitted.facts).is_empty();
        life.boot_id == admitted.boot_id || is_returned
    }

    fn replace(&self, old: &Life, admitted: &Admitted) {
        let new_hostname = admitted.facts.hostname.clone();
        let reason = format!("another runner with this token connected from {new_hostname}");
        let was_online = old.is_online();
        old.link.close(Some(Close::new(CloseCode::Replaced, reason)));
        // A disconnected runner counts as restarted.
        if was_online {
            let (user_key, name) = key_of(admitted);
            let old_hostname = old.link.facts().hostname.clone();
            self.tell(RunnerEvent::TakenOver { user_key, name, old_hostname, new_hostname });
        }
    }

    /// Records that a connection ended, unless a newer one has replaced it. The runner may come back.
    pub(crate) fn leave(&self, admitted: &Admitted) {
        let (user_key, name) = key_of(admitted);
        let is_news = {
            let mut lives = self.lives();
            let life = lives.get_mut(&(user_key.clone(), name.clone()));
            life.filter(|life| life.epoch == admitted.admission.epoch)
                .is_some_and(|life| std::mem::take(&mut life.is_online))
        };
        if is_news {
            self.tell(RunnerEvent::Offline { user_key, name });
        }
    }

    /// Removes a life that is over, unless another one has replaced it. A life that ends with its connection, as after
    /// a goodbye, is removed before that connection is recorded as ended: then this sends the event.
    pub(crate) fn forget(&self, key: &Key) {
        let was_online = {
            let mut lives = self.lives();
            if !lives.get(key).is_some_and(|life| life.link.is_over()) {
                return;
            }
            lives.remove(key).is_some_and(|life| life.is_online)
        };
        if was_online {
            self.tell(RunnerEvent::Offline { user_key: key.0.clone(), name: key.1.clone() });
        }
    }

    pub(crate) fn disconnect(&self, user_key: &str, runner: &str, why: Disconnect) {
        let key = (user_key.to_owned(), runner.to_owned());
        if why == Disconnect::Revoked {
            self.expected.remove(&key);
        }
        let was_online = {
            let mut lives = self.lives();
            let Some(life) = lives.get_mut(&key) else { return };
            let was_online = std::mem::take(&mut life.is_online);
            match why {
                Disconnect::Stopping => life.link.unplug(Some(why.last_word())),
                Disconnect::Revoked => {
                    life.link.close(Some(why.last_word()));
                    lives.remove(&key);
                }
            }
            was_online
        };
        if was_online {
            self.tell(RunnerEvent::Offline { user_key: key.0, name: key.1 });
        }
    }

    /// Asks all runners of a user to reconnect, to the server that works for the user now. A runner that is still registering is refused:
    /// it was accepted when this server worked for the user, and nothing would end its link.
    pub(crate) fn send_away(&self, user_key: &str) {
        let now = Instant::now();
        {
            let mut sent_away = self.sent_away();
            sent_away.retain(|_, at| now.duration_since(*at) < SENT_AWAY_KEPT);
            sent_away.insert(user_key.to_owned(), now);
        }
        for runner in self.runners(user_key) {
            self.disconnect(user_key, &runner.name, Disconnect::Stopping);
        }
    }

    fn sent_away(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.sent_away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: RunnerEvent) {
        // Without a subscriber the event is dropped.
        let _ = self.events.send(event);
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<Key, Life>> {
        // A panic between a change's steps leaves a valid map, possibly without one of its lives.
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn key_of(admitted: &Admitted) -> Key {
    (admitted.admission.user_key.clone(), admitted.admission.runner.clone())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proto::limits::MAX_RETURN_PAUSE;

    use super::*;

    #[tokio::test]
    async fn a_server_that_stops_asks_its_runners_to_come_back_one_after_another() {
        let registry = Registry::new(Requirement::default());
        let asked: Vec<_> = (0..10_000).map(|_| registry.farewell()).collect();
        assert!(asked.iter().all(|close| close.code == CloseCode::GoingAway));
        assert_eq!(asked[0].pause, Duration::ZERO, "the only runner comes back at once");
        assert!(asked.windows(2).all(|two| two[1].pause - two[0].pause <= RETURN_SPACING));
        assert_eq!(asked[2_000].pause, 2_000 * RETURN_SPACING);
        assert_eq!(asked[9_999].pause, MAX_RETURN_PAUSE);
    }
}
