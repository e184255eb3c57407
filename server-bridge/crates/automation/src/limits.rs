//! Limits, with their units.

use std::time::Duration;

/// The shortest time between two runs of `every`, in seconds.
pub const EVERY_MIN_SECONDS: i64 = 60;
/// The longest time between two runs of `every`, in seconds: a year.
pub const EVERY_MAX_SECONDS: i64 = 366 * 24 * 3600;
/// How far in the future the slot of `at` may be, in milliseconds: ten years.
pub const AT_MAX_AHEAD_MS: i64 = 10 * 366 * 24 * 3_600_000;
/// The longest cron pattern, and the longest name of a time zone, in bytes.
pub const PATTERN_MAX_BYTES: usize = 200;
/// A slot that is at most this late counts as on time, in milliseconds.
pub const ON_TIME_MS: i64 = 60_000;
/// The greatest age of a missed slot that `once` still runs, in milliseconds.
pub const MISSED_ONCE_MS: i64 = 3_600_000;
/// The maximum number of missed slots that `all` runs.
pub const MISSED_ALL_RUNS: usize = 10;
/// The maximum number of missed slots that each get a row; older ones are only counted, in the row of the oldest.
pub const MISSED_ROWS: usize = 100;
/// The limit on missed slots that are counted one by one; a schedule that has missed more continues with its next slot.
pub const MISSED_COUNTED: usize = 2_000;
/// The number of consecutive failed runs after which a job is paused.
pub const FAILURES_TO_PAUSE: usize = 10;
/// The maximum number of runs that all jobs of one user can post in 24 hours.
pub const RUNS_PER_USER_PER_DAY: i64 = 500;
/// The longest sleep of the clock's task, and thus the time within which the task notices that the machine's clock was set.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(20);
/// How long the clock's task waits before it tries again after a failure of the database.
pub const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The maximum number of jobs or runs that are read at once.
pub const BATCH: i64 = 100;
/// How long the record of a run is kept, in milliseconds: 30 days.
pub const RUNS_KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// The maximum number of runs in a page of the list.
pub const RUNS_LISTED: i64 = 100;
/// The longest message of an automation, in bytes.
pub const TEXT_MAX_BYTES: usize = 32 * 1024;
/// The maximum number of events of a trigger, of its conditions, and of its fields.
pub const TRIGGER_PARTS_MAX: usize = 50;
/// The longest event, pointer or compared text of a trigger, in bytes.
pub const TRIGGER_PART_MAX_BYTES: usize = 500;
/// The shortest secret that a user may choose, in bytes.
pub const SECRET_MIN_BYTES: usize = 16;
/// How far the time of a signed delivery may be from the server's time, in milliseconds, as Slack and Standard Webhooks advise.
pub const SIGNED_WITHIN_MS: i64 = 300_000;
/// The longest delivery, in bytes.
pub const DELIVERY_MAX_BYTES: usize = store::limits::JOB_PAYLOAD_MAX_BYTES;
/// The maximum size of the part of a delivery that the agent sees, in bytes.
pub const SHOWN_MAX_BYTES: usize = 32 * 1024;
