//! Detecting that the machine slept: connections that looked alive may be long dead.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::limits::{SLEEP_GAP_MS, SLEEP_LOOK_MS};

/// Compares the clock that stops during sleep with the one that continues, and both with the expected time.
#[derive(Debug)]
pub(crate) struct SleepDetector {
    asleep: Duration,
    looked: Instant,
}

impl SleepDetector {
    pub(crate) fn new() -> Self {
        Self { asleep: time_asleep(), looked: Instant::now() }
    }

    /// True if the machine (or this process) slept since the last call; call it every [`SLEEP_LOOK_MS`] or more often.
    pub(crate) fn slept(&mut self) -> bool {
        let gap = Duration::from_millis(SLEEP_GAP_MS);
        let (asleep, now) = (time_asleep(), Instant::now());
        let late = now.duration_since(self.looked) > gap + Duration::from_millis(SLEEP_LOOK_MS);
        let slept = asleep.saturating_sub(self.asleep) > gap || late;
        (self.asleep, self.looked) = (asleep, now);
        slept
    }
}

/// How long the machine has slept since it was started.
fn time_asleep() -> Duration {
    let read = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let asleep = read(ClockId::Boottime).saturating_sub(read(ClockId::Monotonic));
    #[cfg(test)]
    let asleep = asleep + tests::PRETENDED.get();
    asleep
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(super) static PRETENDED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Makes this thread see a sleep of the machine.
    pub(crate) fn pretend_sleep(time: Duration) {
        PRETENDED.set(PRETENDED.get() + time);
    }

    #[test]
    fn a_sleep_is_told_once_and_a_nap_is_none() {
        let mut detector = SleepDetector::new();
        pretend_sleep(Duration::from_millis(SLEEP_GAP_MS - 1_000));
        assert!(!detector.slept());
        pretend_sleep(Duration::from_secs(8 * 60 * 60));
        assert!(detector.slept());
        assert!(!detector.slept());
    }

    #[test]
    fn a_machine_that_is_awake_did_not_sleep() {
        let mut detector = SleepDetector::new();
        assert!(!detector.slept());
    }

    #[test]
    fn a_look_that_comes_far_too_late_is_a_sleep_and_is_told_once() {
        let long_ago =
            Instant::now().checked_sub(Duration::from_millis(SLEEP_GAP_MS + SLEEP_LOOK_MS + 1)).unwrap();
        let mut detector = SleepDetector { asleep: time_asleep(), looked: long_ago };
        assert!(detector.slept());
        assert!(!detector.slept());
    }
}
