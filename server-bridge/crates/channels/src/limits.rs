//! Limits, with their units.

use std::time::Duration;

/// The first pause after a connection ended.
pub const RECONNECT_MIN: Duration = Duration::from_secs(1);
/// The longest pause after a connection ended.
pub const RECONNECT_MAX: Duration = Duration::from_secs(60);
/// After a connection that lasted this long, the pauses start again with the first one.
pub const STEADY: Duration = Duration::from_secs(60);
/// Connections that end within this time …
pub const FAST_END: Duration = Duration::from_secs(5);
/// … this often in a row are followed by the longest pause.
pub const FAST_ENDS: u32 = 3;
/// The pause after the messenger refused the account, which usually has to be changed before it works again.
pub const REFUSED_PAUSE: Duration = Duration::from_secs(300);
/// The longest pause that a messenger may ask for.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);
/// How long one request to send may take before its outcome counts as unknown.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a message may have an unknown outcome where the messenger knows no keys: it is repeated once.
pub const UNKEYED_TRIES: i64 = 2;
/// How often a message may have an unknown outcome where the messenger knows keys.
pub const KEYED_TRIES: i64 = 20;
/// How long sending a file may take: the platform's own limit, and that of a message.
pub const FILE_TIMEOUT: Duration =
    Duration::from_secs(platforms::limits::TRANSFER_TIMEOUT.as_secs() + SEND_TIMEOUT.as_secs());
/// How many files are in memory at the same time, in each direction.
pub const FILES_AT_ONCE: usize = 4;
/// How long storing all files of one message may take.
pub const MEDIA_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a person is told that their messages are dropped, in milliseconds.
pub const FULL_TOLD_EVERY_MS: i64 = 3_600_000;
/// How many codes of one message in a group are ended at most.
pub const CODES_MAX: usize = 50;
/// How often the server looks for events that administrators are notified of.
pub const NOTICE_EVERY: Duration = Duration::from_secs(30);
/// How many events of one kind a notice names.
pub const NOTICE_LINES: usize = 5;
/// The age up to which an event is reported, in milliseconds: less than [`KEPT_MS`], the time for which sent notices are remembered.
pub const NOTICES_MAX_AGE_MS: i64 = 7 * 24 * 3_600_000;
/// How long a runner must be offline before it is reported, in milliseconds.
pub const AWAY_MS: i64 = 15 * 60_000;
/// The shortest time between two notices about the same runner, in milliseconds.
pub const RUNNER_AWAY_AGAIN_MS: i64 = 6 * 3_600_000;
/// How long after its start a server reports the start, in milliseconds.
pub const STARTED_TOLD_MS: i64 = 3_600_000;
/// The shortest time between two notices about starts, in milliseconds.
pub const STARTED_AGAIN_MS: i64 = 10 * 60_000;
/// The shortest time between two notices about the same failing automation, in milliseconds.
pub const FAILED_AGAIN_MS: i64 = 24 * 3_600_000;
/// The shortest time between two notices about refused logins of the same user, in milliseconds.
pub const LOCKED_AGAIN_MS: i64 = 3_600_000;
/// The shortest time between two notices about a disk that is nearly full, in milliseconds.
pub const LOW_DISK_AGAIN_MS: i64 = 24 * 3_600_000;
/// The age up to which failed runs of automations are reported, in milliseconds.
pub const FAILED_RUNS_MS: i64 = 24 * 3_600_000;
/// A disk with less free space than this is nearly full, in bytes.
pub const LOW_DISK_BYTES: u64 = 1024 * 1024 * 1024;
/// How long an answer must be in progress before a draft of it is shown.
pub const DRAFT_AFTER: Duration = Duration::from_secs(2);
/// How often drafts are brought up to date.
pub const DRAFT_LOOK: Duration = Duration::from_millis(250);
/// The shortest time between two edits of drafts of one account, in milliseconds; most messengers require more.
pub const DRAFT_EVERY_MS: u64 = 20;
/// The most answers in progress for which drafts are kept.
pub const DRAFTS: i64 = 1_000;
/// After so many failed edits in a row, a draft stays unchanged until its answer is complete.
pub const DRAFT_FAILURES: usize = 3;
/// How long one edit of a draft may take.
pub const DRAFT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often an edit is tried.
pub const EDIT_TRIES: i64 = 5;
/// The most messages that one answer is sent as.
pub const PARTS_MAX: usize = 5;
/// Answers of questions without buttons are numbered on from question to question in a conversation, and from 1 again after this.
pub const PLACES_MAX: i64 = 90;
/// The most entries of a group's log that are put into the outbox at once.
pub const LOG_ENTRIES: i64 = 20;
/// While this many messages to a conversation are waiting, no further entries of its group's log are put into the outbox.
pub const LOG_WAITING: i64 = 20;
/// The most of one log entry that is shown, in characters; it is also limited to [`PARTS_MAX`] messages.
pub const LOG_TEXT_MAX_CHARS: i64 = 48 * 1024;
/// The hexadecimal digits of a binding's mark.
pub const MARK_DIGITS: usize = 16;
/// The hexadecimal digits of a binding's id for clients.
pub const BINDING_ID_DIGITS: usize = 16;
/// The hexadecimal digits of a send id in a log, including the binding's mark: the longest that a send id may be.
pub const SEND_ID_DIGITS: usize = 64;
/// How long a question waits in a chat that is reached from a messenger.
pub const ASK_PATIENCE_MS: i64 = 24 * 3_600_000;
/// How long a code can be used, in milliseconds.
pub const CODE_LIFETIME_MS: i64 = 600_000;
/// How long finished rows are kept, in milliseconds: 8 days, longer than any messenger repeats an event.
pub const KEPT_MS: i64 = 8 * 24 * 3_600_000;
/// How often finished rows are removed, in milliseconds.
pub const PURGE_EVERY_MS: i64 = 3_600_000;
/// How long the task of all lines sleeps at most.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(20);
/// How long that task waits after the database failed.
pub const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// How many lines of work are read from the database at once.
pub const LANES: i64 = 1_000;
/// How many answers are read at once.
pub const BATCH: i64 = 100;
/// How many people's messages are worked on at the same time.
pub const AT_ONCE: usize = 32;
/// How many of them at most belong to accounts of one owner.
pub const AT_ONCE_PER_OWNER: usize = 4;
/// The most files of a message that are stored.
pub const MEDIA_MAX: usize = 10;
/// The largest file of a message, in bytes.
pub const MEDIA_MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The longest quotation that is handed on, in bytes.
pub const QUOTED_MAX_BYTES: usize = 4 * 1024;
/// The longest output of a command that is sent, in bytes.
pub const OUTPUT_MAX_BYTES: usize = 12 * 1024;
/// The longest text of the tool `Message`, in bytes.
pub const MESSAGE_MAX_BYTES: usize = 32 * 1024;
/// How many messages of one account for one user may wait to be sent before the tool `Message` is refused.
pub const WAITING_MAX: i64 = 200;
/// The most entries of an account's list of people, and the longest of them, in bytes.
pub const ALLOW_MAX: usize = 500;
/// The longest value of an account's settings, in bytes.
pub const VALUE_MAX_BYTES: usize = 8 * 1024;
/// How many questions' messages are settled at the start.
pub const OPEN_ASKS: i64 = 10_000;
/// How many changes of messages may wait to be looked at.
pub const CHANGES_WAITING: usize = 10_000;
