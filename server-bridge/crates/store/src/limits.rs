//! Every limit and lifetime of the store, with its unit in its name.

use std::time::Duration;

/// How long a statement waits for another connection's or process's write to end.
pub const BUSY_TIMEOUT_MS: u64 = 10_000;
/// How long an opener pauses before it tries again to switch a new file, that others are opening too, to WAL.
pub const OPEN_RETRY_MS: u64 = 5;
/// How long a caller waits for a free connection; longer than a busy wait, so that the clearer error comes first.
pub const ACQUIRE_TIMEOUT_MS: u64 = 20_000;
/// Connections that read side by side; writes to SQLite always take turns on one.
pub const READ_CONNECTIONS: u32 = 4;
/// The oldest PostgreSQL that is known to serve.
pub const POSTGRES_OLDEST: i32 = 14;
/// How long a caller waits for a connection to PostgreSQL, which may be away; then it is told so.
pub const POSTGRES_ACQUIRE_TIMEOUT_MS: u64 = 5_000;
/// How long a connection to PostgreSQL may lie idle before it is looked at again when it is needed.
pub const POSTGRES_IDLE_CHECK: Duration = Duration::from_secs(1);
/// How long a server waits for another one's right to a PostgreSQL database, which may just have ended.
pub const HOLD_PATIENCE: Duration = Duration::from_secs(3);
/// How often a server looks that it still has the right to its PostgreSQL database.
pub const HOLD_CHECK: Duration = Duration::from_secs(2);
/// How long after PostgreSQL was found away older connections are looked at each time they are needed.
pub const POSTGRES_SUSPECT: Duration = Duration::from_secs(60);
/// Connections to PostgreSQL that change something, each in a scope of its own.
pub const WRITE_CONNECTIONS: u32 = 4;
/// Connections that search for words, so that no search keeps anything else from being read.
pub const SEARCH_CONNECTIONS: u32 = 2;

/// The shortest password accepted, in characters.
pub const PASSWORD_MIN_CHARS: usize = 8;
/// The longest password accepted, in bytes: it is hashed whole, so its length is work.
pub const PASSWORD_MAX_BYTES: usize = 1024;
/// Passwords hashed at once; each takes 19 MiB, and a flood of logins must not take more than this many.
pub const PASSWORD_HASHES_AT_ONCE: usize = 2;
/// The least that is asked of the allocator for looking at a password, in bytes. glibc keeps freed blocks of up to 32 MiB for
/// later (`DEFAULT_MMAP_THRESHOLD_MAX` in mallopt(3)), for each thread; larger ones go back to the system.
pub const PASSWORD_MEMORY_MIN_BYTES: usize = 33 * 1024 * 1024;

/// The longest name of a user or a runner, in characters.
pub const NAME_MAX_CHARS: usize = 63;
/// Random bytes in a token: 256 bits.
pub const TOKEN_BYTES: usize = 32;

/// How long a session lives: 30 days.
pub const SESSION_LIFETIME_MS: i64 = 30 * DAY_MS;
/// How long an address is remembered from which an account was logged in to: 90 days.
pub const LOGIN_ADDRESS_LIFETIME_MS: i64 = 90 * DAY_MS;
/// How many such addresses are remembered of an account.
pub const LOGIN_ADDRESSES_PER_USER: i64 = 16;
/// How long a runner's old token works after a rotation: 24 hours.
pub const TOKEN_OVERLAP_MS: i64 = DAY_MS;
/// How long a one-use token works unless its issuer says otherwise: 1 hour.
pub const ENROLMENT_TTL_MS: i64 = 60 * MINUTE_MS;
/// The shortest time a one-use token may work: 1 minute.
pub const ENROLMENT_TTL_MIN_MS: i64 = MINUTE_MS;
/// The longest time a one-use token may work: 7 days.
pub const ENROLMENT_TTL_MAX_MS: i64 = 7 * DAY_MS;
/// How long expired tokens and revoked runners are remembered, so that their owner is told which it was: 90 days.
pub const DEAD_TOKEN_RETENTION_MS: i64 = 90 * DAY_MS;

/// Keys that one user's programs may have.
pub const API_KEYS_PER_USER: i64 = 100;
/// The shortest time a key may work: 1 minute.
pub const API_KEY_TTL_MIN_MS: i64 = MINUTE_MS;
/// The longest time a key that ends may work: 10 years.
pub const API_KEY_TTL_MAX_MS: i64 = 3650 * DAY_MS;
/// How exactly the last use of a key is remembered: 1 minute, so that not every request writes.
pub const API_KEY_USE_STEP_MS: i64 = MINUTE_MS;

/// The largest facts document a runner may register, in bytes.
pub const FACTS_MAX_BYTES: usize = 64 * 1024;
/// The longest key of a setting, in bytes.
pub const SETTING_KEY_MAX_BYTES: usize = 128;
/// The largest value of a setting, in bytes.
pub const SETTING_VALUE_MAX_BYTES: usize = 64 * 1024;
/// The length of a title taken from a chat's first message, in characters.
pub const AUTO_TITLE_MAX_CHARS: usize = 60;
/// The longest title a user may give, in characters.
pub const TITLE_MAX_CHARS: usize = 200;
/// The largest text of one message, in bytes.
pub const MESSAGE_TEXT_MAX_BYTES: usize = 1024 * 1024;
/// The longest id that a client gives to what it says, in bytes.
pub const SEND_ID_MAX_BYTES: usize = 64;
/// The largest note of what came of it, in bytes.
pub const SEND_ANSWER_MAX_BYTES: usize = 16 * 1024;
/// The largest document of one message, in bytes.
pub const MESSAGE_DOCUMENT_MAX_BYTES: usize = 256 * 1024;
/// How much of a command line is recorded with its exec, in bytes; the rest is cut.
pub const EXEC_COMMAND_MAX_BYTES: usize = 4096;
/// How much of an exec's error text is recorded, in bytes; the rest is cut.
pub const EXEC_ERROR_MAX_BYTES: usize = 4096;
/// The largest item of a turn, in bytes: a tool call with a whole file in it.
pub const TURN_ITEM_MAX_BYTES: usize = 32 * 1024 * 1024;
/// The largest result of a tool that is kept, in bytes.
pub const OFFLOAD_MAX_BYTES: usize = 16 * 1024 * 1024;
/// The longest name of a memory, in bytes.
pub const MEMORY_NAME_MAX_BYTES: usize = 64;
/// The longest memory, in bytes.
pub const MEMORY_TEXT_MAX_BYTES: usize = 2 * 1024;
/// How many memories are kept of one user.
pub const MEMORIES_PER_USER: i64 = 100;
/// Subscriptions that one user may have.
pub const SUBSCRIPTIONS_PER_USER: i64 = 32;
/// The longest key of a provider, in bytes.
pub const PROVIDER_KEY_MAX_BYTES: usize = 4096;
/// What makes each sealed secret another one, in bytes.
pub const NONCE_BYTES: usize = 12;
/// Random bytes of an encryption key, and of what one is derived to: 256 bits.
pub const ENCRYPTION_KEY_BYTES: usize = 32;
/// What makes each database's encryption key another one, in bytes.
pub const SALT_BYTES: usize = 16;
/// What deriving a key from a passphrase takes, in KiB of memory: 64 MiB.
pub const PASSPHRASE_MEMORY_KIB: u32 = 64 * 1024;
/// How often it goes over them.
pub const PASSPHRASE_PASSES: u32 = 3;
/// On how many threads.
pub const PASSPHRASE_THREADS: u32 = 1;
/// Rows of one account of usage: days times models.
pub const USAGE_ROWS: i64 = 10_000;
/// Things to do that one chat's model may note.
pub const TODOS_PER_CHAT: usize = 100;
/// The longest of them, in characters.
pub const TODO_MAX_CHARS: usize = 500;
/// Words that messages are searched for at once.
pub const SEARCH_WORDS: usize = 8;
/// The longest of them, in characters.
pub const SEARCH_WORD_MAX_CHARS: usize = 200;
/// The longest word that conversations are searched for, in characters.
pub const CHAT_SEARCH_WORD_MAX_CHARS: usize = 64;
/// How much of each message is looked at for it, in characters.
pub const CHAT_SEARCH_TEXT_CHARS: i32 = 16 * 1024;
/// How many of a user's messages are looked at for it; the newest ones.
pub const CHAT_SEARCH_MESSAGES: i64 = 20_000;
/// How long one search for words may take.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a search looks at the time, in steps of SQLite's machine.
pub const SEARCH_CHECK_STEPS: i32 = 100;
/// How much of what files were before turns changed them is kept for one conversation, in bytes; beyond it the oldest are
/// dropped.
pub const CHECKPOINTS_MAX_BYTES: i64 = 256 * 1024 * 1024;
/// How long it is kept: 30 days.
pub const CHECKPOINT_LIFETIME_MS: i64 = 30 * DAY_MS;
/// The largest file that is kept so, in bytes.
pub const CHECKPOINT_FILE_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Masked results of one conversation that are given back; of more, the oldest are not.
pub const MASKS_KEPT: usize = 200;
/// How long those may be together, in characters.
pub const MASKS_KEPT_CHARS: i64 = 2_000_000;
/// Files of one conversation that are looked at again to see whether they changed; the ones that were read last.
pub const READS_TRACKED: u32 = 32;
/// How much of each text of an audit entry is recorded, in bytes; the rest is cut.
pub const AUDIT_TEXT_MAX_BYTES: usize = 4096;
/// Rows that a fork copies before others may write.
pub const FORK_BATCH_ROWS: usize = 200;
/// How much of them it copies before that, in bytes; one row may be longer: 4 MiB.
pub const FORK_BATCH_BYTES: i64 = 4 * 1024 * 1024;
/// Values that one statement of a copy adds at most: PostgreSQL takes 65,535, SQLite 32,766.
pub const COPY_BATCH_VALUES: usize = 10_000;
/// How much of them it adds, in bytes; one row may be longer: 4 MiB.
pub const COPY_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The most rows one listing returns, whatever its caller asks for.
pub const PAGE_MAX_ROWS: u32 = 1000;

const MINUTE_MS: i64 = 60 * 1000;
/// A day, in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The longest beginning of `text` that fits in `max_bytes` and ends between characters.
pub(crate) fn beginning(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// A listing's limit as SQL takes it, at most [`PAGE_MAX_ROWS`].
pub(crate) fn rows(limit: u32) -> i64 {
    i64::from(limit.min(PAGE_MAX_ROWS))
}

/// The longest answer to a question that is kept, in bytes: 256 KiB.
pub const ASK_ANSWER_MAX_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(beginning("aäb", 2), "a");
        assert_eq!(beginning("aäb", 3), "aä");
        assert_eq!(beginning("ab", 9), "ab");
    }
}
