//! The connections in use: one for each chat, place and server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use store::{ChatId, UserId};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use super::connection::Connection;
use crate::limits::{MCP_CONNECTIONS_PER_USER, MCP_IDLE};
use crate::plugins::Installed;

/// The identity of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) user: UserId,
    /// The user's own chat.
    pub(super) chat: ChatId,
    /// True if its program cannot change anything, as in plan mode.
    pub(super) is_read_only: bool,
    /// The place; empty for a server that this server reaches directly.
    pub(super) place: String,
    pub(super) server: String,
    /// The hash of what runs: another definition is another server.
    pub(super) hash: String,
    /// The hash of its plugin's files, if it belongs to one: another copy is another server.
    pub(super) copy: Option<String>,
    /// A digest of the secret of its client, which is not part of the hash.
    pub(super) secret: Option<[u8; 32]>,
}

/// A connection, or the wait for it: the task that connects holds the lock.
pub(super) struct Slot {
    pub(super) held: Arc<AsyncMutex<Held>>,
    /// The copy of the plugin that its server belongs to.
    copy: Option<Weak<Installed>>,
}

/// The content of a slot.
#[derive(Default)]
pub(super) enum Held {
    #[default]
    Nothing,
    Connection(Arc<Connection>),
    /// The time and the reason of the last failed attempt.
    Failure(Instant, String),
}

impl Held {
    /// The connection, if it can serve another call.
    pub(super) fn connection(&self) -> Option<&Arc<Connection>> {
        match self {
            Self::Connection(connection) if !connection.is_over() => Some(connection),
            _ => None,
        }
    }
}

impl Slot {
    /// How long the connection has been idle; `None` while it is in use.
    fn idle(&self) -> Option<Duration> {
        match self.held.try_lock().ok()?.connection() {
            Some(connection) => connection.idle(),
            None => Some(Duration::MAX),
        }
    }

    /// True if its server belongs to a copy of a plugin that is no longer installed, and no turn uses that copy.
    fn is_unused(&self) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.strong_count() == 0)
    }
}

/// The connections of all users.
#[derive(Default)]
pub(super) struct Pool(Mutex<HashMap<Key, Arc<Slot>>>);

impl Pool {
    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot for a connection. If its user has reached the limit, the connection that has been idle longest ends.
    ///
    /// Fails if all of them are in use.
    pub(super) fn slot(&self, key: &Key, copy: Option<&Arc<Installed>>) -> Result<Arc<Slot>, String> {
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
                    "you are using {MCP_CONNECTIONS_PER_USER} MCP servers at once, which is the limit; wait until one is done"
                ));
            };
            slots.remove(&longest);
        }
        let slot = Arc::new(Slot { held: Arc::default(), copy: copy.map(Arc::downgrade) });
        slots.insert(key.clone(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Ends the connections to servers of copies of plugins that were replaced, once no turn uses those copies.
    pub(super) fn end_unused(&self) {
        self.forget_slots(|_, slot| slot.is_unused());
    }

    /// Ends the connections that have been idle for half an hour, and those of [`Pool::end_unused`].
    pub(super) fn sweep(&self) {
        self.end_unused();
        self.slots()
            .retain(|_, slot| Arc::strong_count(slot) > 1 || slot.idle().is_none_or(|idle| idle < MCP_IDLE));
    }

    /// Ends the connections that match, with the calls in progress.
    pub(super) fn forget(&self, matches: impl Fn(&Key) -> bool) {
        self.forget_slots(|key, _| matches(key));
    }

    fn forget_slots(&self, matches: impl Fn(&Key, &Slot) -> bool) {
        self.slots().retain(|key, slot| {
            let goes = matches(key, slot);
            // A connection in progress needs no `end`: it is dropped with its slot, which has no other owner.
            if goes
                && let Ok(held) = slot.held.try_lock()
                && let Held::Connection(connection) = &*held
            {
                connection.end();
            }
            !goes
        });
    }

    /// The connections of a user's chat that can serve more calls, with the names of their servers.
    pub(super) fn of_chat(&self, user: UserId, chat: &ChatId) -> Vec<(String, Arc<Connection>)> {
        let slots = self.slots();
        let own = slots.iter().filter(|(key, _)| key.user == user && key.chat == *chat);
        own.filter_map(|(key, slot)| {
            Some((key.server.clone(), Arc::clone(slot.held.try_lock().ok()?.connection()?)))
        })
        .collect()
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

    fn key(chat: &ChatId, user: i64, server: usize) -> Key {
        Key {
            user: UserId(user),
            chat: chat.clone(),
            is_read_only: false,
            place: "laptop".to_owned(),
            server: server.to_string(),
            copy: None,
            hash: String::new(),
            secret: None,
        }
    }

    #[test]
    fn a_user_has_so_many_connections_and_takes_none_from_others() {
        let (pool, chat) = (Pool::default(), ChatId::random());
        let key = |user, server| key(&chat, user, server);
        let held: Vec<_> =
            (0..MCP_CONNECTIONS_PER_USER).map(|at| pool.slot(&key(1, at), None).unwrap()).collect();
        assert!(pool.slot(&key(1, 99), None).is_err(), "all are in use");
        assert!(pool.slot(&key(1, 0), None).is_ok() && pool.slot(&key(2, 0), None).is_ok());
        drop(held);
        assert!(pool.slot(&key(1, 99), None).is_ok());
        assert_eq!(pool.count(), MCP_CONNECTIONS_PER_USER + 1);
        pool.forget(|key| key.server == "99");
        assert_eq!(pool.count(), MCP_CONNECTIONS_PER_USER);
        pool.sweep();
        assert_eq!(pool.count(), 0, "nothing was ever connected");
    }
}
