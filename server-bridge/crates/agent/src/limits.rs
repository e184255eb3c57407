//! Every limit and timeout of the chat, with its unit in its name.

/// How long a `!command` may run: 120 seconds.
pub const COMMAND_TIMEOUT_S: u64 = 120;
/// Commands that run at once in one chat.
pub const RUNNING_PER_CHAT: usize = 32;
/// How long a command that an earlier server left running waits for its runner, in seconds. Longer than a `!command` may
/// run, and as long as a runner keeps a result for sure.
pub const RECOVER_TIMEOUT_S: u64 = 600;
/// The pause before such a command is asked for again, where the runner could not be asked, in milliseconds.
pub const RECOVER_RETRY_MS: u64 = 1_000;
/// How long such a command waits before its message says what for, in milliseconds: most runners are back sooner.
pub const RECOVER_NOTE_MS: u64 = 3_000;
/// Behind this long without output, in milliseconds, an output that is read again from its beginning has come to where
/// the command is.
pub const CATCH_UP_QUIET_MS: u64 = 300;
/// How long an output that is read again is not told live, at most, in milliseconds.
pub const CATCH_UP_MAX_MS: u64 = 5_000;

/// The longest output a message shows whole, in characters. Beyond it, head and tail are shown.
pub const OUTPUT_WHOLE_MAX_CHARS: usize = 4_000;
/// How much of the beginning of a long output is shown, in characters.
pub const OUTPUT_HEAD_CHARS: usize = 2_000;
/// How much of the end of a long output is shown, in characters.
pub const OUTPUT_TAIL_CHARS: usize = OUTPUT_WHOLE_MAX_CHARS - OUTPUT_HEAD_CHARS;
/// Where, in the workspace, long outputs are kept whole.
pub const OUTPUT_DIRECTORY: &str = ".sandbridge/output";
/// What hides the folder of long outputs from version control.
pub const OUTPUT_IGNORE_PATH: &str = ".sandbridge/.gitignore";
/// How many long outputs a workspace keeps; older ones are removed when a new one is made.
pub const OUTPUTS_KEPT: usize = 100;
/// How many of a workspace's long outputs are looked at when old ones are removed.
pub const OUTPUT_LISTING_MAX_FILES: usize = 1_000;
/// How long the removal of old outputs may take, behind the command's end, in seconds.
pub const OUTPUT_TIDY_TIMEOUT_S: u64 = 30;
/// The mode of such a file: its owner's alone.
pub const OUTPUT_FILE_MODE: u32 = 0o600;
/// How much of a command its message's document repeats, in bytes; the user's own message has it whole.
pub const DOCUMENT_COMMAND_MAX_BYTES: usize = 4_096;

/// How long live output is gathered before it is told, in milliseconds: about 20 events a second.
pub const LIVE_WINDOW_MS: u64 = 50;
/// How much live output is gathered at most before it is told, in bytes.
pub const LIVE_EVENT_MAX_BYTES: usize = 16 * 1024;
/// What one event counts beside its text, in bytes: many tiny ones are no cheaper than a few large ones.
pub const LIVE_EVENT_COST_BYTES: usize = 256;
/// How much live output one command may tell in a burst, in bytes.
pub const LIVE_BURST_BYTES: usize = 1024 * 1024;
/// How much live output one command may tell for long, in bytes per millisecond (320 KB/s); the rest is skipped, and
/// said to be, since nobody can read it and the finished message leads to all of it.
pub const LIVE_RATE_BYTES_PER_MS: usize = 320;
/// How often the output so far is stored while a command runs, in milliseconds: what a killed server still has.
pub const SNAPSHOT_INTERVAL_MS: u64 = 5_000;
