//! Pings, pongs and the detection of a dead link.

use std::time::Instant;

use crate::frame::Kind;
use crate::limits::{HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT};
use crate::session::{Close, CloseCode};

/// Any received frame proves life; a ping is sent if nothing else was for an interval.
#[derive(Debug)]
pub(super) struct Heartbeat {
    last_received: Instant,
    last_sent: Instant,
    /// True if a ping waits to be sent: at most one ping and one pong wait, however many are due.
    ping: bool,
    pong: Option<u64>,
}

impl Heartbeat {
    pub(super) fn new(now: Instant) -> Self {
        Self { last_received: now, last_sent: now, ping: false, pong: None }
    }

    pub(super) fn received(&mut self, now: Instant) {
        self.last_received = now;
    }

    pub(super) fn sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    pub(super) fn answer(&mut self, sequence: u64) {
        self.pong = Some(sequence);
    }

    pub(super) fn next_frame(&mut self) -> Option<(Kind, u64)> {
        if let Some(sequence) = self.pong.take() {
            return Some((Kind::Pong, sequence));
        }
        std::mem::take(&mut self.ping).then_some((Kind::Ping, 0))
    }

    pub(super) fn next_timeout(&self) -> Instant {
        (self.last_sent + HEARTBEAT_INTERVAL).min(self.last_received + HEARTBEAT_TIMEOUT)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Close> {
        if now >= self.last_received + HEARTBEAT_TIMEOUT {
            let text = format!("nothing was received for {} s", HEARTBEAT_TIMEOUT.as_secs());
            return Err(Close::new(CloseCode::Dead, text));
        }
        if now >= self.last_sent + HEARTBEAT_INTERVAL {
            self.ping = true;
            // The ping may have to wait for a slow socket; another one is not due at once.
            self.last_sent = now;
        }
        Ok(())
    }
}
