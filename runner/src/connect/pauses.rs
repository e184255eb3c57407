//! How long to wait before each attempt to connect.

use std::time::Duration;

use proto::limits::MAX_RETURN_PAUSE;

use crate::limits::{BRIEF_LINK_MS, BRIEF_LINKS, FAILURES_A_DOUBLING, RECONNECT_PAUSE_MS, RETURN_PAUSE_MS};

/// The state that the next pause depends on.
#[derive(Debug)]
pub(crate) struct Pauses {
    failures: u32,
    /// The number of successive links that ended as soon as they were registered.
    brief_links: u32,
    longest: Duration,
}

impl Pauses {
    /// No pause is longer than this.
    pub(crate) fn up_to(longest: Duration) -> Self {
        Self { failures: 0, brief_links: 0, longest }
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The pause after a registered link that lasted this long; `asked` is the server's request in its goodbye, and `part` is
    /// random, 0 to 1.
    pub(crate) fn after_link(&mut self, lived: Duration, asked: Duration, part: f64) -> Duration {
        let is_brief = lived < Duration::from_millis(BRIEF_LINK_MS);
        self.brief_links = if is_brief { self.brief_links.saturating_add(1) } else { 0 };
        if self.brief_links > BRIEF_LINKS {
            return self.after_failure(part);
        }
        self.failures = 0;
        let pause = Duration::from_millis(RETURN_PAUSE_MS).mul_f64(part);
        (pause + asked.min(MAX_RETURN_PAUSE)).min(self.longest)
    }

    /// The pause after an attempt that led to no link: a random part of a bound that grows.
    pub(crate) fn after_failure(&mut self, part: f64) -> Duration {
        let doublings = (self.failures / FAILURES_A_DOUBLING).min(16);
        self.failures = self.failures.saturating_add(1);
        let bound = Duration::from_millis(RECONNECT_PAUSE_MS.saturating_mul(1 << doublings));
        bound.min(self.longest).mul_f64(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn failures_make_pauses_grow_to_their_limit_and_a_link_starts_over() {
        let mut pauses = Pauses::up_to(60 * SECOND);
        let bounds: Vec<_> = (0..14).map(|_| pauses.after_failure(1.0).as_secs()).collect();
        assert_eq!(bounds, [1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 60, 60]);
        assert_eq!(pauses.after_failure(0.5), 30 * SECOND);
        assert!(pauses.after_link(Duration::ZERO, Duration::ZERO, 1.0) < SECOND, "however short it was");
        assert_eq!(pauses.after_failure(1.0), SECOND);
        let short = Duration::from_millis(200);
        assert_eq!(
            Pauses::up_to(short).after_failure(1.0),
            short,
            "a limit below the first pause applies too"
        );
        assert_eq!(Pauses::up_to(short).after_link(SECOND, 30 * SECOND, 1.0), short);
    }

    #[test]
    fn what_the_server_asks_for_comes_on_top_and_has_a_limit() {
        let mut pauses = Pauses::up_to(60 * SECOND);
        assert_eq!(pauses.after_link(SECOND, 5 * SECOND, 0.0), 5 * SECOND);
        assert_eq!(pauses.after_link(SECOND, Duration::MAX, 0.0), MAX_RETURN_PAUSE);
        assert_eq!(pauses.after_link(SECOND, Duration::ZERO, 0.0), Duration::ZERO);
    }

    #[test]
    fn links_that_break_at_once_count_as_failures_after_some() {
        let mut pauses = Pauses::up_to(60 * SECOND);
        let brief = |pauses: &mut Pauses| pauses.after_link(Duration::ZERO, Duration::ZERO, 1.0);
        assert!((0..BRIEF_LINKS).all(|_| brief(&mut pauses) < SECOND));
        let bounds: Vec<_> = (0..6).map(|_| brief(&mut pauses).as_secs()).collect();
        assert_eq!(bounds, [1, 1, 2, 2, 4, 4]);
        assert!(
            pauses.after_link(SECOND, Duration::ZERO, 1.0) < SECOND,
            "a link that lasted resets the pauses"
        );
        assert!(brief(&mut pauses) < SECOND);
    }
}
