//! Limits, with their units.

use std::time::Duration;

/// How much of the log since an agent last spoke is shown to it, in bytes; the newest part.
pub const DIGEST_MAX_BYTES: usize = 32 * 1024;

/// The most entries of that part.
pub const DIGEST_ENTRIES: i64 = 200;

/// The entries of the log that a client gets at once.
pub const ENTRIES_LISTED: i64 = 100;

/// The ended calls that a client gets beside the open ones.
pub const CALLS_LISTED: i64 = 50;

/// The runs of chains that a client gets at once.
pub const RUNS_LISTED: i64 = 20;

/// The longest time between two looks at what is to be done. A wake-up that is lost costs as much.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// The pause after an error of the database.
pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How long an agent waits for another one; after that it hears of the answer later.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(600);

/// The most agents of a discussion.
pub const DISCUSSION_AGENTS: usize = 8;

/// The most rounds of a discussion: with 8 agents it has no more steps than a chain may have.
pub const DISCUSSION_ROUNDS: u32 = 5;

/// How long an agent waits for a run that it began; the run goes on after that.
pub const RUN_PATIENCE: Duration = Duration::from_secs(1800);
