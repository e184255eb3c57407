//! Every limit and time of connections between nodes.

use std::time::Duration;

/// The version of the protocol between nodes, as the name that both ends of a handshake must share.
pub const PROTOCOL: &[u8] = b"sandbridge-peer/1";
/// The byte that a listener sends once it has accepted the caller's key.
pub const WELCOME: u8 = b'+';
/// The interval at which a node reads the list of live nodes.
pub const DIRECTORY_INTERVAL: Duration = Duration::from_secs(1);
/// The shortest time between two readings of the list, however many unknown keys are presented.
pub const DIRECTORY_PAUSE: Duration = Duration::from_millis(200);
/// How long opening a connection to another node may take, including the handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of attempts to connect that a caller makes while a listener does not know it yet.
pub const CONNECT_ATTEMPTS: u32 = 4;
/// The pause between these attempts: together they last longer than [`DIRECTORY_INTERVAL`].
pub const CONNECT_PAUSE: Duration = Duration::from_millis(400);
/// The maximum number of idle connections that are kept to one node.
pub const IDLE_CONNECTIONS: usize = 64;
/// How long a listener keeps a connection on which no request arrives.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How much a pipe reads at once, in bytes; each thread has one buffer of this size.
pub const PIPE_BYTES: usize = 64 * 1024;
