//! Limits of this crate, with their units.

use std::time::Duration;

/// The longest id of a platform that is stored; events with longer ids are refused.
pub const ID_MAX_BYTES: usize = 256;

/// The longest text of a message that is handed over; the rest is cut off, between characters.
pub const TEXT_MAX_BYTES: usize = 256 * 1024;

/// The largest frame or answer of a platform that is read.
pub const FRAME_MAX_BYTES: usize = 4 * 1024 * 1024;

/// How long one request to a platform may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a file may take, in either direction.
pub const TRANSFER_TIMEOUT: Duration = Duration::from_secs(300);

/// How long connecting may take, TLS and the handshake of a WebSocket included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a connection may be without a byte from the platform before it counts as dead.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);

/// The largest Markdown text that is rendered; longer ones are cut off, between characters.
pub const MARKDOWN_MAX_BYTES: usize = 1024 * 1024;

/// How many redirects are followed when a file is fetched.
pub const REDIRECTS_MAX: usize = 3;

/// The longest text of a platform that an error of this crate contains, in characters.
pub const REASON_MAX_CHARS: usize = 200;

/// The longest name of a person or a file that is handed over, in characters.
pub const NAME_MAX_CHARS: usize = 128;

/// How long to wait if a platform reports too many requests without stating how long to wait.
pub const TOO_FAST_WAIT: Duration = Duration::from_secs(5);

/// The longest wait that a platform may ask for; if it needs longer, it asks again.
pub const TOO_FAST_WAIT_MAX: Duration = Duration::from_secs(3600);

/// The size of a WebSocket's read buffer; an idle socket uses no more memory than that.
pub const SOCKET_BUFFER_BYTES: usize = 8 * 1024;
