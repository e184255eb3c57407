//! One user's events: their numbers, and the newest of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use crate::limits::{EVENTS_KEPT, EVENTS_KEPT_BYTES, EVENTS_KEPT_FOR};

/// The events of one user, with the number of the newest event and of the listeners.
#[derive(Debug)]
pub(super) struct Feed {
    /// The newest events, numbered; the last one has the number `newest`.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    newest: u64,
    listeners: usize,
    /// When the last listener disconnected; `None` while there is one.
    left_at: Option<Instant>,
    news: watch::Sender<u64>,
}

/// The result of looking up the event after a number.
pub(super) enum Taken {
    Nothing,
    Event(Bytes),
    /// The event is no longer kept; contains the newest event's number.
    Gone(u64),
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
            kept_bytes: 0,
            newest: 0,
            listeners: 0,
            left_at: None,
            news: watch::Sender::new(0),
        }
    }
}

impl Feed {
    /// The number of the last event.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Counts a listener; returns its notification channel.
    pub(super) fn enter(&mut self) -> watch::Receiver<u64> {
        self.listeners += 1;
        self.left_at = None;
        self.news.subscribe()
    }

    /// Counts one listener fewer.
    pub(super) fn leave(&mut self, now: Instant) {
        self.listeners = self.listeners.saturating_sub(1);
        if self.listeners == 0 {
            self.left_at = Some(now);
        }
    }

    /// How long there has been no listener; `None` while there is one.
    pub(super) fn away(&self, now: Instant) -> Option<Duration> {
        self.left_at.map(|left_at| now.saturating_duration_since(left_at))
    }

    /// True if no client is expected back.
    pub(super) fn is_given_up(&self, now: Instant) -> bool {
        self.away(now).is_some_and(|away| away > EVENTS_KEPT_FOR)
    }

    /// True if every event after this number is kept.
    pub(super) fn has_all_behind(&self, number: u64) -> bool {
        number <= self.newest && self.newest - number <= self.kept.len() as u64
    }

    /// The event after this number.
    pub(super) fn behind(&self, number: u64) -> Taken {
        if number >= self.newest {
            return Taken::Nothing;
        }
        let back = usize::try_from(self.newest - number).unwrap_or(usize::MAX);
        match self.kept.len().checked_sub(back).and_then(|at| self.kept.get(at)) {
            Some(text) => Taken::Event(text.clone()),
            None => Taken::Gone(self.newest),
        }
    }

    /// Numbers an event, keeps it and notifies listeners; returns the number of bytes added, and of bytes dropped.
    pub(super) fn push(&mut self, event: &str) -> (usize, usize) {
        self.newest += 1;
        let text = numbered(event, self.newest);
        let added = text.len();
        self.kept_bytes += added;
        self.kept.push_back(text);
        let surplus_bytes = self.kept_bytes.saturating_sub(EVENTS_KEPT_BYTES);
        let mut dropped = self.drop_oldest(surplus_bytes);
        if self.kept.len() > EVENTS_KEPT {
            dropped += self.drop_oldest(1);
        }
        self.news.send_replace(self.newest);
        (added, dropped)
    }

    /// Counts an event that is not kept.
    pub(super) fn skip(&mut self) {
        self.newest += 1;
    }

    /// Drops at least this many bytes of the oldest events, but never the newest event; returns the number of bytes dropped.
    pub(super) fn drop_oldest(&mut self, at_least_bytes: usize) -> usize {
        let mut dropped = 0;
        while dropped < at_least_bytes && self.kept.len() > 1 {
            dropped += self.kept.pop_front().map_or(0, |text| text.len());
        }
        self.kept_bytes -= dropped;
        dropped
    }

    /// Drops all kept events; returns the number of bytes dropped.
    pub(super) fn clear(&mut self) -> usize {
        self.kept = VecDeque::new();
        std::mem::take(&mut self.kept_bytes)
    }
}

/// Puts a number in front of an event's own fields.
fn numbered(event: &str, number: u64) -> Bytes {
    let fields = event.strip_prefix('{').unwrap_or(event);
    Bytes::from(format!("{{\"seq\":{number},{fields}"))
}
