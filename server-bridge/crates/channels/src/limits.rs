//! Limits, with their units.

use std::time::Duration;

/// The first pause after a connection ended.
pub const RECONNECT_MIN: Duration = Duration::from_secs(1);
/// The longest pause after a connection ended.
pub const RECONNECT_MAX: Duration = Duration::from_secs(60);
/// After a connection that lasted this long, pauses start again at the shortest one.
pub const STEADY: Duration = Duration::from_secs(60);
/// A connection that ends within this time counts as a fast end.
pub const FAST_END: Duration = Duration::from_secs(5);
/// The number of consecutive fast ends after which the longest pause follows.
pub const FAST_ENDS: u32 = 3;
/// The pause after the messenger refused the account, which usually has to be changed before it works again.
pub const REFUSED_PAUSE: Duration = Duration::from_secs(300);
/// The longest pause that a messenger may ask for.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);
/// How long one request to send may take before its outcome counts as unknown.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How many tries of a message may have an unknown outcome if the messenger does not support keys: the first try and one repetition.
pub const UNKEYED_TRIES: i64 = 2;
/// How many tries of a message may have an unknown outcome if the messenger supports keys.
pub const KEYED_TRIES: i64 = 20;
/// How long sending a file may take: the sum of the platform's own limit and the limit of a message.
pub const FILE_TIMEOUT: Duration =
    Duration::from_secs(platforms::limits::TRANSFER_TIMEOUT.as_secs() + SEND_TIMEOUT.as_secs());
/// How many files are in memory at the same time, in each direction.
pub const FILES_AT_ONCE: usize = 4;
/// The time limit for storing all files of one message.
pub const MEDIA_TIMEOUT: Duration = Duration::from_secs(60);
/// The shortest time between two messages that inform a person about dropped messages, in milliseconds.
pub const FULL_TOLD_EVERY_MS: i64 = 3_600_000;
/// The maximum number of codes in one group message that are made invalid.
pub const CODES_MAX: usize = 50;
/// The interval at which the server looks for events to notify administrators of.
pub const NOTICE_EVERY: Duration = Duration::from_secs(30);
/// The maximum number of events of one kind that a notice lists.
pub const NOTICE_LINES: usize = 5;
/// The age up to which an event is reported, in milliseconds: less than [`KEPT_MS`], the time for which sent notices are remembered.
pub const NOTICES_MAX_AGE_MS: i64 = 7 * 24 * 3_600_000;
/// How long a runner must be offline before it is reported, in milliseconds.
pub const AWAY_MS: i64 = 15 * 60_000;
/// The shortest time between two notices about the same runner, in milliseconds.
pub const RUNNER_AWAY_AGAIN_MS: i64 = 6 * 3_600_000;
/// The age up to which the start of a server is reported, in milliseconds.
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
/// A disk counts as nearly full if it has less free space than this, in bytes.
pub const LOW_DISK_BYTES: u64 = 1024 * 1024 * 1024;
/// How long an answer must be in progress before a draft of it is shown.
pub const DRAFT_AFTER: Duration = Duration::from_secs(2);
/// How often the server checks whether drafts have to be edited.
pub const DRAFT_LOOK: Duration = Duration::from_millis(250);
/// The shortest time between two edits of drafts of one account, in milliseconds; most messengers require more.
pub const DRAFT_EVERY_MS: u64 = 20;
/// The limit on answers in progress for which drafts are kept.
pub const DRAFTS: i64 = 1_000;
/// After this many failed edits in a row, a draft stays unchanged until its answer is complete.
pub const DRAFT_FAILURES: usize = 3;
/// How long one edit of a draft may take.
pub const DRAFT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of tries of an edit.
pub const EDIT_TRIES: i64 = 5;
/// The maximum number of messages that one answer is split into.
pub const PARTS_MAX: usize = 5;
/// Where there are no buttons, the numbers of choices continue from question to question in a conversation; after this number, the next question
/// starts again at 1.
pub const PLACES_MAX: i64 = 90;
/// The maximum number of entries of a group's log that are put into the outbox at once.
pub const LOG_ENTRIES: i64 = 20;
/// While this many messages to a conversation are waiting, no further entries of its group's log are put into the outbox.
pub const LOG_WAITING: i64 = 20;
/// How much of one log entry is shown, in characters; an entry is also limited to [`PARTS_MAX`] messages.
pub const LOG_TEXT_MAX_CHARS: i64 = 48 * 1024;
/// The number of hexadecimal digits of a binding's mark.
pub const MARK_DIGITS: usize = 16;
/// The number of hexadecimal digits of a binding's id for clients.
pub const BINDING_ID_DIGITS: usize = 16;
/// The number of hexadecimal digits of a send id in a log, including the binding's mark: also the maximum length of a send id.
pub const SEND_ID_DIGITS: usize = 64;
/// How long a question waits for an answer in a chat that is used from a messenger, in milliseconds.
pub const ASK_PATIENCE_MS: i64 = 24 * 3_600_000;
/// How long a code can be used, in milliseconds.
pub const CODE_LIFETIME_MS: i64 = 600_000;
/// How long finished rows are kept, in milliseconds: 8 days, longer than any messenger keeps repeating an event.
pub const KEPT_MS: i64 = 8 * 24 * 3_600_000;
/// The interval at which finished rows are removed, in milliseconds.
pub const PURGE_EVERY_MS: i64 = 3_600_000;
/// The longest sleep of the task that starts the tasks of the lines.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(20);
/// How long the task that starts the tasks of the lines waits after the database failed.
pub const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The maximum number of lines of work that are read from the database at once.
pub const LANES: i64 = 1_000;
/// The maximum number of answers that are read from the database at once.
pub const BATCH: i64 = 100;
/// How many people's messages are worked on at the same time.
pub const AT_ONCE: usize = 32;
/// How many people's messages to accounts of one owner are worked on at the same time.
pub const AT_ONCE_PER_OWNER: usize = 4;
/// The maximum number of files of one message that are stored.
pub const MEDIA_MAX: usize = 10;
/// The largest file of a message that is stored, in bytes.
pub const MEDIA_MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The longest quotation that is passed on, in bytes.
pub const QUOTED_MAX_BYTES: usize = 4 * 1024;
/// The longest output of a command that is sent, in bytes.
pub const OUTPUT_MAX_BYTES: usize = 12 * 1024;
/// The longest text of the tool `Message`, in bytes.
pub const MESSAGE_MAX_BYTES: usize = 32 * 1024;
/// How many messages of one account for one user may wait to be sent before the tool `Message` is refused.
pub const WAITING_MAX: i64 = 200;
/// The limits on an account's list of people: the number of entries, and the length of an entry in bytes.
pub const ALLOW_MAX: usize = 500;
/// The longest value of an account's settings, in bytes.
pub const VALUE_MAX_BYTES: usize = 8 * 1024;
/// The limit on questions that are settled when the server starts.
pub const OPEN_ASKS: i64 = 10_000;
/// The limit on changed messages that wait to be checked.
pub const CHANGES_WAITING: usize = 10_000;
