//! Keeps to a platform's rate limits, so that the platform does not have to refuse requests.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::platform::Failure;

/// When there are more keys than this, those without recent requests are removed.
const KEYS_BEFORE_SWEEP: usize = 1000;

/// A rate limit: at most `count` requests in any `window` for one key.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The maximum number of requests in a window.
    pub count: usize,
    /// The length of the sliding window in which requests are counted.
    pub window: Duration,
}

/// Counts the requests of each key.
#[derive(Debug, Default)]
pub struct Pace {
    sent: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl Pace {
    /// Counts one request for all of these keys, each with its limit; if one limit is reached, the request is not counted at all.
    ///
    /// # Errors
    /// [`Failure::TooFast`] with the time until the request is possible.
    pub fn take(&self, keys: &[(&str, Limit)]) -> Result<(), Failure> {
        let now = Instant::now();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wait = Duration::ZERO;
        for (key, limit) in keys {
            let Some(times) = sent.get_mut(*key) else { continue };
            while times.front().is_some_and(|first| now.duration_since(*first) >= limit.window) {
                times.pop_front();
            }
            if times.len() >= limit.count
                && let Some(first) = times.front()
            {
                wait = wait.max(limit.window - now.duration_since(*first));
            }
        }
        if wait > Duration::ZERO {
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
            return Err(Failure::TooFast { wait_ms });
        }
        if sent.len() > KEYS_BEFORE_SWEEP {
            let longest = keys.iter().map(|(_, limit)| limit.window).max().unwrap_or_default();
            sent.retain(|_, times| times.back().is_some_and(|last| now.duration_since(*last) < longest));
        }
        for (key, _) in keys {
            sent.entry((*key).to_owned()).or_default().push_back(now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit { count: 2, window: Duration::from_secs(10) };

    #[tokio::test(start_paused = true)]
    async fn a_third_request_waits_until_the_first_is_old() {
        let pace = Pace::default();
        pace.take(&[("a", LIMIT)]).unwrap();
        tokio::time::advance(Duration::from_secs(4)).await;
        pace.take(&[("a", LIMIT)]).unwrap();
        let refused = pace.take(&[("b", LIMIT), ("a", LIMIT)]);
        assert!(matches!(refused, Err(Failure::TooFast { wait_ms: 6001 })), "{refused:?}");
        pace.take(&[("b", LIMIT)]).unwrap();
        pace.take(&[("b", LIMIT)]).expect("a refused request is not counted");
        tokio::time::advance(Duration::from_secs(6)).await;
        pace.take(&[("a", LIMIT)]).unwrap();
    }
}
