//! Limits and timeouts of a runner that replaces its own program.

use super::RESULT_KEPT_MS;

/// The largest program that is downloaded, in bytes: several times the size of an unoptimised one.
pub const UPDATE_BYTES: u64 = 256 * 1024 * 1024;

/// The longest response that is read where a SHA-256 or an error is expected, in bytes.
pub const UPDATE_ANSWER_BYTES: usize = 1_024;

/// How much of an error's body is shown, in bytes.
pub const UPDATE_TOLD_BYTES: usize = 300;

/// How long the download waits for more data, in milliseconds.
pub const UPDATE_IDLE_MS: u64 = 30_000;

/// A leftover file of a download is removed by a later one when it is older than this, in milliseconds.
pub const UPDATE_STALE_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

/// How long a program may take to report its version, in milliseconds.
pub const UPDATE_VERSION_MS: u64 = 10_000;

/// How long a newly written program may count as being written, in milliseconds: commands that are born at the same moment
/// hold its file for an instant.
pub const UPDATE_BUSY_MS: u64 = 2_000;

/// The interval of checks while waiting, in milliseconds.
pub const UPDATE_LOOK_MS: u64 = 20;

/// How long an unacknowledged result can hold up an update, in milliseconds.
pub const UPDATE_RESULTS_KEPT_MS: u64 = RESULT_KEPT_MS;

/// How long a new program may take to register in its trial, in milliseconds.
pub const TRIAL_MS: u64 = 60_000;

/// How long a program on trial pauses before it tries again to reach the server, in milliseconds.
pub const TRIAL_PAUSE_MS: u64 = 1_000;

/// The announced time for a replaced runner to be back, in milliseconds: a failed trial, and the old program's start.
pub const UPDATE_RETURN_MS: u64 = TRIAL_MS + 30_000;

/// How long a replaced runner keeps reading until the server has closed the link, in milliseconds.
pub const UPDATE_LINGER_MS: u64 = 1_000;

/// With `--auto-update`, the shortest time from one attempt to the next, in milliseconds.
pub const AUTO_UPDATE_PAUSE_MS: u64 = 10 * 60 * 1_000;

/// How many `sandbridge-runner update` clients one runner serves at once.
pub const CONTROL_CONNECTIONS: usize = 8;

/// The longest line between `sandbridge-runner update` and a runner, in bytes.
pub const CONTROL_LINE_BYTES: usize = 4_096;

/// How long a request on that socket may take to arrive, and its answer to be read, in milliseconds.
pub const CONTROL_TIMEOUT_MS: u64 = 5_000;

/// The interval at which the commands that an update waits for are counted for its clients, in milliseconds.
pub const CONTROL_LOOK_MS: u64 = 500;

/// The longest reason for which an update failed, in bytes.
pub const UPDATE_ERROR_BYTES: usize = 4_096;
