//! Distributes events to each user's listening clients, and keeps them for clients that reconnect.
//!
//! ```text
//! publish ─▶ numbered per user ─▶ the newest are kept ─▶ listener: from its position on, in order, each once
//!                                        └▶ a listener that missed too many has to reload
//! ```
//! A number is never used twice within one `epoch`, which is one run of the server.

mod feed;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use accounts::UserId;
use api::event::Event;
use bytes::Bytes;
use chats::Languages;
use tokio::sync::watch;

use crate::limits::EVENTS_KEPT_OF_ALL_BYTES;
use feed::{Feed, Taken};

/// The events of every user. A slow listener delays nothing.
#[derive(Debug)]
pub struct Hub {
    epoch: String,
    /// The users' languages, for the server's texts in events.
    languages: Arc<Languages>,
    feeds: Mutex<Feeds>,
}

#[derive(Debug, Default)]
struct Feeds {
    by_user: HashMap<UserId, Feed>,
    /// The total size of all users' kept events, in bytes.
    kept_bytes: usize,
}

/// The position of a client that reconnects.
#[derive(Debug, Clone, Copy)]
pub struct Stood<'a> {
    /// The server run that it was connected to.
    pub epoch: &'a str,
    /// The number of the last event that it has.
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

/// An item for a listener.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// The next event, numbered, as JSON.
    Event(Bytes),
    /// Some events are no longer kept; this is the number to continue from.
    Lagged(u64),
}

impl Hub {
    /// Creates a hub without listeners; `languages` knows each user's language.
    pub fn new(languages: Arc<Languages>) -> Self {
        let epoch = format!("{:016x}", rand::random::<u64>());
        Self { epoch, languages, feeds: Mutex::default() }
    }

    /// The id of this server run: 16 hex digits.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Sends an event to all of a user's sockets, and keeps it for those that reconnect soon.
    pub fn publish(&self, user: UserId, event: &Event) {
        // A user without listening clients has none that could reconnect.
        if !self.lock().counts(user, Instant::now()) {
            return;
        }
        match self.languages.of(user).to_json(event) {
            Ok(text) => self.lock().publish(user, &text, Instant::now()),
            Err(error) => tracing::error!(%error, "an event cannot be written as JSON"),
        }
    }

    /// Listens from now on, or from a client's position; also returns true if it was possible to resume from that position.
    pub fn subscribe(self: &Arc<Self>, user: UserId, stood: Option<Stood<'_>>) -> (Listener, bool) {
        let mut feeds = self.lock();
        let feed = feeds.by_user.entry(user).or_default();
        let after = stood.filter(|stood| stood.epoch == self.epoch && feed.has_all_behind(stood.after));
        let seen = after.map_or(feed.newest(), |stood| stood.after);
        let news = feed.enter();
        (Listener { hub: Arc::clone(self), user, seen, news }, after.is_some())
    }

    /// Drops the events of listeners that did not reconnect in time.
    pub fn forget_gone(&self, now: Instant) {
        let mut feeds = self.lock();
        let Feeds { by_user, kept_bytes } = &mut *feeds;
        for feed in by_user.values_mut().filter(|feed| feed.is_given_up(now)) {
            *kept_bytes -= feed.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Feeds> {
        // A poisoned lock is usable: no change can panic halfway.
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feeds {
    /// True if an event of this user has to be kept. If no client is expected to reconnect, the event is only counted.
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

    /// Evicts all events of the users who have been disconnected longest; if that is not enough, the oldest event of the user with the
    /// most bytes kept, repeatedly.
    fn make_room(&mut self, now: Instant) {
        let away = |feed: &Feed| feed.away(now).filter(|_| feed.kept_bytes() > 0);
        while self.kept_bytes > EVENTS_KEPT_OF_ALL_BYTES {
            let longest = self.by_user.iter_mut().filter(|(_, feed)| away(feed).is_some());
            match longest.max_by_key(|(_, feed)| away(feed)) {
                Some((_, feed)) => self.kept_bytes -= feed.clear(),
                None => break,
            }
        }
        // Evicts events of any user: those of one user may take up nearly all of the space.
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

    /// Waits for the next item. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Heard {
        loop {
            self.news.borrow_and_update();
            if let Some(heard) = self.ready() {
                return heard;
            }
            // The sender is in the feed, which exists as long as the hub.
            let _ = self.news.changed().await;
        }
    }

    /// The next item, if it is ready.
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
