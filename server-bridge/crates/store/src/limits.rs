//! Every limit and lifetime of the store, with its unit in its name.

use std::time::Duration;

/// How long a statement waits for another connection's or process's write to end.
pub const BUSY_TIMEOUT_MS: u64 = 10_000;
/// The pause before switching a new file to WAL is tried again, if others are opening it too.
pub const OPEN_RETRY_MS: u64 = 5;
/// How long a caller waits for a free connection; longer than [`BUSY_TIMEOUT_MS`], so that the clearer error comes first.
pub const ACQUIRE_TIMEOUT_MS: u64 = 20_000;
/// The number of connections that read in parallel; writes to SQLite always take turns on one.
pub const READ_CONNECTIONS: u32 = 4;
/// The oldest major version of PostgreSQL that is known to work.
pub const POSTGRES_OLDEST: i32 = 14;
/// How long a caller waits for a connection to PostgreSQL, which may be unreachable; then it gets an error.
pub const POSTGRES_ACQUIRE_TIMEOUT_MS: u64 = 5_000;
/// How long a connection to PostgreSQL may be idle before it is checked at its next use.
pub const POSTGRES_IDLE_CHECK: Duration = Duration::from_secs(1);
/// How long a server keeps trying to get the right to a PostgreSQL database while another server has it: that server may have just been killed.
pub const HOLD_PATIENCE: Duration = Duration::from_secs(3);
/// How often a server checks that it still has the right to its PostgreSQL database.
pub const HOLD_CHECK: Duration = Duration::from_secs(2);
/// How long PostgreSQL may take to answer that check; then its connections count as lost, and all statements in progress fail.
pub const HOLD_ANSWER: Duration = Duration::from_secs(10);
/// How long a node may go without renewing its lease before others may take over its users.
pub const NODE_LEASE: Duration = Duration::from_secs(10);
/// How often a node renews its lease.
pub const NODE_RENEWAL: Duration = Duration::from_secs(3);
/// How long a change of a node may be idle before PostgreSQL ends it. It is no longer than the lease, so that a frozen node's lock does not keep
/// others from taking over its users.
pub const NODE_STAND_STILL: Duration = Duration::from_secs(10);
/// The same for a server that works alone: a connection that is lost without a sign may have left its locks behind. A copy of a database has no
/// such limit, since its change is idle while it reads from the other database.
pub const SERVER_STAND_STILL: Duration = Duration::from_secs(60);
/// How long a store waits for its connections to PostgreSQL when it is closed; some may be lost without a sign.
pub const POSTGRES_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest URL of a node, in bytes.
pub const NODE_URL_MAX_BYTES: usize = 512;
/// The oldest schema whose programs may run as nodes alongside this one, by its newest step. It is raised when a step removes something that older
/// programs use.
pub const SCHEMA_OLDEST: i64 = 55;
/// How long after an outage of PostgreSQL the connections from before the outage are checked at each use.
pub const POSTGRES_SUSPECT: Duration = Duration::from_secs(60);
/// The number of connections to PostgreSQL for changes, each in a separate scope.
pub const WRITE_CONNECTIONS: u32 = 4;
/// The number of connections for searches, so that no search blocks other reads.
pub const SEARCH_CONNECTIONS: u32 = 2;

/// The shortest password accepted, in characters.
pub const PASSWORD_MIN_CHARS: usize = 8;
/// The longest password accepted, in bytes: all of it is hashed, so its length costs time.
pub const PASSWORD_MAX_BYTES: usize = 1024;
/// The number of passwords that are hashed at once. Each takes 19 MiB, so this limits the memory that a flood of logins takes.
pub const PASSWORD_HASHES_AT_ONCE: usize = 2;
/// The smallest allocation for checking a password, in bytes. glibc keeps freed blocks of up to 32 MiB for later
/// (`DEFAULT_MMAP_THRESHOLD_MAX` in mallopt(3)), for each thread; larger ones go back to the system.
pub const PASSWORD_MEMORY_MIN_BYTES: usize = 33 * 1024 * 1024;

/// The longest name of a user or a runner, in characters.
pub const NAME_MAX_CHARS: usize = 63;
/// The number of random bytes in a token: 256 bits.
pub const TOKEN_BYTES: usize = 32;

/// How long a session lives: 30 days.
pub const SESSION_LIFETIME_MS: i64 = 30 * DAY_MS;
/// How long the address of a login is remembered for its account: 90 days.
pub const LOGIN_ADDRESS_LIFETIME_MS: i64 = 90 * DAY_MS;
/// The maximum number of login addresses that are remembered for an account.
pub const LOGIN_ADDRESSES_PER_USER: i64 = 16;
/// The largest document of a secret that works once, in bytes.
pub const ONE_TIME_DOCUMENT_MAX_BYTES: usize = 64 * 1024;
/// The time in which all attempts of a bucket are refilled: a minute.
pub const ATTEMPTS_WINDOW_MS: i64 = MINUTE_MS;
/// The maximum number of counts of attempts that are kept. Beyond that, the counts that are closest to expiring are deleted.
pub const ATTEMPTS_KEPT: i64 = 100_000;
/// How long a runner's old token works after a rotation: 24 hours.
pub const TOKEN_OVERLAP_MS: i64 = DAY_MS;
/// How long a one-use token works unless its issuer sets another time: 1 hour.
pub const ENROLMENT_TTL_MS: i64 = 60 * MINUTE_MS;
/// The shortest time a one-use token may work: 1 minute.
pub const ENROLMENT_TTL_MIN_MS: i64 = MINUTE_MS;
/// The longest time a one-use token may work: 7 days.
pub const ENROLMENT_TTL_MAX_MS: i64 = 7 * DAY_MS;
/// How long expired tokens and revoked runners are remembered, so that their owners learn why they no longer work: 90 days.
pub const DEAD_TOKEN_RETENTION_MS: i64 = 90 * DAY_MS;

/// The maximum number of keys of one user.
pub const API_KEYS_PER_USER: i64 = 100;
/// The shortest time a key may work: 1 minute.
pub const API_KEY_TTL_MIN_MS: i64 = MINUTE_MS;
/// The longest lifetime of a key that expires: 10 years.
pub const API_KEY_TTL_MAX_MS: i64 = 3650 * DAY_MS;
/// The precision with which the last use of a key is recorded: 1 minute, so that not every request writes to the database.
pub const API_KEY_USE_STEP_MS: i64 = MINUTE_MS;

/// The largest description of itself that a runner may register, in bytes.
pub const FACTS_MAX_BYTES: usize = 64 * 1024;
/// The longest key of a setting, in bytes.
pub const SETTING_KEY_MAX_BYTES: usize = 128;
/// The largest value of a setting, in bytes.
pub const SETTING_VALUE_MAX_BYTES: usize = 64 * 1024;
/// The maximum length of a title that is taken from a chat's first message, in characters.
pub const AUTO_TITLE_MAX_CHARS: usize = 60;
/// The longest title a user may give, in characters.
pub const TITLE_MAX_CHARS: usize = 200;
/// The largest text of one message, in bytes.
pub const MESSAGE_TEXT_MAX_BYTES: usize = 1024 * 1024;
/// The longest client-chosen id of a message, in bytes.
pub const SEND_ID_MAX_BYTES: usize = 64;
/// The largest stored result of a message with a client-chosen id, in bytes.
pub const SEND_ANSWER_MAX_BYTES: usize = 16 * 1024;
/// The largest document of one message, in bytes.
pub const MESSAGE_DOCUMENT_MAX_BYTES: usize = 256 * 1024;
/// How much of a command line is recorded with its exec, in bytes; the rest is cut.
pub const EXEC_COMMAND_MAX_BYTES: usize = 4096;
/// How much of an exec's error text is recorded, in bytes; the rest is cut.
pub const EXEC_ERROR_MAX_BYTES: usize = 4096;
/// The largest item of a turn, in bytes; for example, a tool call that contains a whole file.
pub const TURN_ITEM_MAX_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of times that a turn is resumed after the server ended, if it makes no progress in between: the turn may be the reason why the
/// server ends.
pub const RESUMES_MAX: i64 = 3;
/// The largest tool result that is kept, in bytes.
pub const OFFLOAD_MAX_BYTES: usize = 16 * 1024 * 1024;
/// The longest name of a memory, in bytes.
pub const MEMORY_NAME_MAX_BYTES: usize = 64;
/// The longest memory, in bytes.
pub const MEMORY_TEXT_MAX_BYTES: usize = 4 * 1024;
/// The maximum number of memories that apply, per user and per agent in a group; a search reads all of them.
pub const MEMORY_ITEMS_PER_USER: i64 = 1_000;
/// The maximum number of memories that were superseded or have expired, per user and per agent in a group. Beyond
/// that, those that ended first are deleted.
pub const MEMORY_ENDED_PER_USER: i64 = 1_000;
/// The maximum number of waiting proposals of memories, per user and per agent in a group.
pub const MEMORY_PROPOSALS_PER_USER: i64 = 200;
/// The maximum number of memories that one memory replaces.
pub const MEMORY_REPLACED_MAX: usize = 20;
/// The longest permission rule, in bytes.
pub const PERMISSION_RULE_MAX_BYTES: usize = 4 * 1024;
/// The longest justification of a permission rule, in bytes.
pub const PERMISSION_REASON_MAX_BYTES: usize = 1024;
/// The maximum number of permission rules of one user.
pub const PERMISSION_RULES_PER_USER: i64 = 10_000;
/// The longest document of hooks, in bytes.
pub const HOOK_DOCUMENT_MAX_BYTES: usize = 256 * 1024;
/// The maximum number of plugins of one user.
pub const PLUGINS_PER_USER: i64 = 100;
/// The largest total size of the files of one user's plugins, in bytes.
pub const PLUGIN_BYTES_PER_USER: i64 = 256 * 1024 * 1024;
/// The maximum number of marketplaces of one user.
pub const MARKETPLACES_PER_USER: i64 = 20;
/// The longest document of a marketplace, in bytes.
pub const MARKETPLACE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// The longest description of the source of a plugin or a marketplace, in bytes.
pub const PLUGIN_SOURCE_MAX_BYTES: usize = 2048;
/// The maximum number of collections of documents of one user.
pub const COLLECTIONS_PER_USER: i64 = 100;
/// The longest name of a collection, in bytes.
pub const COLLECTION_NAME_MAX_BYTES: usize = 100;
/// The longest path of a collection's folder, in bytes.
pub const COLLECTION_PATH_MAX_BYTES: usize = 4096;
/// The longest explanation of the result of a folder's scan, in bytes.
pub const SYNC_NOTE_MAX_BYTES: usize = 1024;
/// The maximum number of documents of one collection.
pub const DOCUMENTS_PER_COLLECTION: i64 = 20_000;
/// The longest name of a document, in bytes.
pub const DOCUMENT_NAME_MAX_BYTES: usize = 1024;
/// The longest explanation of a document's state, in bytes.
pub const DOCUMENT_NOTE_MAX_BYTES: usize = 1024;
/// The maximum number of one user's documents that may be waiting to be indexed when another one is uploaded.
pub const INDEX_JOBS_PER_USER: i64 = 1000;
/// The maximum size of one user's documents, in bytes, including those that wait to be indexed. The index of a text takes about
/// three times its size.
pub const DOCUMENT_BYTES_PER_USER: i64 = 4 * 1024 * 1024 * 1024;
/// The largest file that is rewritten after a deletion, in bytes; rewriting takes about a second for 100 MiB.
pub const VACUUM_MAX_BYTES: i64 = 512 * 1024 * 1024;
/// The number of rows of an old version that are removed in one change, so that other changes wait only briefly.
pub const SWEEP_ROWS: i64 = 2000;
/// The maximum number of MCP servers that one user may add.
pub const MCP_SERVERS_PER_USER: i64 = 100;
/// The longest name of an MCP server, in bytes.
pub const MCP_NAME_MAX_BYTES: usize = 128;
/// The maximum size of an MCP server's definition, and of its secrets, in bytes each.
pub const MCP_ENTRY_MAX_BYTES: usize = 64 * 1024;
/// The longest list of one MCP server's tools, in bytes.
pub const MCP_LISTING_MAX_BYTES: usize = 2 * 1024 * 1024;
/// The maximum number of tool lists of one user: there is one for each MCP server and place.
pub const MCP_CATALOGUES_PER_USER: i64 = 200;
/// The maximum number of HTTP tools that one user may add.
pub const HTTP_TOOLS_PER_USER: i64 = 500;
/// The longest name of an HTTP tool, in bytes.
pub const HTTP_TOOL_NAME_MAX_BYTES: usize = 64;
/// The maximum size of an HTTP tool's definition, and of its secrets, in bytes each.
pub const HTTP_TOOL_MAX_BYTES: usize = 256 * 1024;
/// The maximum number of jobs of one user.
pub const JOBS_PER_USER: i64 = 50;
/// The longest name of a job, in bytes.
pub const JOB_NAME_MAX_BYTES: usize = 64;
/// The longest definition of a job, in bytes.
pub const JOB_DOCUMENT_MAX_BYTES: usize = 64 * 1024;
/// The longest secret of a trigger, in bytes.
pub const JOB_SECRET_MAX_BYTES: usize = 1024;
/// The longest message that a run posts, in bytes.
pub const JOB_TEXT_MAX_BYTES: usize = 256 * 1024;
/// The longest delivery to a trigger, in bytes.
pub const JOB_PAYLOAD_MAX_BYTES: usize = 1024 * 1024;
/// The maximum number of waiting runs of one job.
pub const JOB_RUNS_WAITING: i64 = 100;
/// The number of deliveries of one job that are kept in full.
pub const JOB_PAYLOADS_KEPT: i64 = 20;
/// The longest reason that is kept for the outcome of a run, in bytes.
pub const JOB_NOTE_MAX_BYTES: usize = 1024;
/// The maximum number of accounts on messengers of one user.
pub const CHANNELS_PER_USER: i64 = 20;
/// The longest name of an account on a messenger, in bytes.
pub const CHANNEL_NAME_MAX_BYTES: usize = 64;
/// The maximum size of the settings of an account on a messenger, and of its secrets, in bytes each.
pub const CHANNEL_DOCUMENT_MAX_BYTES: usize = 64 * 1024;
/// The longest id that a messenger gives, in bytes.
pub const CHANNEL_ID_MAX_BYTES: usize = 256;
/// The longest event of a messenger as JSON, in bytes.
pub const CHANNEL_EVENT_MAX_BYTES: usize = 2 * 1024 * 1024;
/// The maximum number of waiting events of one account. Beyond that, events are refused, and the messenger keeps them.
pub const CHANNEL_EVENTS_WAITING: i64 = 10_000;
/// The maximum number of waiting events of one person in one conversation; further ones are dropped.
pub const CHANNEL_LANE_WAITING: i64 = 200;
/// The longest reason why a message was not sent, in bytes.
pub const CHANNEL_ERROR_MAX_BYTES: usize = 1024;
/// The number of wrong codes with the same prefix after which a code is no longer valid.
pub const LINK_CODE_TRIES: i64 = 5;
/// The maximum number of codes that one person may try within [`LINK_TRIES_MS`].
pub const LINK_TRIES_PER_PERSON: i64 = 5;
/// The period to which [`LINK_TRIES_PER_PERSON`] applies, in milliseconds.
pub const LINK_TRIES_MS: i64 = 600_000;
/// The minimum time between two messages that tell a person that they are not linked, in milliseconds.
pub const STRANGER_TOLD_EVERY_MS: i64 = 3_600_000;
/// The longest grant of an MCP server's provider, in bytes.
pub const OAUTH_GRANT_MAX_BYTES: usize = 64 * 1024;
/// The longest description of an approval, in bytes.
pub const TRUST_SHOWN_MAX_BYTES: usize = 4 * 1024;
/// The maximum number of approvals of one user.
pub const TRUSTS_PER_USER: i64 = 10_000;
/// The maximum number of subscriptions of one user.
pub const SUBSCRIPTIONS_PER_USER: i64 = 32;
/// The longest key of a provider, in bytes.
pub const PROVIDER_KEY_MAX_BYTES: usize = 4096;
/// The length of the nonce, which makes each sealed secret unique, in bytes.
pub const NONCE_BYTES: usize = 12;
/// The length of an encryption key and of a derived key, in bytes: 256 random bits.
pub const ENCRYPTION_KEY_BYTES: usize = 32;
/// The length of the salt, which makes each database's encryption key unique, in bytes.
pub const SALT_BYTES: usize = 16;
/// The memory for deriving a key from a passphrase, in KiB: 64 MiB.
pub const PASSPHRASE_MEMORY_KIB: u32 = 64 * 1024;
/// The number of passes over the memory when a key is derived from a passphrase.
pub const PASSPHRASE_PASSES: u32 = 3;
/// The number of threads for deriving a key from a passphrase.
pub const PASSPHRASE_THREADS: u32 = 1;
/// The maximum number of rows of one usage report: days times models.
pub const USAGE_ROWS: i64 = 10_000;
/// The maximum number of items of one chat's task list.
pub const TODOS_PER_CHAT: usize = 100;
/// The longest item of a task list, in characters.
pub const TODO_MAX_CHARS: usize = 500;
/// The maximum number of words of one search for messages.
pub const SEARCH_WORDS: usize = 8;
/// The longest word of a search for messages, in characters.
pub const SEARCH_WORD_MAX_CHARS: usize = 200;
/// The longest word of a search for conversations, in characters.
pub const CHAT_SEARCH_WORD_MAX_CHARS: usize = 64;
/// The number of a user's newest messages that are read one by one if the index finds nothing.
pub const CHAT_SEARCH_MESSAGES: i64 = 20_000;
/// How long one search for words may take.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of message ids that one step of the indexing job covers.
pub const INDEX_BATCH_IDS: i64 = 2_000;
/// The number of vectors that are read at once; with 384 dimensions, they take 1.5 MiB.
pub const VECTOR_ROWS: i64 = 4_096;
/// The interval at which a search checks the time, in steps of SQLite's virtual machine.
pub const SEARCH_CHECK_STEPS: i32 = 100;
/// The maximum size of the earlier file states that are kept for one conversation, in bytes; beyond that the oldest are dropped.
pub const CHECKPOINTS_MAX_BYTES: i64 = 256 * 1024 * 1024;
/// How long earlier file states are kept: 30 days.
pub const CHECKPOINT_LIFETIME_MS: i64 = 30 * DAY_MS;
/// The largest file whose earlier state is kept, in bytes.
pub const CHECKPOINT_FILE_MAX_BYTES: usize = 16 * 1024 * 1024;
/// The number of masked results of one conversation that can be recalled; older ones cannot.
pub const MASKS_KEPT: usize = 200;
/// The maximum total length of one conversation's masked results that can be recalled, in characters.
pub const MASKS_KEPT_CHARS: i64 = 2_000_000;
/// The number of files of one conversation that are checked for changes: the ones that were read last.
pub const READS_TRACKED: u32 = 32;
/// The part of each text of an audit entry that is recorded, in bytes; the rest is cut.
pub const AUDIT_TEXT_MAX_BYTES: usize = 4096;
/// The number of rows that a fork copies before other writers get a turn.
pub const FORK_BATCH_ROWS: usize = 200;
/// The number of bytes that a fork copies before other writers get a turn, 4 MiB; a single row may be longer.
pub const FORK_BATCH_BYTES: i64 = 4 * 1024 * 1024;
/// The maximum number of values that one statement of a copy adds: PostgreSQL accepts 65,535, SQLite 32,766.
pub const COPY_BATCH_VALUES: usize = 10_000;
/// The maximum number of bytes that one statement of a copy adds, 4 MiB; a single row may be longer.
pub const COPY_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of rows that one listing returns, whatever its caller asks for.
pub const PAGE_MAX_ROWS: u32 = 1000;
/// The maximum size of the text of a page of messages or of a group's log, in bytes. A single row that is longer makes up a page on its own.
pub const PAGE_MAX_BYTES: i64 = 8 * 1024 * 1024;

/// The size beyond which values become objects of a bucket, if the server has one, in bytes: 256 KiB.
pub const BLOB_MIN_BYTES: usize = 256 * 1024;
/// The number of values of one plugin that are written to a bucket or read from it concurrently.
pub const BLOBS_AT_ONCE: usize = 8;
/// How long an object that no row names is kept, since a row may be about to name it: a day.
pub const BLOB_AGE_MS: i64 = DAY_MS;
/// How often one of the nodes deletes objects that no row names: at most every half hour.
pub const BLOB_SWEEP_EVERY_MS: i64 = 30 * MINUTE_MS;
/// How often one of the nodes searches the bucket for objects without an entry: at most once a day.
pub const BLOB_LIST_EVERY_MS: i64 = DAY_MS;
/// The maximum number of objects that are deleted after each query for objects that no row names.
pub const BLOB_SWEEP_ROWS: i64 = 200;

const MINUTE_MS: i64 = 60 * 1000;
/// A day, in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The longest beginning of `text` that fits in `max_bytes` and ends between characters.
pub(crate) fn beginning(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// A listing's limit as a SQL value, at most [`PAGE_MAX_ROWS`].
pub(crate) fn rows(limit: u32) -> i64 {
    i64::from(limit.min(PAGE_MAX_ROWS))
}

/// The maximum number of groups that a user may own.
pub const GROUPS_PER_USER: i64 = 100;
/// The maximum number of people of a group.
pub const GROUP_PEOPLE: i64 = 100;
/// The maximum number of agents of a group.
pub const GROUP_AGENTS: i64 = 50;
/// The longest title of a group, in bytes.
pub const GROUP_TITLE_MAX_BYTES: usize = 200;
/// The longest persona of an agent, in bytes.
pub const PERSONA_MAX_BYTES: usize = 16 * 1024;
/// The longest list of an agent's tools, in bytes as JSON.
pub const AGENT_TOOLS_MAX_BYTES: usize = 16 * 1024;
/// The longest text of an entry in a group's log, in bytes.
pub const ENTRY_MAX_BYTES: usize = 1024 * 1024;
/// The maximum number of messages that agents send each other as a result of one request by a person.
pub const AGENT_MESSAGES: i64 = 8;
/// The maximum number of calls of an agent that have not ended.
pub const CALLS_WAITING: i64 = 100;
/// The maximum number of chains of a group.
pub const CHAINS_PER_GROUP: i64 = 100;
/// The longest definition of a chain, in bytes.
pub const CHAIN_MAX_BYTES: usize = 1024 * 1024;
/// The maximum number of a group's chain runs that have not ended.
pub const CHAIN_RUNS_OPEN: i64 = 20;

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
