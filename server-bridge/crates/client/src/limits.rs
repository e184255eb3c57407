//! Every limit and timeout of the client, with its unit.

use std::time::Duration;

/// How long connecting to a server may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server may take to respond to a small request.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the check of an MCP server may take: more than the 60 s that the server allows, so that the server reports the
/// timeout.
pub(super) const MCP_SERVER_CHECK_TIMEOUT: Duration = Duration::from_secs(90);
/// How long looking at a plugin, or installing it, may take: the server may have to fetch it.
pub(super) const PLUGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// The largest total size of a plugin's files, in bytes: they are sent as one document.
pub(super) const PLUGIN_BYTES: u64 = 32 * 1024 * 1024;
/// The maximum number of files in a plugin.
pub(super) const PLUGIN_FILES: usize = 10_000;
/// How long trying an HTTP tool may take: more than the 120 s that its document may allow.
pub(super) const HTTP_TOOL_TRY_TIMEOUT: Duration = Duration::from_secs(150);
/// How long the server may take to begin or to complete a login to an MCP server: it asks a provider, which may be slow.
pub(super) const MCP_LOGIN_ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a browser may take to come back from a login to an MCP server; the server forgets the login after that.
pub(super) const MCP_LOGIN_PATIENCE: Duration = Duration::from_secs(10 * 60);
/// The port of this machine to which a login to a channel's service redirects the browser. The app must list the address.
pub(super) const CHANNEL_LOGIN_PORT: u16 = 8735;
/// The longest address to which a browser is sent back, and the longest secret of a client, in bytes.
pub(super) const MCP_LOGIN_TEXT_BYTES: usize = 8 * 1024;
/// The largest head of a request of that browser, in bytes: it contains the cookies of other programs on this machine.
pub(super) const MCP_LOGIN_HEAD_BYTES: usize = 64 * 1024;
/// How long a browser may take to send the head of a request.
pub(super) const MCP_LOGIN_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of connections from browsers at once: some browsers open a few in advance.
pub(super) const MCP_LOGIN_CONNECTIONS: usize = 16;
/// How long a browser may take to read its page at the end of a login.
pub(super) const MCP_LOGIN_PAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait after a connection could not be accepted.
pub(super) const MCP_LOGIN_ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a runner's download of its new program may take: more than the server allows, so that the server reports the
/// timeout.
pub(super) const UPDATE_TIMEOUT: Duration = Duration::from_secs(11 * 60);
/// How long a runner may be disconnected for an update: more than it may announce to its server.
pub(super) const UPDATE_RETURN_PATIENCE: Duration = Duration::from_secs(2 * 60);
/// How often the state of a runner's update is checked.
pub(super) const UPDATE_LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The largest response that is read into memory, in bytes: a page of messages of 1 MiB each would be larger, and is never asked for.
pub(super) const ANSWER_MAX_BYTES: usize = 16 * 1024 * 1024;

/// How much of a file, or of a directory's archive, is read at once, in bytes.
pub(super) const FILE_CHUNK_BYTES: usize = 256 * 1024;
/// How long a copy runs before its progress is shown.
pub(super) const PROGRESS_AFTER: Duration = Duration::from_secs(1);
/// How often the progress is redrawn.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// How much of standard input is sent at once, in bytes.
pub(super) const STDIN_CHUNK_BYTES: usize = 64 * 1024;
/// How many pieces of standard input may wait to be sent.
pub(super) const STDIN_QUEUE: usize = 2;
/// How far input may be ahead of what the server accepted, in bytes: acknowledgements of the output are queued after it on the same
/// connection, and the command may wait for them.
pub(super) const STDIN_AHEAD_BYTES: u64 = 1024 * 1024 - STDIN_CHUNK_BYTES as u64;
/// How much of the sent input is kept, to be sent again after the connection was lost, in bytes: more than can be in flight
/// between here and the command.
pub(super) const STDIN_KEPT_BYTES: u64 = 16 * 1024 * 1024;
/// How much output is acknowledged at once, in bytes: a part of what may be in flight if few commands run.
pub(super) const ACK_BYTES: u64 = 256 * 1024;
/// The delay before a smaller amount is acknowledged, down to [`ACK_MIN_BYTES`]: if many commands run, less may be in flight.
pub(super) const ACK_DELAY: Duration = Duration::from_millis(2);
/// How much output may stay unacknowledged, in bytes; less than the smallest amount that the server ever allows in flight.
pub(super) const ACK_MIN_BYTES: u64 = 16 * 1024;
/// How much of the end of a command's standard error is searched for a known cause of its failure, in bytes.
pub(super) const HINT_TAIL_BYTES: usize = 1024;
/// How long this program tries to reconnect to a lost server while a command runs.
pub(super) const RECONNECT_PATIENCE: Duration = Duration::from_secs(600);
/// The first pause between these attempts; each pause is twice as long as the last.
pub(super) const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
pub(super) const RECONNECT_PAUSE_LIMIT: Duration = Duration::from_secs(2);
/// How long the server may be unreachable before a person is informed.
pub(super) const AWAY_NOTE: Duration = Duration::from_secs(3);
/// How long the request that ends a session may take when this program exits.
pub(super) const GOODBYE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a cancelled command may take to end before this program exits without waiting for it: the time between TERM and KILL, and a little more.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(8);
/// How many pieces of terminal input may wait to be sent.
pub(super) const KEYS_QUEUE: usize = 64;
/// How long a terminal that was hung up may take to report how it ended.
pub(super) const HANG_UP_TIMEOUT: Duration = Duration::from_secs(3);
/// How many pieces of output may wait to be written.
pub(super) const OUTPUT_QUEUE: usize = 16;

/// The longest message of an MCP client, in bytes: more than the server accepts, so that the server reports the error.
pub(super) const MCP_LINE_BYTES: usize = 16 * 1024 * 1024;
/// How long pending responses may take after an MCP client has closed its output.
pub(super) const MCP_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages of a chat are read at once after the client was too slow for its events.
pub(super) const CATCH_UP_MESSAGES: u32 = 100;

/// The largest document of hooks or MCP servers, or payload of a trial, that is read, in bytes.
pub(super) const EXTENSION_DOCUMENT_BYTES: usize = 256 * 1024;
/// How long the handlers of one event may take in a trial: longer than the server allows.
pub(super) const HOOK_TRIAL_TIMEOUT: Duration = Duration::from_secs(700);
/// The largest OpenAPI document that is read, in bytes.
pub(super) const OPENAPI_DOCUMENT_BYTES: usize = 3 * 1024 * 1024;
/// The shortest text that is taken for the beginning of the hash of a hook or an MCP server, in digits.
pub(super) const HASH_MIN_DIGITS: usize = 8;

/// The shortest text that is taken for the beginning of a chat's id, in characters.
pub(super) const CHAT_ID_MIN_CHARS: usize = 4;

/// How much of a tool's subject is shown, in characters.
pub(super) const HINT_CHARS: usize = 100;

/// How many messages the full-screen chat reads when it opens a chat, and again after it missed some.
pub(super) const SHOWN_MESSAGES: u32 = 100;
/// How many older messages the full-screen chat reads at once while the user scrolls back.
pub(super) const OLDER_MESSAGES: u32 = 100;
/// How many messages of a group the full-screen chat keeps in memory; the oldest are dropped.
pub(super) const GROUP_ENTRIES_KEPT: usize = 1000;
/// How much of a message of a group the full-screen chat shows, in bytes.
pub(super) const GROUP_ENTRY_SHOWN_BYTES: usize = 8 * 1024;
/// The number of lines by which a page key scrolls the log of a group.
pub(super) const GROUP_PAGE_LINES: isize = 10;
/// How many messages of a chat the full-screen chat keeps in memory; the oldest are dropped.
pub(super) const TRANSCRIPT_MESSAGES: usize = 2000;
/// How much of the end of a running command's output the full-screen chat keeps, in bytes.
pub(super) const LIVE_OUTPUT_BYTES: usize = 200_000;
/// How much of an answer the full-screen chat keeps while the answer is being written, in bytes; the complete answer is loaded from the server.
pub(super) const SAID_MAX_BYTES: usize = 1024 * 1024;
/// How many lines of output a card shows unfolded; the complete output is in the file that the card names.
pub(super) const UNFOLDED_LINES: usize = 1000;
/// The longest text that can be written as one message, in bytes; the server accepts no longer text.
pub(super) const INPUT_MAX_BYTES: usize = 256 * 1024;
/// How many sent texts the Up key can recall.
pub(super) const HISTORY_ENTRIES: usize = 500;
/// How long an approval must have been on the screen before a key answers it, in milliseconds: an earlier key was not meant
/// for it.
pub(super) const APPROVAL_GUARD_MS: u64 = 500;
/// How long after a key press nothing may cover the text being written, in milliseconds.
pub(super) const TYPING_MS: u64 = 1500;
/// The longest text of this terminal's answer to an agent, in cells; the server accepts no more characters.
pub(super) const TUI_ANSWER_CHARS: usize = 300;
/// How long a note stays on the screen, in milliseconds.
pub(super) const NOTE_MS: u64 = 8_000;
/// How many notes are shown at once.
pub(super) const NOTES: usize = 3;
/// The shortest time between two frames: more would not be visible.
pub(super) const FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// How often the screen is drawn while something runs.
pub(super) const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// How often the missed parts of a running message are read again, in milliseconds.
pub(super) const REFRESH_MS: u64 = 1_000;
/// How many events may wait to be shown.
pub(super) const SCREEN_QUEUE: usize = 1024;
/// How many requests of the full-screen chat may be in progress at once.
pub(super) const REQUESTS: usize = 8;
/// The first pause before the full-screen chat reconnects to a lost server; each pause is twice as long as the last.
pub(super) const LISTEN_PAUSE: Duration = Duration::from_millis(250);
/// The longest such pause.
pub(super) const LISTEN_PAUSE_LIMIT: Duration = Duration::from_secs(10);
/// How often the screen is drawn while nothing happens.
pub(super) const IDLE_INTERVAL: Duration = Duration::from_secs(60);
/// How much of a frame is gathered before it is written, in bytes.
pub(super) const DRAW_BUFFER_BYTES: usize = 64 * 1024;
/// How many lines one step of the mouse wheel scrolls.
pub(super) const WHEEL_LINES: i32 = 3;

/// How far this machine's clock may differ from the server's before that is reported.
pub(super) const CLOCK_SKEW: Duration = Duration::from_secs(30);
/// How long the server may take to run a command in a container when Docker is checked: it may have to create the container.
pub(super) const DOCKER_PATIENCE: Duration = Duration::from_secs(90);
/// How long a model may take to answer one word when it is checked.
pub(super) const MODEL_PATIENCE: Duration = Duration::from_secs(20);

/// How long a server may take to return completions.
pub(super) const COMPLETION_PATIENCE: Duration = Duration::from_secs(1);

/// How many of a provider's models an error names.
pub(super) const MODELS_SHOWN: usize = 40;

/// How much of the end of a terminal's output is shown to a client that attaches, in bytes.
pub(super) const REPLAY_BYTES: u64 = 256 * 1024;
/// How much of a replay may be skipped in search of a place to start, in bytes.
pub(super) const REPLAY_SEARCH_BYTES: usize = 16 * 1024;
/// How often `knowledge add --wait` asks for the state of its documents.
pub(super) const INDEX_POLL: Duration = Duration::from_millis(200);
