//! The execs that have a client at the moment.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use store::{ExecId, UserId};
use tokio::sync::watch;

type Key = (UserId, ExecId);

/// Counts the sockets that serve each exec.
#[derive(Debug, Default)]
pub struct Attendance(Mutex<HashMap<Key, Present>>);

/// The sockets of one exec.
#[derive(Debug, Default)]
struct Present {
    count: usize,
    /// The number of sockets so far.
    newest: watch::Sender<u64>,
}

/// A socket that serves an exec, until it is dropped.
#[derive(Debug)]
pub struct Attended<'a> {
    attendance: &'a Attendance,
    key: Key,
    later: Later,
}

/// True if another socket came to the same exec since.
#[derive(Clone, Debug)]
pub struct Later {
    own: u64,
    newest: watch::Receiver<u64>,
}

impl Later {
    /// Waits for the next one.
    pub async fn came(&mut self) {
        let own = self.own;
        let came = self.newest.wait_for(|newest| *newest > own).await.map(|newest| *newest);
        match came {
            Ok(newest) => self.own = newest,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Attended<'_> {
    /// A view of the sockets that come after this one.
    pub fn later(&self) -> Later {
        self.later.clone()
    }
}

impl Attendance {
    /// Counts one more.
    pub fn enter(&self, user: UserId, exec_id: &ExecId) -> Attended<'_> {
        let key = (user, exec_id.clone());
        let mut clients = self.lock();
        let present = clients.entry(key.clone()).or_default();
        present.count += 1;
        present.newest.send_modify(|newest| *newest += 1);
        let newest = present.newest.subscribe();
        let own = *newest.borrow();
        let later = Later { own, newest };
        drop(clients);
        Attended { attendance: self, key, later }
    }

    /// True if there is one.
    pub fn has_client(&self, user: UserId, exec_id: &ExecId) -> bool {
        self.lock().contains_key(&(user, exec_id.clone()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Present>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        let mut clients = self.attendance.lock();
        if let Some(present) = clients.get_mut(&self.key) {
            present.count -= 1;
            if present.count == 0 {
                clients.remove(&self.key);
            }
        }
    }
}
