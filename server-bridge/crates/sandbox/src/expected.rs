//! Runners that were connected to an earlier run of the server: for a while after startup, requests to such a runner wait until it connects.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::limits::EXPECTED_WITHIN;

/// The user's key and the name of a runner.
type Key = (String, String);

/// The runners that have not dialled in again yet.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// The deadline of each wait.
    deadlines: Mutex<HashMap<Key, Instant>>,
    /// Notified of each arrival; the waiting tasks check again.
    arrivals: Notify,
}

impl Expected {
    /// Expects these from now on, for [`EXPECTED_WITHIN`].
    pub(crate) fn add(&self, runners: impl IntoIterator<Item = Key>) {
        let deadline = Instant::now() + EXPECTED_WITHIN;
        self.deadlines().extend(runners.into_iter().map(|key| (key, deadline)));
    }

    /// True if a runner is still expected.
    pub(crate) fn holds(&self, key: &Key) -> bool {
        self.deadline(key).is_some_and(|deadline| Instant::now() < deadline)
    }

    /// Stops expecting a runner: it has arrived, or must not come back. The waiting tasks check again.
    pub(crate) fn remove(&self, key: &Key) {
        let was_expected = self.deadlines().remove(key).is_some();
        if was_expected {
            self.arrivals.notify_waiters();
        }
    }

    /// Waits for a runner as long as it is expected, then returns the result of `look`.
    pub(crate) async fn wait<T>(&self, key: &Key, look: impl Fn() -> Option<T>) -> Option<T> {
        loop {
            // Created before the check: an arrival in between is not missed.
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
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.deadlines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
