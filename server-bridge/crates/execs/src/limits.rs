//! Every limit and timeout of an exec's life without its reader.

use std::time::Duration;

/// How long an attached exec goes on without its client.
pub const CLIENT_GRACE: Duration = Duration::from_secs(10);
/// How long an exec's runner may be away before the exec counts as lost, unless it is a task or a terminal.
pub const AWAY_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a model's task may run, and how long its runner may be away.
pub const TASK_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How often it is looked whether a terminal has a client, unless it lingers for less.
pub const TERMINAL_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// The most execs that are listed at once.
pub const LIST_MAX_ROWS: u32 = 1000;
/// How often a place that is away is looked for where no news of it came.
pub const PLACE_LOOK: Duration = Duration::from_secs(1);
