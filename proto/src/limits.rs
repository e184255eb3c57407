//! Every limit and timeout of the protocol, in one place.
//!
//! Both peers rely on these numbers: changing one changes the protocol.

use std::time::Duration;

/// The only protocol version so far; a peer announces the range it speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// Largest frame a peer accepts, header included, in bytes. A larger one closes the link.
pub const MAX_FRAME_BYTES: usize = 1024 * 1024;

/// Largest body of a DATA frame, in bytes.
pub const MAX_DATA_BYTES: usize = 64 * 1024;

/// Largest body of a control frame (request, message, error), in bytes.
pub const MAX_CONTROL_BYTES: usize = 512 * 1024;

/// How much a sender may have in flight on one stream and direction, undrained by the consumer, in bytes.
pub const STREAM_CREDIT_BYTES: u32 = 256 * 1024;

/// The largest credit a server gives a new stream, in bytes: draining with this credit takes a few wake-ups per megabyte, and a stalled reader can
/// take up this much memory.
pub const MAX_STREAM_CREDIT_BYTES: u32 = 1024 * 1024;

/// The smallest credit a new stream is given when the receiver's global budget is nearly used up, in bytes.
pub const MIN_STREAM_CREDIT_BYTES: u32 = 32 * 1024;

/// How much credit one session may have granted over all its streams before new streams get less, in bytes.
pub const SESSION_BUDGET_BYTES: u64 = 16 * 1024 * 1024;

/// A new stream's credit is at most the remaining budget divided by this.
pub const CREDIT_SHARE: u64 = 4;

/// A new stream's credit above [`STREAM_CREDIT_BYTES`] is at most the remaining budget divided by this.
pub const LARGE_CREDIT_SHARE: u64 = 16;

/// The maximum number of streams that carry data (exec, file contents, directory listings) open at once on one link.
pub const MAX_DATA_STREAMS: usize = 128;

/// The maximum number of requests of any type in flight on one link; the next one is answered `busy`.
pub const MAX_REQUESTS: usize = 1024;

/// How many streams beyond [`MAX_REQUESTS`] a peer may leave unanswered before the link is closed as flooded.
pub const MAX_REFUSED_STREAMS: usize = 1024;

/// The maximum number of DATA frames in one stream's queue, whatever their size.
pub const MAX_QUEUED_FRAMES: usize = 256;

/// A peer that sent nothing for this long sends a ping.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// A link on which nothing arrived for this long is dead.
pub const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time that a server may ask a runner to wait, in its goodbye; a longer one counts as this.
pub const MAX_RETURN_PAUSE: Duration = Duration::from_secs(30);

/// The longest time within which a runner may announce, in its goodbye, to be back; a longer one counts as this.
pub const MAX_RETURN_PROMISE: Duration = Duration::from_secs(90);

/// How many bytes a socket may send before its registration succeeds.
pub const MAX_HANDSHAKE_BYTES: usize = 64 * 1024;

/// How long a socket may take to register.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest path on the wire, in bytes (Linux `PATH_MAX`).
pub const MAX_PATH_BYTES: usize = 4096;

/// Longest description in a wire error, in bytes; longer ones are cut at a character boundary.
pub const MAX_DESCRIPTION_BYTES: usize = 4096;
