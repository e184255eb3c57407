//! Limits of this crate, with their units.

use std::time::Duration;

/// The longest platform id that is stored, in bytes; events with longer ids are refused.
pub const ID_MAX_BYTES: usize = 256;

/// The longest message text that is handed over, in bytes; the rest is cut off at a character boundary.
pub const TEXT_MAX_BYTES: usize = 256 * 1024;

/// The largest frame or HTTP response that is read from a platform, in bytes.
pub const FRAME_MAX_BYTES: usize = 4 * 1024 * 1024;

/// How long one request to a platform may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long transferring a file may take, in either direction.
pub const TRANSFER_TIMEOUT: Duration = Duration::from_secs(300);

/// How long connecting may take, including TLS and the WebSocket handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a connection may be without a byte from the platform before it counts as dead. It is shown as lost within 90 s.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(80);

/// The longest Markdown text that is rendered, in bytes; longer ones are cut off at a character boundary.
pub const MARKDOWN_MAX_BYTES: usize = 1024 * 1024;

/// How many redirects are followed when a file is fetched.
pub const REDIRECTS_MAX: usize = 3;

/// The longest text from a platform that an error of this crate contains, in characters.
pub const REASON_MAX_CHARS: usize = 200;

/// The longest name of a person or a file that is handed over, in characters.
pub const NAME_MAX_CHARS: usize = 128;

/// How long to wait if a platform reports too many requests without stating a wait.
pub const TOO_FAST_WAIT: Duration = Duration::from_secs(5);

/// The longest wait that a platform may ask for; if it needs longer, it asks again.
pub const TOO_FAST_WAIT_MAX: Duration = Duration::from_secs(3600);

/// The size of a WebSocket's read buffer; an idle socket uses no more memory than that.
pub const SOCKET_BUFFER_BYTES: usize = 8 * 1024;
