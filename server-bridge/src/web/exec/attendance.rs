//! Which execs have a client at the moment.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use store::{ExecId, UserId};

type Key = (UserId, ExecId);

/// Counts the sockets that serve each exec.
#[derive(Debug, Default)]
pub struct Attendance(Mutex<HashMap<Key, usize>>);

/// A socket that serves an exec, until it is dropped.
#[derive(Debug)]
pub struct Attended<'a> {
    attendance: &'a Attendance,
    key: Key,
}

impl Attendance {
    /// Counts one more.
    pub fn enter(&self, user: UserId, exec_id: &ExecId) -> Attended<'_> {
        let key = (user, exec_id.clone());
        *self.lock().entry(key.clone()).or_default() += 1;
        Attended { attendance: self, key }
    }

    /// Whether there is one.
    pub fn has_client(&self, user: UserId, exec_id: &ExecId) -> bool {
        self.lock().contains_key(&(user, exec_id.clone()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, usize>> {
        // Every change is one step, so a panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        let mut clients = self.attendance.lock();
        if let Some(count) = clients.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.key);
            }
        }
    }
}
