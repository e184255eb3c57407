//! What happens, told to whoever of the user's clients listens, and kept for those who come back.
//!
//! ```text
//! publish ─▶ numbered per user ─▶ the newest are kept ─▶ listener: from where it stands, in order, each once
//!                                        └▶ too far behind: told to load anew
//! ```
//! A number is never used twice within one `epoch`, which is one life of the server.

mod feed;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use accounts::UserId;
use api::event::Event;
use bytes::Bytes;
use tokio::sync::watch;

use crate::limits::EVENTS_KEPT_OF_ALL_BYTES;
use feed::{Feed, Taken};

/// The events of every user. Nobody waits for a slow listener.
#[derive(Debug)]
pub struct Hub {
    epoch: String,
    feeds: Mutex<Feeds>,
}

#[derive(Debug, Default)]
struct Feeds {
    by_user: HashMap<UserId, Feed>,
    /// What all of them keep.
    kept_bytes: usize,
}

/// Where a client stood that comes back.
#[derive(Debug, Clone, Copy)]
pub struct Stood<'a> {
    /// The life of the server it knows.
    pub epoch: &'a str,
    /// The last event it has.
    pub after: u64,
}

/// A client's place in its user's events.
#[derive(Debug)]
pub struct Listener {
    hub: Arc<Hub>,
    user: UserId,
    seen: u64,
    news: watch::Receiver<u64>,
}

/// What a listener is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// The next event, numbered, as JSON.
    Event(Bytes),
    /// Some are not kept any more; this is the number to go on from.
    Lagged(u64),
}

impl Default for Hub {
    fn default() -> Self {
        let epoch = format!("{:016x}", rand::random::<u64>());
        Self { epoch, feeds: Mutex::default() }
    }
}

impl Hub {
    /// This life of the server: 16 hex digits.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Tells all of a user's sockets, and keeps it for those who come back soon.
    pub fn publish(&self, user: UserId, event: &Event) {
        // Whoever never listened cannot come back.
        if !self.lock().counts(user, Instant::now()) {
            return;
        }
        match serde_json::to_string(event) {
            Ok(text) => self.lock().publish(user, &text, Instant::now()),
            Err(error) => tracing::error!(%error, "an event is not JSON"),
        }
    }

    /// Listens to what happens from now on, or from where a client stood; whether that could be done.
    pub fn subscribe(self: &Arc<Self>, user: UserId, stood: Option<Stood<'_>>) -> (Listener, bool) {
        let mut feeds = self.lock();
        let feed = feeds.by_user.entry(user).or_default();
        let after = stood.filter(|stood| stood.epoch == self.epoch && feed.has_all_behind(stood.after));
        let seen = after.map_or(feed.newest(), |stood| stood.after);
        let news = feed.enter();
        (Listener { hub: Arc::clone(self), user, seen, news }, after.is_some())
    }

    /// Drops what is kept for listeners that did not come back in time.
    pub fn forget_gone(&self, now: Instant) {
        let mut feeds = self.lock();
        let Feeds { by_user, kept_bytes } = &mut *feeds;
        for feed in by_user.values_mut().filter(|feed| feed.is_given_up(now)) {
            *kept_bytes -= feed.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Feeds> {
        // Every change is whole before anything in it could panic.
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feeds {
    /// Whether an event of this user has to be written down; where nobody comes back for it, it only has its number.
    fn counts(&mut self, user: UserId, now: Instant) -> bool {
        let Some(feed) = self.by_user.get_mut(&user) else { return false };
        if !feed.is_given_up(now) {
            return true;
        }
        self.kept_bytes -= feed.clear();
        feed.skip();
        false
    }

    fn publish(&mut self, user: UserId, event: &str, now: Instant) {
        let Some(feed) = self.by_user.get_mut(&user) else { return };
        let (added, dropped) = feed.push(event);
        self.kept_bytes = self.kept_bytes + added - dropped;
        if self.kept_bytes > EVENTS_KEPT_OF_ALL_BYTES {
            self.make_room(now);
        }
    }

    /// Whoever is away longest gives way first; then whoever keeps most.
    fn make_room(&mut self, now: Instant) {
        let away = |feed: &Feed| feed.away(now).filter(|_| feed.kept_bytes() > 0);
        while self.kept_bytes > EVENTS_KEPT_OF_ALL_BYTES {
            let longest = self.by_user.iter_mut().filter(|(_, feed)| away(feed).is_some());
            match longest.max_by_key(|(_, feed)| away(feed)) {
                Some((_, feed)) => self.kept_bytes -= feed.clear(),
                None => break,
            }
        }
        // Not whoever tells now: another may hold nearly all of it.
        while self.kept_bytes > EVENTS_KEPT_OF_ALL_BYTES {
            let largest = self.by_user.values_mut().max_by_key(|feed| feed.kept_bytes());
            match largest.map_or(0, |feed| feed.drop_oldest(1)) {
                0 => break,
                dropped => self.kept_bytes -= dropped,
            }
        }
    }
}

impl Listener {
    /// The number of the last event that this listener has.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Waits for what comes next. Nothing is lost where this is dropped.
    pub async fn next(&mut self) -> Heard {
        loop {
            self.news.borrow_and_update();
            if let Some(heard) = self.ready() {
                return heard;
            }
            // The feed, which holds the other side, is kept as long as the hub.
            let _ = self.news.changed().await;
        }
    }

    /// What comes next, if it is there.
    pub fn ready(&mut self) -> Option<Heard> {
        let feeds = self.hub.lock();
        match feeds.by_user.get(&self.user)?.behind(self.seen) {
            Taken::Nothing => None,
            Taken::Event(text) => {
                self.seen += 1;
                Some(Heard::Event(text))
            }
            Taken::Gone(newest) => {
                self.seen = newest;
                Some(Heard::Lagged(newest))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(feed) = self.hub.lock().by_user.get_mut(&self.user) {
            feed.leave(Instant::now());
        }
    }
}
