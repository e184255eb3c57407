//! Waiting for something to become true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// The interval of checks of a condition.
const INTERVAL: Duration = Duration::from_millis(20);

/// Waits until `probe` returns a value.
///
/// # Panics
/// After `deadline`, with a message that contains `what`.
pub fn eventually<T>(what: &str, deadline: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + deadline;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(Instant::now() < end, "within {deadline:?}: {what}");
        thread::sleep(INTERVAL);
    }
}
