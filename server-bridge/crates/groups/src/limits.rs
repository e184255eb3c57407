//! Limits, with their units.

use std::time::Duration;

/// How much of the log since an agent last spoke is shown to it, in bytes; the newest part is shown.
pub const DIGEST_MAX_BYTES: usize = 32 * 1024;

/// The maximum number of entries in the part of the log that an agent is shown.
pub const DIGEST_ENTRIES: i64 = 200;

/// The longest text that asks an agent, in bytes: the limit on a chat message, 1 MiB, less 64 KiB for the text in front of it, which contains part of
/// the log and the files of a step.
pub const ASKING_MAX_BYTES: usize = 1024 * 1024 - 64 * 1024;

/// The entry in an agent's list of tools that stands for all tools of its owner.
pub const ALL_TOOLS: &str = "*";

/// The maximum number of tools in an agent's list.
pub const AGENT_TOOLS_MAX: usize = 200;

/// The longest name of a tool, in bytes; models do not accept a longer one.
pub const TOOL_NAME_MAX_BYTES: usize = 64;

/// The documents of an agent's workspace, in the order in which it reads them.
pub use chats::limits::WORKSPACE_DOCUMENTS as WORKSPACE_FILES;

/// The longest text of a document of a workspace, in bytes; a prompt contains no more of it.
#[allow(clippy::cast_possible_truncation, reason = "it is 8 KiB")]
pub const WORKSPACE_FILE_MAX_BYTES: usize = chats::limits::WORKSPACE_DOCUMENT_BYTES as usize;

/// The longest wait for one response of a machine about a workspace.
pub const WORKSPACE_ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time that creating a workspace may take: less than the 60 s for which the command line waits for a response.
pub const WORKSPACE_MAKE_TIMEOUT: Duration = Duration::from_secs(45);

/// The maximum number of entries of the log that a client gets at once.
pub const ENTRIES_LISTED: u32 = 100;

/// The maximum number of ended calls that a client gets in addition to the open ones.
pub const CALLS_LISTED: i64 = 50;

/// The maximum number of runs of chains that a client gets at once.
pub const RUNS_LISTED: i64 = 20;

/// The longest time between two searches for work; a lost wake-up delays work by at most this.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// The pause after an error of the database.
pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How many times the budget of a run is read for one request while the database is unavailable.
pub const HOLD_TRIES: u32 = 3;

/// The directory of a workspace for handed-over files, which are in `handed/RUN/STEP` below it.
pub const HANDED_DIRECTORY: &str = "handed";

/// The limit on files, directories and links that are handed from one step to the next: a runner finds no more in one search.
pub const HANDED_ENTRIES_MAX: usize = 10_000;

/// The limit on content that is handed from one step to the next, in bytes: 4 GiB, the same as for the documents of a user.
pub const HANDED_MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The limit on simultaneous hand-overs of a group; others wait.
pub const HANDED_AT_ONCE: usize = 4;

/// The maximum number of times that files are read if something keeps changing them.
pub const HANDED_READS_MAX: u32 = 3;

/// The maximum number of names that are tried for a handed-over directory if other content has these names.
pub const HANDED_NAMES_MAX: u32 = 100;

/// The longest wait for the next piece of a file, after which the machine is tried again later.
pub const HANDED_STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest wait until files have been written to disk or removed from it.
pub const HANDED_FINISH_TIMEOUT: Duration = Duration::from_secs(600);

/// How long reading a file with a chain from a machine may take.
pub const CHAIN_FILE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an agent waits for another one; a later answer arrives as a separate message.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(600);

/// The maximum number of agents in a discussion.
pub const DISCUSSION_AGENTS: usize = 8;

/// The maximum number of rounds of a discussion: with 8 agents, it does not exceed the limit on steps of a chain.
pub const DISCUSSION_ROUNDS: u32 = 5;

/// How long an agent waits for a run that it began; the run goes on after that.
pub const RUN_PATIENCE: Duration = Duration::from_secs(1800);

/// The number of turns under way that are remembered to work for no call.
pub const FREE_TURNS_KEPT: usize = 10_000;
