//! Every limit and time of a node.

use std::time::Duration;

pub use store::limits::{NODE_LEASE, NODE_RENEWAL};

/// How long a starting node waits for another node's lease to end, for example that of the killed node that it replaces.
pub const JOIN_PATIENCE: Duration = Duration::from_secs(13);
/// The pause between its attempts.
pub const JOIN_PAUSE: Duration = Duration::from_millis(250);
/// How often a node looks for users to take over.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(2);
/// The maximum number of users that one sweep takes over before others get a turn.
pub const SWEEP_BATCH: i64 = 20;
/// How long the work for a user may take to end here once another node is the user's home.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of users whose homes at other nodes are remembered; beyond that all are looked up again.
pub const ELSEWHERE_KEPT: usize = 100_000;
