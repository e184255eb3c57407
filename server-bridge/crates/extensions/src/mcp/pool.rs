//! The connections in use: one for each chat, place and server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{ChatId, UserId};
use tokio::sync::Mutex as AsyncMutex;

use super::connection::Connection;
use crate::limits::{MCP_CONNECTIONS_PER_USER, MCP_IDLE};

/// What a connection is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) user: UserId,
    /// The chat of the user; `None` if the user asks for the server's tools.
    pub(super) chat: Option<ChatId>,
    /// The place; empty for a server that is reached from this one.
    pub(super) place: String,
    pub(super) server: String,
    /// The hash of what runs: another definition is another server.
    pub(super) hash: String,
}

/// A connection, or the wait for it: whoever connects holds the lock.
#[derive(Default)]
pub(super) struct Slot(pub(super) AsyncMutex<Option<Arc<Connection>>>);

impl Slot {
    /// How long nothing used it; `None` while it is in use.
    fn idle(&self) -> Option<Duration> {
        match &*self.0.try_lock().ok()? {
            None => Some(Duration::MAX),
            Some(connection) if connection.is_closed() => Some(Duration::MAX),
            Some(connection) => Some(connection.idle()).filter(|idle| !idle.is_zero()),
        }
    }
}

/// All connections.
#[derive(Default)]
pub(super) struct Pool(Mutex<HashMap<Key, Arc<Slot>>>);

impl Pool {
    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        // Every change is one step, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot for a connection. If its user has as many as one may have, the one that was idle longest ends.
    ///
    /// Fails if all of them are in use.
    pub(super) fn slot(&self, key: &Key) -> Result<Arc<Slot>, String> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(key) {
            return Ok(Arc::clone(slot));
        }
        let held = slots.keys().filter(|known| known.user == key.user).count();
        if held >= MCP_CONNECTIONS_PER_USER {
            let idle =
                slots.iter().filter(|(known, slot)| known.user == key.user && Arc::strong_count(slot) == 1);
            let longest = idle
                .filter_map(|(known, slot)| Some((slot.idle()?, known.clone())))
                .max_by_key(|(idle, _)| *idle);
            let Some((_, longest)) = longest else {
                return Err(format!(
                    "{MCP_CONNECTIONS_PER_USER} MCP servers of yours are in use at once, which is the most; wait until one is done"
                ));
            };
            slots.remove(&longest);
        }
        let slot = Arc::new(Slot::default());
        slots.insert(key.clone(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Ends the connections that nothing used for half an hour.
    pub(super) fn sweep(&self) {
        self.slots()
            .retain(|_, slot| Arc::strong_count(slot) > 1 || slot.idle().is_none_or(|idle| idle < MCP_IDLE));
    }

    /// Ends the connections that match, as soon as nothing uses them.
    pub(super) fn forget(&self, matches: impl Fn(&Key) -> bool) {
        self.slots().retain(|key, _| !matches(key));
    }

    /// Ends all connections.
    pub(super) fn clear(&self) {
        self.slots().clear();
    }

    /// The number of connections.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.slots().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(user: i64, server: usize) -> Key {
        Key {
            user: UserId(user),
            chat: None,
            place: "laptop".to_owned(),
            server: server.to_string(),
            hash: String::new(),
        }
    }

    #[test]
    fn a_user_has_so_many_connections_and_takes_none_from_others() {
        let pool = Pool::default();
        let held: Vec<_> = (0..MCP_CONNECTIONS_PER_USER).map(|at| pool.slot(&key(1, at)).unwrap()).collect();
        assert!(pool.slot(&key(1, 99)).is_err(), "all are in use");
        assert!(pool.slot(&key(1, 0)).is_ok() && pool.slot(&key(2, 0)).is_ok());
        drop(held);
        assert!(pool.slot(&key(1, 99)).is_ok());
        assert_eq!(pool.count(), MCP_CONNECTIONS_PER_USER + 1);
        pool.forget(|key| key.server == "99");
        assert_eq!(pool.count(), MCP_CONNECTIONS_PER_USER);
        pool.sweep();
        assert_eq!(pool.count(), 0, "nothing was ever connected");
    }
}
