//! Every limit and timeout of this crate.

use std::time::Duration;

/// How long an attached exec continues without its client.
pub const CLIENT_GRACE: Duration = Duration::from_secs(10);
/// How long an exec's runner may be unreachable before the exec counts as lost, unless it is a task or a terminal.
pub const AWAY_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a model's task may run, and how long its runner may be unreachable.
pub const TASK_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The interval at which a terminal is checked for a client, unless it lingers for less.
pub const TERMINAL_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Limit on the number of execs in a listing.
pub const LIST_MAX_ROWS: u32 = 1000;
/// The interval at which an unreachable place is checked while no event about it arrives.
pub const PLACE_LOOK: Duration = Duration::from_secs(1);
