//! Every limit and timeout of the server, with its unit.

use std::time::Duration;

/// The time for a client to send a request's head, and to finish a TLS handshake.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest head of a request, in bytes.
pub const REQUEST_HEAD_BYTES: usize = 16 * 1024;
/// The limit on the part of a request that a connection buffers, in bytes.
pub const HTTP_BUFFER_BYTES: usize = 128 * 1024;
/// How much is read at once of a connection's first head, in bytes.
pub const FIRST_HEAD_READ_BYTES: usize = 1024;
/// How much of a header line is examined to find where its request ends, in bytes: the relevant lines are shorter.
pub const FRAMING_LINE_BYTES: usize = 64;
/// The limit on the unsent data that a TLS session keeps, in bytes: one record and its frame.
pub const TLS_BUFFER_BYTES: usize = 32 * 1024;
/// How long a node waits for a user's home to answer a runner's registration.
pub const HOME_ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest head of a request that another node forwards, in bytes: a client's head and the headers that the node adds.
pub const PEER_HEAD_BYTES: usize = REQUEST_HEAD_BYTES + 1024;
/// The largest body that is kept until the user's home has answered, in bytes; a larger one is sent once the home is known.
pub const FORWARDED_BODY_KEPT_BYTES: u64 = 64 * 1024;
/// How often a node reads the settings that administrators may have changed on another node.
pub const SETTINGS_INTERVAL: Duration = Duration::from_secs(5);
/// The number of times that a user's home is looked up again for one request.
pub const HOME_LOOKS: u32 = 2;
/// The pause before each repeated lookup of a user's home.
pub const HOME_LOOK_PAUSE: Duration = Duration::from_millis(300);
/// How long the other end of a connection may read nothing.
pub const WRITE_STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the client of a command may read nothing: a pager or a stopped terminal may hold up the command for as long as a
/// person reads.
pub const WRITE_STALL_TIMEOUT_OF_READERS_WHO_PAUSE: Duration = Duration::from_secs(24 * 3600);
/// The limit on unauthenticated connections; beyond it, a new one displaces the oldest connection of the address that has the most.
pub const UNPROVEN_CONNECTIONS: usize = 2048;
/// If more than one in this many of the places for unauthenticated connections is taken, each such connection is closed after one response: a
/// connection that waits for another request uses as much memory as a request.
pub const UNPROVEN_CROWD_PART: usize = 4;
/// How many open files the server must be allowed for each unauthenticated connection.
pub const OPEN_FILES_PER_UNPROVEN_CONNECTION: usize = 2;
/// The limit on unauthenticated connections that sent more than a small request, still have to send a request's body, or read their responses slowly.
pub const COSTLY_CONNECTIONS: usize = 256;
/// How much a connection may send before it counts as costly, in bytes: some requests, or a runner's handshake.
pub const UNPROVEN_CHEAP_BYTES: u64 = 8 * 1024;
/// How much is read at once from an unauthenticated connection, in bytes.
pub const UNPROVEN_READ_BYTES: usize = 4 * 1024;
/// The largest body of an unauthenticated request, in bytes.
pub const UNPROVEN_BODY_BYTES: u64 = 16 * 1024;
/// The time for sending the body of an unauthenticated request.
pub const UNPROVEN_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit on connections at once; further ones wait to be accepted.
pub const MAX_CONNECTIONS: usize = 16_384;
/// The pause after the machine refused another connection (too many open files), so that the log is not flooded.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// How long requests, sockets and tasks may take to end when the server stops.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// The part of that time in which cancelled commands may end and be recorded, before the links to their runners are closed.
pub const COMMANDS_STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that answers may go on when the server is asked to stop.
pub const DRAIN_MAX: Duration = Duration::from_secs(3600);
/// The number of steps in which a draining node gives up its homes, one every [`DRAIN_CHECK`]: 10 s in all.
pub const DRAIN_STEPS: usize = 100;
/// How often a draining server checks whether answers are still in progress.
pub const DRAIN_CHECK: Duration = Duration::from_millis(100);
/// How often a drained node checks whether a late claim added a home.
pub const DRAINED_CHECK: Duration = Duration::from_secs(1);

/// The largest JSON body that holds files, in bytes: a plugin of 32 MiB in base64.
pub const LARGE_JSON_BODY_BYTES: usize = 48 * 1024 * 1024;
/// How long a JSON body that contains files may take to arrive.
pub const LARGE_JSON_BODY_TIMEOUT: Duration = Duration::from_secs(300);
/// The largest JSON body, in bytes: a message of 1 MiB with space for its escapes.
pub const JSON_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The time for a client to send a JSON body.
pub const JSON_BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The limit on concurrent searches of all users; each user may run one at a time.
pub const CHAT_SEARCHES: usize = 2;
/// How long a search waits for its turn: an earlier one may still be running.
pub const CHAT_SEARCH_PATIENCE: Duration = Duration::from_secs(2);

/// How much is gathered before it is written to a WebSocket, in bytes.
pub const SOCKET_WRITE_BUFFER_BYTES: usize = 96 * 1024;
/// How much is gathered before it is written to a socket that carries a command's output, in bytes: output that arrives together
/// is sent together.
pub const SOCKET_BULK_BUFFER_BYTES: usize = 448 * 1024;
/// How much a connection may send before its runner is registered, in bytes: the handshake and its framing.
pub const HANDSHAKE_MAX_BYTES: usize = 64 * 1024;
/// Space for WebSocket framing in addition to a handshake's text, in bytes.
pub const HANDSHAKE_FRAMING_BYTES: usize = 1024;
/// The largest message of a registered runner, in bytes: a frame of 1 MiB and its header.
pub const RUNNER_MESSAGE_BYTES: usize = 1024 * 1024 + 64;
/// The time after registration at which a runner's permission is first checked: it may have been revoked in between.
pub const RUNNER_FIRST_CHECK: Duration = Duration::from_secs(2);
/// How often a runner's connection is recorded in the store, and its permission checked.
pub const RUNNER_CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// How long a runner may take to download and verify its new program.
pub const RUNNER_UPDATE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Output that is ready at once is gathered up to this size, in bytes, before it is sent to an exec's client.
pub const EXEC_GATHER_BYTES: usize = 64 * 1024;
/// The largest message of an exec's client, in bytes.
pub const EXEC_MESSAGE_BYTES: usize = 1024 * 1024;
/// How much of an exec's input is accepted from its client before the command takes it, in bytes. A client that waits for
/// acknowledgements never reaches this limit, unless it sends pieces of only a few bytes: each piece's overhead counts too.
pub const EXEC_INPUT_BYTES: usize = 2 * 1024 * 1024;
/// The size in bytes below which a piece of input is copied out of its read buffer.
pub const EXEC_SMALL_INPUT_BYTES: usize = 4 * 1024;
/// How much more of its input a command must take before the next acknowledgement is sent, in bytes.
pub const EXEC_INPUT_TOLD_BYTES: u64 = 64 * 1024;
/// The time for an exec's client to send its request.
pub const EXEC_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a terminal goes on without a client, unless its client sets another time.
pub const TERMINAL_LINGER: Duration = Duration::from_secs(24 * 3600);
/// The longest time that a client may set for its terminal to go on without it.
pub const TERMINAL_LINGER_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// The number of execs in one listing, unless the client asks for another number.
pub const EXEC_LIST_ROWS: u32 = 100;
/// The maximum number of execs in one listing.
pub const EXEC_LIST_MAX_ROWS: u32 = 1000;
/// How much of the beginning, and of the end, of an exec's output a report contains by default, in bytes.
pub const REPORT_BYTES: u32 = 4096;
/// The longest name of a user of a runner's machine, in bytes.
pub const RUN_AS_MAX_BYTES: usize = 256;

/// The longest text by which a client of an exec is recognised when it returns, in bytes.
pub const CLIENT_MAX_BYTES: usize = 64;
/// How often a client's socket is pinged: a ping that cannot be sent means that the client has disconnected.
pub const SOCKET_PING_INTERVAL: Duration = Duration::from_secs(5);
/// The limit on pings from an end that does not read the responses to them.
pub const SOCKET_PINGS: usize = 16;
/// How long a closing socket may take to send its close frame.
pub const SOCKET_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The limit on a user's events that are kept for clients that are slow or reconnect; a client that missed more has to reload.
pub const EVENTS_KEPT: usize = 4096;
/// The limit on one user's kept events, in bytes; the newest event is kept whatever its size.
pub const EVENTS_KEPT_BYTES: usize = 8 * 1024 * 1024;
/// The limit on all users' kept events, in bytes; the user who has been disconnected longest loses theirs first.
pub const EVENTS_KEPT_OF_ALL_BYTES: usize = 64 * 1024 * 1024;
/// How long a user's events are kept without a listener.
pub const EVENTS_KEPT_FOR: Duration = Duration::from_secs(5 * 60);
/// How often expired events are looked for.
pub const EVENTS_FORGET_INTERVAL: Duration = Duration::from_secs(60);
/// The limit on events that are sent together, if they are ready.
pub const EVENT_BATCH: usize = 64;
/// How often a listener gets a ping, so that proxies keep the socket open.
pub const EVENT_PING_INTERVAL: Duration = Duration::from_secs(20);
/// The largest message of a listener for events, in bytes; it has nothing to send.
pub const EVENT_MESSAGE_BYTES: usize = 4 * 1024;
/// How often the session of an open events or exec socket is checked: a logout closes it within this time.
pub const SESSION_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// How often the server deletes ended sessions and expired tokens.
pub const PURGE_INTERVAL: Duration = Duration::from_secs(3600);
/// How often the server checks whether objects in the bucket that no row refers to are due for deletion.
pub const BLOB_SWEEP_INTERVAL: Duration = Duration::from_secs(3600);
/// How often the server deletes expired tickets, codes and counts of failed logins.
pub const SIGN_IN_PURGE_INTERVAL: Duration = Duration::from_secs(60);
/// How often the server looks for idle chats from which memories are to be proposed.
pub const MEMORISE_INTERVAL: Duration = Duration::from_secs(600);
/// The pause after each step of indexing older messages, so that other changes can run.
pub const INDEX_INTERVAL: Duration = Duration::from_millis(20);
/// The pause after a step of indexing that failed.
pub const INDEX_RETRY: Duration = Duration::from_secs(60);

/// The number of entries of the audit trail in one page, unless the client asks for another number.
pub const AUDIT_PAGE_ROWS: u32 = 100;
/// The limit on the shown beginning, and on the shown end, of a task's output, in bytes.
pub const REPORT_MAX_BYTES: u32 = 256 * 1024;
/// The number of completions of a path, unless the client asks for another number.
pub const COMPLETIONS: usize = 20;
/// The limit on completions that a client may ask for.
pub const COMPLETE_MAX: usize = 100;
/// The limit on entries of a directory that are examined for completions.
pub const COMPLETE_LISTED: usize = 10_000;
/// The longest beginning of a path that is completed, in bytes.
pub const COMPLETE_PREFIX_BYTES: usize = 1024;

/// How long after confirming the password a page may create things that outlive its session.
pub const CONFIRMATION_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The longest address that a ticket is requested for, in bytes: a path of 4 KiB, escaped.
pub const TICKET_PATH_BYTES: usize = 16 * 1024;
/// The limit on requests with an invalid key from one address, per minute.
pub const REFUSED_KEYS_PER_ADDRESS_PER_MINUTE: u32 = 60;
/// The limit on refused registrations of runners from one address, per minute.
pub const REGISTRATIONS_PER_ADDRESS_PER_MINUTE: u32 = 60;
/// The limit on refused deliveries from one address to one trigger, to no trigger, to one channel, or to all channels together, per minute.
pub const REFUSED_DELIVERIES_PER_ADDRESS_PER_MINUTE: u32 = 60;
/// The longest delivery of a messenger, in bytes.
pub const CHANNEL_DELIVERY_MAX_BYTES: usize = 4 * 1024 * 1024;
/// The time for sending a delivery.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest PROXY header of version 1, its end included, in bytes.
pub const PROXY_LINE_BYTES: usize = 107;
/// The limit on the part of a PROXY header of version 2 that follows its fixed part, in bytes.
pub const PROXY_PAYLOAD_BYTES: usize = 2048;
/// The maximum number of keys, such as addresses, that one rate limiter tracks.
pub const RATE_LIMIT_KEYS: usize = 10_000;

/// The smallest memory limit of a container, in bytes: enough for its runner and a small command.
pub const DOCKER_MEMORY_MIN_BYTES: i64 = 16 * 1024 * 1024;
/// The maximum number of CPUs that a container can be given.
pub const DOCKER_CPUS_MAX: f64 = 4096.0;
/// The smallest limit on processes and threads of a container: enough for its runner and a command.
pub const DOCKER_PIDS_MIN: i64 = 16;
/// The largest limit on processes and threads of a container: the kernel's own maximum.
pub const DOCKER_PIDS_MAX: i64 = 4 * 1024 * 1024;
/// The shortest time without a request after which a container is stopped, in seconds.
pub const DOCKER_IDLE_STOP_MIN_S: u64 = 1;
/// The longest time without a request after which a container is stopped, in seconds: a year.
pub const DOCKER_IDLE_STOP_MAX_S: u64 = 365 * 24 * 60 * 60;

/// The number of days in one usage report, unless the client asks for another number.
pub const USAGE_DAYS: u16 = 30;
/// The maximum number of days in one usage report: ten years.
pub const USAGE_MAX_DAYS: u16 = 3_660;
/// The highest number of attempts at one answer of a model that an option may set.
pub const RETRY_ATTEMPTS_MAX: u32 = 20;
/// The shortest passphrase for sealing keys, in characters.
pub const ENCRYPTION_KEY_MIN_CHARS: usize = 16;
/// How much of the file with the server's own encryption key is read, in bytes.
pub const KEY_FILE_MAX_BYTES: u64 = 1024;
/// The limit on open MCP sessions of one user's programs; beyond it, the least recently used session is closed.
pub const MCP_SESSIONS_PER_USER: usize = 64;
/// How long an MCP session may be unused before it ends.
pub const MCP_SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);
/// The limit on MCP tool calls in progress of one user's programs.
pub const MCP_CALLS_PER_USER: usize = 32;
/// How much of the newest output a progress notification shows, in bytes.
pub const MCP_PROGRESS_BYTES: usize = 2 * 1024;
/// The shortest time between two progress notifications of one call.
pub const MCP_PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// The longest path of a workspace in the line that is pasted on a machine, in bytes: Linux's `PATH_MAX`.
pub const WORKSPACE_BYTES: usize = 4_096;
/// The lines of this process's log that are kept in memory.
pub const LOG_LINES: usize = 2_000;
/// The longest log line that is kept, in bytes; the rest of a longer one is left out.
pub const LOG_LINE_BYTES: usize = 2 * 1024;
