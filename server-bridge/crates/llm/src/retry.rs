//! Decides which failures are retried, and when. There is no clock here: only the time to wait is computed.

use std::time::Duration;

use crate::error::Error;
use crate::limits::{
    RATE_LIMIT_DOUBLINGS, RETRY_AFTER_LIMIT, RETRY_ATTEMPTS, RETRY_PAUSE, RETRY_PAUSE_LIMIT,
};

/// The retries of a call, and their pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The maximum number of attempts; at least one is made.
    pub attempts: u32,
    /// The pause before the second attempt.
    pub pause: Duration,
    /// The longest pause between two attempts.
    pub pause_limit: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: RETRY_ATTEMPTS, pause: RETRY_PAUSE, pause_limit: RETRY_PAUSE_LIMIT }
    }
}

impl Patience {
    /// How long to wait after the `failed`th attempt (the first one is 1) before the next; `None` if retrying is pointless.
    ///
    /// Each pause is between half and the whole of the doubled value, depending on `jitter` (0 to 1). A rate limit adds
    /// 2^min(failed, 4) seconds, or as much as the provider asks for.
    pub fn pause_after(&self, failed: u32, error: &Error, jitter: f64) -> Option<Duration> {
        if failed >= self.attempts || !error.is_passing() {
            return None;
        }
        let doubled = self.pause.saturating_mul(2u32.saturating_pow(failed - 1)).min(self.pause_limit);
        let pause = doubled.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        let Error::RateLimited { retry_after, .. } = error else { return Some(pause) };
        let extra = Duration::from_secs(1 << failed.min(RATE_LIMIT_DOUBLINGS));
        match retry_after {
            Some(asked) if *asked > RETRY_AFTER_LIMIT => None,
            Some(asked) => Some((pause + extra).max(*asked)),
            None => Some(pause + extra),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after_s: Option<u64>) -> Error {
        Error::RateLimited { message: String::new(), retry_after: retry_after_s.map(Duration::from_secs) }
    }

    #[test]
    fn pauses_double_up_to_their_limit_and_end_with_the_attempts() {
        let down = Error::Provider(String::new());
        let pauses: Vec<_> =
            (1..=5).map(|failed| Patience::default().pause_after(failed, &down, 1.0)).collect();
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(pauses, [seconds(1), seconds(2), seconds(4), seconds(8), None]);
        let longer = Patience { attempts: 10, ..Patience::default() };
        assert_eq!(longer.pause_after(6, &down, 1.0), seconds(30));
        assert_eq!(longer.pause_after(9, &down, 0.0), seconds(15));
    }

    #[test]
    fn a_rate_limit_is_given_more_time() {
        let pause = |failed, asked| Patience::default().pause_after(failed, &limited(asked), 1.0);
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!([pause(1, None), pause(2, None), pause(4, None)], [seconds(3), seconds(6), seconds(24)]);
        let longer = Patience { attempts: 10, ..Patience::default() };
        assert_eq!(longer.pause_after(9, &limited(None), 1.0), seconds(46), "30 s and 2^4 s");
        assert_eq!(pause(1, Some(20)), seconds(20));
        assert_eq!(pause(1, Some(120)), seconds(120));
        assert_eq!(pause(1, Some(121)), None, "that is too long to wait; the user gets the error");
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        let patience = Patience::default();
        for error in [
            Error::Key(String::new()),
            Error::UnknownModel(String::new()),
            Error::InputTooLong(String::new()),
            Error::Quota(String::new()),
            Error::Refused(String::new()),
            Error::Nonsense(""),
            Error::Relay(String::new()),
        ] {
            assert_eq!(patience.pause_after(1, &error, 0.5), None, "{error:?}");
        }
        for error in
            [Error::Network(String::new()), Error::Timeout(String::new()), Error::Interrupted, Error::Empty]
        {
            assert!(patience.pause_after(4, &error, 0.5).is_some(), "{error:?}");
            assert_eq!(patience.pause_after(5, &error, 0.5), None, "{error:?}");
        }
    }

    #[test]
    fn another_model_stands_in_for_what_is_not_there_and_not_for_what_is_set_up_wrongly() {
        let text = String::new;
        for error in [
            limited(None),
            limited(Some(9_999)),
            Error::Overloaded(text()),
            Error::Provider(text()),
            Error::Network(text()),
            Error::Timeout(text()),
            Error::Interrupted,
            Error::Empty,
            Error::Quota(text()),
            Error::Relay(text()),
        ] {
            assert!(error.is_anothers_turn(), "{error:?}");
        }
        let told = [Error::Key(text()), Error::UnknownModel(text()), Error::InputTooLong(text())];
        for error in told.into_iter().chain([Error::Refused(text()), Error::Nonsense("")]) {
            assert!(!error.is_anothers_turn(), "{error:?}");
        }
    }
}
