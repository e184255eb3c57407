//! Every limit and timeout of hooks.

use std::time::Duration;

/// The largest number of handlers of one event, over all layers.
pub const HANDLERS_OF_EVENT: usize = 10;
/// How long all handlers of one event may take together.
pub const EVENT_PATIENCE: Duration = Duration::from_secs(60);
/// The part of [`EVENT_PATIENCE`] that handlers of lower layers may use while one of the administrator's handlers has not
/// run yet.
pub const LOWER_PATIENCE: Duration = Duration::from_secs(30);
/// The timeout of a handler that names none.
pub const HANDLER_PATIENCE: Duration = Duration::from_secs(30);
/// The timeout of an agent that names none; it is longer because the agent reads before it answers.
pub const AGENT_PATIENCE: Duration = Duration::from_secs(60);
/// The timeout of a handler in the background that names none.
pub const BACKGROUND_PATIENCE: Duration = Duration::from_secs(60);
/// The longest timeout of a handler in the background.
pub const MAX_BACKGROUND_PATIENCE: Duration = Duration::from_secs(600);

/// The largest document of hooks, in bytes.
pub const DOCUMENT_BYTES: usize = 256 * 1024;
/// The largest number of groups of one event in one document.
pub const GROUPS_OF_EVENT: usize = 64;
/// The longest command line, prompt or URL of a handler, in bytes.
pub const FIELD_BYTES: usize = 16 * 1024;
/// The largest number of arguments or headers of a handler.
pub const FIELD_ITEMS: usize = 64;
/// The longest pattern of a matcher, and the longest condition, in bytes.
pub const PATTERN_BYTES: usize = 1024;
/// The largest size of a compiled pattern, in bytes.
pub const REGEX_BYTES: usize = 256 * 1024;
/// The largest number of warnings that are listed for one document.
pub const WARNINGS: usize = 50;
/// The longest text from a document that a message repeats, in characters.
pub const QUOTED_CHARS: usize = 60;

/// The largest payload, in bytes: the longest arguments of a call (4 MiB) and the fields around them.
pub const PAYLOAD_BYTES: usize = 8 * 1024 * 1024;
/// The shortest prefix that is kept of a text that was cut, in bytes.
pub const CUT_TEXT_BYTES: usize = 64;
/// Secrets shorter than this are not searched for in payloads, because they would be found everywhere; in bytes.
pub const SECRET_BYTES: usize = 6;
/// Tokens shorter than this are not hidden as known secrets, because a command could consist of them; in bytes.
pub const TOKEN_BYTES: usize = 12;
/// The shortest token that counts as one without a name that says so, in bytes.
pub const UNNAMED_TOKEN_BYTES: usize = 20;
/// The largest result of an interpolation, in bytes.
pub const INTERPOLATED_BYTES: usize = 1024 * 1024;

/// Limit on the standard output that is read of a command, and on a server's response, in bytes.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// The longest first line with which a command may ask to continue in the background, in bytes.
pub const FIRST_LINE_BYTES: usize = 4 * 1024;
/// The longest reason that is passed on, in bytes.
pub const REASON_BYTES: usize = 4 * 1024;
/// The longest context that one handler adds, in bytes.
pub const CONTEXT_BYTES: usize = 10 * 1024;
/// The longest context that all handlers of an event add together, in bytes.
pub const CONTEXTS_BYTES: usize = 32 * 1024;
/// The longest message to people that one handler adds, in bytes.
pub const MESSAGE_BYTES: usize = 2 * 1024;
