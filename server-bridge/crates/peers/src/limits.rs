//! Every limit and time of connections between nodes.

use std::time::Duration;

/// The version of the protocol between nodes, as the name that both ends of a handshake must share.
pub const PROTOCOL: &[u8] = b"sandbridge-peer/1";
/// The byte that a listener sends once it has accepted the caller's key.
pub const WELCOME: u8 = b'+';
/// How often a node reads the list of live nodes.
pub const DIRECTORY_INTERVAL: Duration = Duration::from_secs(1);
/// The least time between two readings, however many unknown keys are presented.
pub const DIRECTORY_PAUSE: Duration = Duration::from_millis(200);
/// How long a connection to another node may take to open, its handshake included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a caller that a listener does not know yet tries to connect.
pub const CONNECT_ATTEMPTS: u32 = 4;
/// The pause between these attempts: together they last longer than [`DIRECTORY_INTERVAL`].
pub const CONNECT_PAUSE: Duration = Duration::from_millis(400);
/// The maximum number of idle connections that are kept to one node.
pub const IDLE_CONNECTIONS: usize = 64;
/// How long a listener keeps a connection without a request.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How much a pipe reads at once, in bytes; each thread has one such buffer.
pub const PIPE_BYTES: usize = 64 * 1024;
