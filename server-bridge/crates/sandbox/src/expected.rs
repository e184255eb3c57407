//! Runners that an earlier life of the server had: for a while after its start, what is asked of them waits for them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::limits::EXPECTED_WITHIN;

/// User and name of a runner.
type Key = (String, String);

/// The runners that have not dialled in again yet.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Until when each is waited for.
    deadlines: Mutex<HashMap<Key, Instant>>,
    /// Told of each arrival; those who wait look again.
    arrivals: Notify,
}

impl Expected {
    /// Expects these from now on, for [`EXPECTED_WITHIN`].
    pub(crate) fn add(&self, runners: impl IntoIterator<Item = Key>) {
        let deadline = Instant::now() + EXPECTED_WITHIN;
        self.deadlines().extend(runners.into_iter().map(|key| (key, deadline)));
    }

    /// Whether a runner is expected still.
    pub(crate) fn holds(&self, key: &Key) -> bool {
        self.deadline(key).is_some_and(|deadline| Instant::now() < deadline)
    }

    /// Expects a runner no longer: it is there, or is not to come back. Those who wait look again.
    pub(crate) fn remove(&self, key: &Key) {
        let was_expected = self.deadlines().remove(key).is_some();
        if was_expected {
            self.arrivals.notify_waiters();
        }
    }

    /// Waits for a runner until it is expected no longer, and gives what `look` finds of it then.
    pub(crate) async fn wait<T>(&self, key: &Key, look: impl Fn() -> Option<T>) -> Option<T> {
        loop {
            // Made before the look: an arrival in between is not missed.
            let arrival = self.arrivals.notified();
            let found = look();
            let Some(deadline) = self.deadline(key).filter(|_| found.is_none()) else { return found };
            if timeout_at(deadline, arrival).await.is_err() {
                self.deadlines().remove(key);
                return look();
            }
        }
    }

    fn deadline(&self, key: &Key) -> Option<Instant> {
        self.deadlines().get(key).copied()
    }

    fn deadlines(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        // Every change is one step, so a panic elsewhere leaves it whole.
        self.deadlines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
