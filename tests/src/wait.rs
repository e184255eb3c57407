//! Waiting for something to become true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// The shortest pause between two checks of a condition.
const MIN_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two checks of a condition.
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// Waits until `probe` returns a value. The pause between two calls is as long as a call: a probe that starts a process leaves half of
/// the time to what it waits for.
///
/// # Panics
/// After `deadline`, with a message that contains `what`.
pub fn eventually<T>(what: &str, deadline: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + deadline;
    loop {
        let began = Instant::now();
        if let Some(value) = probe() {
            return value;
        }
        assert!(Instant::now() < end, "within {deadline:?}: {what}");
        thread::sleep(began.elapsed().clamp(MIN_PAUSE, MAX_PAUSE));
    }
}
