//! Every limit and time of a node.

use std::time::Duration;

pub use store::limits::{NODE_LEASE, NODE_RENEWAL};

/// How long a starting node waits for another node's lease to end, for example that of the killed node that it replaces.
pub const JOIN_PATIENCE: Duration = Duration::from_secs(13);
/// The pause between a starting node's attempts to join.
pub const JOIN_PAUSE: Duration = Duration::from_millis(250);
/// The interval at which a node looks for users to take over.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(2);
/// The maximum number of users that a node takes over in one batch of a sweep.
pub const SWEEP_BATCH: i64 = 20;
/// How long the work for a user may take to end here once another node is the user's home.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of users whose homes at other nodes are remembered; beyond that, all of them are forgotten and looked up again.
pub const ELSEWHERE_KEPT: usize = 100_000;
