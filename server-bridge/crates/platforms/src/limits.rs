//! Limits of this crate, with their units.

use std::time::Duration;

/// The longest id of a platform that is kept; longer ones are refused with their event.
pub const ID_MAX_BYTES: usize = 256;

/// The longest text of a message that is handed over; the rest is cut off, at a character.
pub const TEXT_MAX_BYTES: usize = 256 * 1024;

/// The largest frame or answer of a platform that is read.
pub const FRAME_MAX_BYTES: usize = 4 * 1024 * 1024;

/// How long one request to a platform may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long connecting may take, TLS and the handshake of a WebSocket included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// After this long without a byte from a platform a connection counts as dead.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);

/// The largest Markdown text that is rendered; longer ones are cut off, at a character.
pub const MARKDOWN_MAX_BYTES: usize = 1024 * 1024;

/// How many redirects are followed when a file is fetched.
pub const REDIRECTS_MAX: usize = 3;

/// The longest text of a platform that an error of ours repeats, in characters.
pub const REASON_MAX_CHARS: usize = 200;

/// The longest name of a person or a file that is handed over, in characters.
pub const NAME_MAX_CHARS: usize = 128;

/// How long to wait if a platform says "too many requests" without saying how long.
pub const TOO_FAST_WAIT: Duration = Duration::from_secs(5);

/// The longest wait that a platform may ask for; a longer one is asked for again.
pub const TOO_FAST_WAIT_MAX: Duration = Duration::from_secs(3600);

/// The buffer of a WebSocket that is read into. What is idle holds no more than that.
pub const SOCKET_BUFFER_BYTES: usize = 8 * 1024;
