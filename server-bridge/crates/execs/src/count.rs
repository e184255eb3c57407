//! Counts the ends of the commands of clients and programs.

use std::time::Duration;

use metrics::{counter, histogram};

/// The name of the counter of ended commands of clients and programs, by outcome.
pub const EXECS: &str = "sandbridge_execs_total";
/// The name of the histogram of these commands' durations, in seconds, as their clients saw them.
pub const EXEC_SECONDS: &str = "sandbridge_exec_duration_seconds";

/// Counts a command that ended with this outcome.
pub fn count_end(outcome: &'static str, took: Duration) {
    counter!(EXECS, "outcome" => outcome).increment(1);
    histogram!(EXEC_SECONDS).record(took);
}
