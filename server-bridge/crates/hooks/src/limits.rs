//! Every limit and timeout of hooks.

use std::time::Duration;

/// The most handlers of one event, of all layers together.
pub const HANDLERS_OF_EVENT: usize = 10;
/// How long all handlers of one event may take together.
pub const EVENT_PATIENCE: Duration = Duration::from_secs(60);
/// The most of [`EVENT_PATIENCE`] that handlers of lower layers may use while a handler of the administrator's is still to
/// run.
pub const LOWER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a handler may take that names no timeout.
pub const HANDLER_PATIENCE: Duration = Duration::from_secs(30);
/// The timeout of an agent that names none; it is longer because the agent reads before it answers.
pub const AGENT_PATIENCE: Duration = Duration::from_secs(60);
/// How long a handler in the background may take that names no timeout.
pub const BACKGROUND_PATIENCE: Duration = Duration::from_secs(60);
/// The longest that a handler may take in the background.
pub const MAX_BACKGROUND_PATIENCE: Duration = Duration::from_secs(600);

/// The largest document of hooks, in bytes.
pub const DOCUMENT_BYTES: usize = 256 * 1024;
/// The most groups of one event in one document.
pub const GROUPS_OF_EVENT: usize = 64;
/// The longest command line, prompt or URL of a handler, in bytes.
pub const FIELD_BYTES: usize = 16 * 1024;
/// The most arguments or headers of a handler.
pub const FIELD_ITEMS: usize = 64;
/// The longest pattern of a matcher, and the longest condition, in bytes.
pub const PATTERN_BYTES: usize = 1024;
/// How large a compiled pattern may be, in bytes.
pub const REGEX_BYTES: usize = 256 * 1024;
/// The most warnings of one document that are listed.
pub const WARNINGS: usize = 50;
/// The longest text from a document that a message repeats, in characters.
pub const QUOTED_CHARS: usize = 60;

/// The largest payload, in bytes: the longest arguments of a call (4 MiB) and what is around them.
pub const PAYLOAD_BYTES: usize = 8 * 1024 * 1024;
/// The shortest beginning that is kept of a text that was cut, in bytes.
pub const CUT_TEXT_BYTES: usize = 64;
/// Secrets shorter than this are not searched for in payloads, in bytes: they would be found everywhere.
pub const SECRET_BYTES: usize = 6;
/// The largest input that interpolation may make, in bytes.
pub const INTERPOLATED_BYTES: usize = 1024 * 1024;

/// The most standard output that is read of a command, and the largest answer of a server, in bytes.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// The longest reason that is passed on, in bytes.
pub const REASON_BYTES: usize = 4 * 1024;
/// The longest context that one handler adds, in bytes.
pub const CONTEXT_BYTES: usize = 10 * 1024;
/// The longest context that all handlers of an event add together, in bytes.
pub const CONTEXTS_BYTES: usize = 32 * 1024;
/// The longest message to people that one handler adds, in bytes.
pub const MESSAGE_BYTES: usize = 2 * 1024;
