//! Computes how long to wait before the next try. This module reads no clock; times are arguments.

use std::time::Duration;

use crate::limits::{FAST_END, FAST_ENDS, RECONNECT_MAX, RECONNECT_MIN, STEADY};

/// The pauses between connections, or between tries to send.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The last pause, without jitter.
    last: Duration,
    /// The number of consecutive connections that ended soon after they began.
    fast_ends: u32,
}

impl Pace {
    /// Returns the pause after a connection that lasted this long. `jitter` is between 0 and 1.
    pub(crate) fn ended(&mut self, lasted: Duration, jitter: f64) -> Duration {
        self.fast_ends = if lasted < FAST_END { self.fast_ends + 1 } else { 0 };
        if lasted >= STEADY {
            self.last = Duration::ZERO;
        }
        if self.fast_ends >= FAST_ENDS {
            self.fast_ends = 0;
            self.last = RECONNECT_MAX;
            return RECONNECT_MAX;
        }
        self.next(jitter)
    }

    /// Returns the pause after a failed try; each pause is twice as long as the one before. `jitter` is between 0 and 1.
    pub(crate) fn next(&mut self, jitter: f64) -> Duration {
        self.last = (self.last * 2).clamp(RECONNECT_MIN, RECONNECT_MAX);
        // Randomly between half of the pause and the whole pause, so that many accounts do not connect at the same moment.
        self.last.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// Starts again with the shortest pause, after a success.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn pauses_double_up_to_a_minute_and_begin_small_after_a_steady_connection() {
        let mut pace = Pace::default();
        let pauses: Vec<u64> = (0..8).map(|_| pace.ended(LONG, 1.0).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pace.ended(STEADY, 1.0), RECONNECT_MIN);
        assert!(pace.ended(LONG, 0.0) >= RECONNECT_MIN, "half of two seconds");
    }

    #[test]
    fn three_connections_that_end_at_once_are_followed_by_a_long_pause() {
        let mut pace = Pace::default();
        let fast = Duration::from_millis(10);
        assert!(pace.ended(fast, 1.0) < RECONNECT_MAX && pace.ended(fast, 1.0) < RECONNECT_MAX);
        assert_eq!(pace.ended(fast, 0.0), RECONNECT_MAX);
        assert_eq!(pace.ended(LONG, 1.0), RECONNECT_MAX);
    }
}
