//! The execs that have a client at the moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use store::{ExecId, UserId};
use tokio::sync::watch;

type Key = (UserId, ExecId);

/// Counts the sockets that serve each exec. Cheap to clone; all clones share the same counts.
#[derive(Clone, Debug, Default)]
pub struct Attendance(Arc<Mutex<HashMap<Key, Present>>>);

/// One connection of a client that reconnects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// A random text that identifies the client across its connections.
    pub client: String,
    /// The number of earlier connections of this client.
    pub number: u64,
}

impl Connection {
    /// True if both connections are from one client, and this one was made before the other.
    fn is_before(&self, other: &Self) -> bool {
        self.client == other.client && self.number < other.number
    }
}

/// The sockets of one exec.
#[derive(Debug, Default)]
struct Present {
    count: usize,
    newest: watch::Sender<Newest>,
}

/// The socket that connected last. A socket that its own client has already replaced never counts as the last one.
#[derive(Debug, Default)]
struct Newest {
    /// The number of sockets that have connected so far.
    number: u64,
    connection: Option<Connection>,
}

/// A socket that serves an exec, until it is dropped.
#[derive(Debug)]
pub struct Attended {
    attendance: Attendance,
    key: Key,
    connection: Option<Connection>,
    later: Later,
}

/// Reports sockets that connect to the same exec after this one.
#[derive(Clone, Debug)]
pub struct Later {
    own: u64,
    newest: watch::Receiver<Newest>,
}

impl Later {
    /// Waits until the next socket connects.
    pub async fn came(&mut self) {
        let own = self.own;
        let came = self.newest.wait_for(|newest| newest.number > own).await.map(|newest| newest.number);
        match came {
            Ok(newest) => self.own = newest,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Attended {
    /// A view of the sockets that connect after this one.
    pub fn later(&self) -> Later {
        self.later.clone()
    }

    /// Waits until the socket's own client has made a newer connection to the exec, after which the client no longer reads this one. A
    /// request that was cut off may arrive after the request that replaces it; it must not take over the exec.
    pub async fn replaced(&self) {
        let replaces = |newest: &Newest| match (&self.connection, &newest.connection) {
            (Some(own), Some(other)) => own.is_before(other),
            _ => false,
        };
        if self.later.newest.clone().wait_for(replaces).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Attendance {
    /// Counts one more socket; `connection` identifies it if its client said which connection it is.
    pub fn enter(&self, user: UserId, exec_id: &ExecId, connection: Option<Connection>) -> Attended {
        let key = (user, exec_id.clone());
        let mut clients = self.lock();
        let present = clients.entry(key.clone()).or_default();
        present.count += 1;
        present.newest.send_if_modified(|newest| {
            let is_replaced = match (&connection, &newest.connection) {
                (Some(own), Some(other)) => own.is_before(other),
                _ => false,
            };
            if !is_replaced {
                *newest = Newest { number: newest.number + 1, connection: connection.clone() };
            }
            !is_replaced
        });
        let newest = present.newest.subscribe();
        let own = newest.borrow().number;
        let later = Later { own, newest };
        drop(clients);
        Attended { attendance: self.clone(), key, connection, later }
    }

    /// True if at least one socket serves the exec.
    pub fn has_client(&self, user: UserId, exec_id: &ExecId) -> bool {
        self.lock().contains_key(&(user, exec_id.clone()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Present>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attended {
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const USER: UserId = UserId(1);

    fn exec() -> ExecId {
        ExecId::random()
    }

    fn connection(client: &str, number: u64) -> Option<Connection> {
        Some(Connection { client: client.to_owned(), number })
    }

    #[test]
    fn a_connection_that_its_client_replaced_is_told_whichever_comes_first() {
        let (attendance, exec) = (Attendance::default(), exec());
        let first = attendance.enter(USER, &exec, connection("a", 0));
        assert!(first.replaced().now_or_never().is_none());
        let third = attendance.enter(USER, &exec, connection("a", 2));
        let second = attendance.enter(USER, &exec, connection("a", 1));
        assert!(first.replaced().now_or_never().is_some() && second.replaced().now_or_never().is_some());
        assert!(third.replaced().now_or_never().is_none());
        assert!(third.later().came().now_or_never().is_none(), "a late request is no other client");
    }

    #[test]
    fn another_client_replaces_nobody_and_is_noticed() {
        let (attendance, exec) = (Attendance::default(), exec());
        let first = attendance.enter(USER, &exec, connection("a", 0));
        let other = attendance.enter(USER, &exec, connection("b", 7));
        let unnamed = attendance.enter(USER, &exec, None);
        for attended in [&first, &other, &unnamed] {
            assert!(attended.replaced().now_or_never().is_none());
        }
        assert!(first.later().came().now_or_never().is_some());
    }
}
