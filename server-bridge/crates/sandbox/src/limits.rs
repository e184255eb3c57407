//! Every limit and timeout of this crate that is not the protocol's own; those are in [`proto::limits`].

use std::time::Duration;

/// A handle reports drained data once it has taken this many bytes since its last report. This is half of the smallest
/// credit that a stream may have, so a sender never waits for a missing report; most small execs never report.
pub(crate) const CONSUMED_REPORT_BYTES: usize = proto::limits::MIN_STREAM_CREDIT_BYTES as usize / 2;

/// The number of reports that a handle sends while a full window of its stream is drained. Credit is granted four times
/// per window, so a sender never waits for a report.
pub(crate) const REPORTS_PER_WINDOW: usize = 8;

/// The largest amount of data that a handle may hand to the driver on one stream before the session takes it, in bytes.
pub(crate) const WRITE_BUFFER_BYTES: usize = 256 * 1024;

/// The largest piece of output that is merged with others while their reader is slow, in bytes.
pub(crate) const GATHERED_BYTES: usize = 4 * 1024;

/// The largest number of messages and gaps that may wait on one stream; they need no credit, so a runner could send
/// them without end.
pub(crate) const MAX_WAITING_MESSAGES: usize = 1024;

/// The largest number of pieces of data that may wait on one stream: credit counts bytes, so a runner could send one
/// byte a piece. A listing's batches need 16 pieces for all of the credit; pieces of output beyond this are gathered
/// more eagerly.
pub(crate) const MAX_WAITING_PIECES: usize = 4096;

/// The number of channels of one stream whose last pieces are gathered when too many wait.
pub(crate) const GATHERED_CHANNELS: usize = 3;

/// The interval at which a stopping server asks its runners to come back, one after the other: 250 registrations a second.
pub(crate) const RETURN_SPACING: Duration = Duration::from_millis(4);

/// How long an exec waits for its runner's next link. Its output is kept there meanwhile; after this time the exec is lost
/// here, though a client may attach to it later.
pub(crate) const EXEC_AWAY_TIMEOUT: Duration = Duration::from_secs(600);

/// How long every other request, and an exec that was not sent yet, waits for its runner's next link.
pub(crate) const AWAY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long after the server's start requests wait for a runner of its earlier run. Runners dial in again within a second of their
/// link's end, if nothing prevents it.
pub(crate) const EXPECTED_WITHIN: Duration = Duration::from_secs(10);

/// How long a runner's link may be down before the reader of an exec is informed. People see it within 3 s.
pub(crate) const AWAY_NOTE: Duration = Duration::from_secs(2);

/// How long a runner that is about to be updated may take to list its running execs.
pub(crate) const RUNNING_LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the acknowledgement of a result waits for a frame that is sent anyway.
pub(crate) const ACKNOWLEDGE_DELAY: Duration = Duration::from_secs(1);

/// How long a stream that found no room on its runner's new link waits before it tries again, unless another one ends.
pub(crate) const REOPEN_DELAY: Duration = Duration::from_secs(1);

/// How many times the server tries to reattach to a running container whose engine answers and whose streams broke.
pub(crate) const CONTAINER_REATTACH_ATTEMPTS: u32 = 5;

/// The pause after the first of these attempts; each further one is twice as long, up to [`CONTAINER_REATTACH_PAUSE_MAX`].
pub(crate) const CONTAINER_REATTACH_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause between these attempts, also while the engine is unreachable or the container is paused.
pub(crate) const CONTAINER_REATTACH_PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long a new request waits for one of the server's own places whose link is being restored.
pub(crate) const PLACE_AWAY_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a container runs without a request before it is stopped, unless the configuration says otherwise.
pub(crate) const CONTAINER_IDLE_STOP: Duration = Duration::from_secs(30 * 60);

/// The longest user key that is used unchanged in names, in bytes.
pub(crate) const CONTAINER_KEY_BYTES: usize = 44;

/// The longest host name of a container, in bytes.
pub(crate) const HOSTNAME_BYTES: usize = 63;

/// The longest text that is kept of a runner's description, in bytes; a path may be this long.
pub(crate) const FACT_BYTES: usize = 4096;

/// The largest number of layers, and of capabilities, that are kept of a runner's description.
pub(crate) const FACT_ITEMS: usize = 64;

/// The longest error description that is kept of a runner's text, in bytes.
pub(crate) const ERROR_TEXT_BYTES: usize = 4096;

/// The largest number of frames taken from a link before it is written to again.
pub(crate) const FRAMES_PER_TURN: usize = 256;

/// The time limit for sending the last frame of a link.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the registry remembers that a user's runners were sent away: longer than any registration takes.
pub(crate) const SENT_AWAY_KEPT: Duration = Duration::from_secs(60);

/// The largest amount of output for an earlier client that a standard-stream link may send before it registers, in
/// bytes.
pub(crate) const MAX_LEFTOVER_BYTES: usize = 2 * proto::limits::MAX_FRAME_BYTES;

/// The number of bytes that a standard-stream link buffers towards the runner before it makes the driver wait.
pub(crate) const STDIO_WRITE_BUFFER_BYTES: usize = 256 * 1024;

/// The buffer space reserved for each read of a standard-stream link, in bytes.
pub(crate) const STDIO_READ_BYTES: usize = 64 * 1024;

/// The number of messages that an in-memory link can queue in each direction.
pub(crate) const MEMORY_LINK_MESSAGES: usize = 64;

/// The number of events that a slow subscriber may lag behind before it misses some.
pub(crate) const WAITING_EVENTS: usize = 256;

/// How long the server's own runner may take to end after its standard input is closed.
pub(crate) const LOCAL_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest line of a runner's output in the log, in bytes; longer ones are cut into several.
pub(crate) const LOG_LINE_BYTES: u64 = 8 * 1024;

/// How long a container may take to end before the engine kills it, in seconds.
pub(crate) const CONTAINER_STOP_TIMEOUT_S: i32 = 10;

/// The size of a user's network on the engine, as a prefix: 16 addresses.
pub(crate) const USER_SUBNET_PREFIX: u8 = 28;

/// The largest range that users' networks are cut from, as a prefix.
pub(crate) const SUBNET_POOL_PREFIX_MIN: u8 = 8;

/// How many free subnets are tried for a user's network: some may be in use already without the engine listing them.
pub(crate) const SUBNET_ATTEMPTS: usize = 32;

/// How long the Docker engine may take for one response, in seconds.
pub(crate) const DOCKER_TIMEOUT_S: u64 = 60;

/// How long the Docker engine may take to report a container's state.
pub(crate) const DOCKER_LOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the Docker engine may take to pull an image.
pub(crate) const DOCKER_PULL_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How long a pull may show no progress.
pub(crate) const DOCKER_PULL_SILENCE: Duration = Duration::from_secs(120);

/// How long the Docker engine may take to make an image of a container's files, or of an archive.
pub(crate) const DOCKER_IMAGE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The largest amount of data that a container may have written outside its workspace to be committed, in bytes.
pub(crate) const CONTAINER_COMMIT_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// The largest archive of a container's files that is exported or imported, in bytes.
pub const CONTAINER_ARCHIVE_BYTES: u64 = 32 * 1024 * 1024 * 1024;

/// How long a terminal is given another size, so that its program notices the change.
pub(crate) const REDRAW_PAUSE: Duration = Duration::from_millis(80);

/// Largest message of a runner that speaks xbot's dialect, in bytes: it sends whole files and whole outputs in one.
pub const XBOT_MESSAGE_BYTES: usize = 256 * 1024 * 1024;

/// Limit on the messages of all runners of xbot's dialect together, while they arrive, wait and leave, in bytes.
pub(crate) const XBOT_BUDGET_BYTES: u64 = 1024 * 1024 * 1024;

/// The largest file, and the largest standard input, that fits a message of xbot's dialect as base64 with room for the rest.
pub(crate) const XBOT_CONTENT_BYTES: u64 = (XBOT_MESSAGE_BYTES as u64 - 64 * 1024) / 4 * 3;

/// The interval at which a runner of xbot's dialect is pinged.
pub(crate) const XBOT_PING_INTERVAL: Duration = Duration::from_secs(30);

/// A runner of xbot's dialect counts as dead if neither a ping nor a pong arrived from it for this long, whatever else it sent.
pub(crate) const XBOT_DEAD_AFTER: Duration = Duration::from_secs(60);

/// The longest time limit of a command that xbot's runners honour, in seconds; any other means 60 s to them.
pub(crate) const XBOT_EXEC_MAX_S: u64 = 3600;

/// How long after a command's time limit its answer is awaited: a runner of xbot's dialect may wait endlessly for a descendant of the command, and a
/// large output takes time to arrive.
pub(crate) const XBOT_EXEC_GRACE: Duration = Duration::from_secs(30);

/// How long a runner of xbot's dialect may take for any request except a command: a FIFO may block it forever.
pub(crate) const XBOT_REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

/// The largest number of a listing's entries that are handed on in one piece.
pub(crate) const XBOT_LISTING_PIECE: usize = 128;
