//! Every limit and timeout of the runner in one place, with its unit in the name; those of its updates in `update`, those of
//! requests that it makes of others in `relay`.

mod relay;
mod update;

pub use relay::*;
pub use update::*;

/// How many requests may wait for one spawner thread before senders have to wait themselves.
pub const SPAWN_QUEUE_REQUESTS: usize = 64;

/// Stack of a spawner thread, in bytes: it only prepares system calls.
pub const SPAWNER_STACK_BYTES: usize = 256 * 1024;

/// Stack of a child between its birth and its program, in bytes: it only makes system calls.
pub const CHILD_STACK_BYTES: usize = 16 * 1024;

/// The interval between checks of a start that has not completed, and the time until the first check, in milliseconds.
pub const START_LOOK_MS: u64 = 250;

/// How long a command may take from its birth until its program runs before it is killed, in milliseconds.
pub const START_LIMIT_MS: u64 = 5_000;

/// The maximum number of arguments of one command.
pub const COMMAND_ARGUMENTS: usize = 16_384;

/// The limit on the arguments and the environment of one command together, in bytes.
pub const COMMAND_BYTES: usize = 1024 * 1024;

/// How long killing a tree, or everything, may take before the survivors are reported, in milliseconds.
pub const KILL_DEADLINE_MS: u64 = 5_000;

/// How long one killing pass waits for the processes it hit to die before the next pass, in milliseconds.
pub const KILL_PASS_MS: u64 = 100;

/// How long the DNS servers may take to answer for a name, in milliseconds; then `getent` is asked, within
/// [`CONNECT_TIMEOUT_MS`].
pub const NAME_ANSWER_MS: u64 = 4_000;

/// The longest response of a proxy before its tunnel begins, in bytes.
pub const PROXY_ANSWER_BYTES: usize = 64 * 1024;

/// How many processes one killing pass holds a handle to at the same time.
pub const KILL_BATCH_PROCESSES: usize = 256;

/// The priority of a thread that kills a crowd; the lower, the sooner it runs.
pub const KILL_PRIORITY: i32 = -20;

/// The largest file of `/etc` that is copied into the commands' view, in bytes.
pub const ETC_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The maximum number of removed worktrees whose files one request deletes, so that it ends in time.
pub const WORKTREES_SWEPT: usize = 64;

/// How much of a `HEAD` is read, in bytes; git reads as much.
pub const GIT_HEAD_BYTES: u64 = 255;

/// The interval at which repositories are checked while a command runs, in milliseconds.
pub const GIT_LOOK_MS: u64 = 2_000;

/// How many directories of the workspace are searched for git repositories, the nearest first; and as many again of those
/// that tools rebuild, such as `node_modules`.
pub const GIT_SCAN_DIRECTORIES: usize = 8_192;

/// How many directories of a visible tree are searched for sockets and FIFOs of services.
pub const SOCKET_SCAN_DIRECTORIES: usize = 4_096;

/// The maximum number of sockets and FIFOs that are closed to commands.
pub const SOCKET_FILES: usize = 256;

/// How many gaps a layer's detail names; the others are counted.
pub const GAPS_NAMED: usize = 4;

/// The maximum number of repositories, submodules included, that are closed to commands.
pub const GIT_REPOSITORIES: usize = 256;

/// The deepest nesting of submodules, and the maximum number of slashes in their names.
pub const GIT_MODULE_DEPTH: usize = 6;

/// The largest `.git` file that is read, in bytes.
pub const GIT_LINK_BYTES: u64 = 8 * 1024;

/// How much commands may store in their `/tmp`, in bytes; less on a machine with little memory.
pub const TEMPORARY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// How much commands may store in their `/dev/shm`, in bytes; less on a machine with little memory.
pub const SHARED_MEMORY_BYTES: u64 = 512 * 1024 * 1024;

/// Each of `/tmp` and `/dev/shm` may use at most the machine's memory divided by this.
pub const TEMPORARY_MEMORY_PART: u64 = 4;

/// A temporary file system may hold one file or directory per this many bytes of its size.
pub const TEMPORARY_BYTES_PER_INODE: u64 = 4 * 1024;

/// How many terminals the programs of one command with a terminal may have open together.
pub const TERMINALS_PER_COMMAND: u32 = 256;

/// The longest name of a terminal's type, in bytes.
pub const TERMINAL_NAME_BYTES: usize = 64;

/// The interval between attempts to write to a terminal that accepted nothing, in milliseconds: a terminal does not always
/// report that it can be written to again.
pub const TERMINAL_RETRY_MS: u64 = 50;

/// How much earlier than the runner a command is killed when memory runs out, in the kernel's points of 1,000.
pub const OUT_OF_MEMORY_POINTS: i32 = 500;

/// The longest token passed on the command line, in bytes.
pub const TOKEN_BYTES: usize = 4_096;

/// The first pause before a dead runner is started again, in milliseconds; it doubles each time.
pub const RESTART_PAUSE_MS: u64 = 500;

/// The longest pause before a dead runner is started again, in milliseconds.
pub const RESTART_PAUSE_LIMIT_MS: u64 = 30_000;

/// After this much uninterrupted running, in milliseconds, a runner counts as healthy: the next pause is the first one
/// again.
pub const RESTART_HEALTHY_MS: u64 = 60_000;

/// Restarts in a row, none of them healthy, after which the guardian gives up.
pub const RESTARTS: u32 = 10;

/// How long a runner that was asked to stop may take before the guardian kills it, in milliseconds.
pub const RUNNER_STOP_MS: u64 = 15_000;

/// How long a guardian sleeps when no signal arrives, in milliseconds; a signal always wakes it.
pub const GUARDIAN_IDLE_MS: u64 = 3_600_000;

// The executor: commands and files.

/// How long a command may take to end by itself after TERM before its tree is killed, in milliseconds.
pub const STOP_GRACE_MS: u64 = 2_000;

/// The first pause between two checks whether a stopped tree has ended, in milliseconds; it doubles.
pub const STOP_LOOK_MS: u64 = 5;

/// The longest pause between two checks whether a stopped tree has ended, in milliseconds.
pub const STOP_LOOK_LIMIT_MS: u64 = 100;

/// A container that ran this long is restarted without the pause for one that does not start, in milliseconds.
pub const CONTAINER_HEALTHY_MS: u64 = 60_000;

/// How long the report of a command's start may wait for its first output or its exit, in milliseconds, multiplied by the number
/// of equally young commands.
pub const STARTED_DELAY_MS: u64 = 2;

/// An exec whose command ended is complete after this long without new output, in milliseconds.
pub const DRAIN_IDLE_MS: u64 = 100;

/// Descendants that never fall silent keep an exec open this long after its command ended, in milliseconds.
pub const DRAIN_LIMIT_MS: u64 = 5_000;

/// A cancelled exec whose output is not taken gives up the rest after this long, in milliseconds.
pub const CANCELLED_OUTPUT_MS: u64 = 2_000;

/// How many times one pipe is read in a row before others get a turn.
pub const READS_PER_TURN: usize = 8;

/// The size of the pipe of a command that writes a lot, in bytes: it can keep writing while earlier output is sent.
pub const BULK_PIPE_BYTES: usize = 1024 * 1024;

/// Output read at once of at least this size is handed over in its buffer; less is copied to a smaller one, in bytes.
pub const HAND_OVER_BYTES: usize = 32 * 1024;

/// How much output an exec that drops the oldest keeps while it has no credit, in bytes.
pub const BACKLOG_BYTES: usize = 256 * 1024;

/// How much of the end of standard error is kept to find why a command failed: a denial or a shortage, in bytes. Processes that the
/// command left may write in the moment before the runner sees its end; their text must not push out the command's own.
pub const STDERR_TAIL_BYTES: usize = 16 * 1024;

/// How long dead orphans may wait to be reaped, in milliseconds: each exec's end raises SIGCHLD too.
pub const REAP_PAUSE_MS: u64 = 50;

/// How long to wait between two checks for trees that outlived their exec, in milliseconds.
pub const TREE_LOOK_MS: u64 = 200;

/// How much of a file is read at once, while as much is sent, in bytes.
pub const FILE_PIECE_BYTES: usize = 256 * 1024;

/// How many bytes of a file after the piece that is being read the kernel is asked to read ahead.
pub const READ_AHEAD_BYTES: usize = 1024 * 1024;

/// A read of one buffer that took this long did more than copy from memory, in microseconds.
pub const SLOW_READ_US: u64 = 150;

/// How much of a file after a slow read is left to other threads, in bytes.
pub const SLOW_FILE_BYTES: u64 = 1024 * 1024;

/// The smallest buffer a file is read into, in bytes: sizes of growing files cannot be trusted.
pub const FILE_BUFFER_BYTES: usize = 4 * 1024;

/// How much is written to a file at once, in bytes.
pub const WRITE_BATCH_BYTES: usize = 256 * 1024;

/// The limit on the part of a file that is compared with the condition of a write, in bytes: seconds of hashing, where a
/// sparse file could take hours.
pub const CONDITION_BYTES: u64 = 1024 * 1024 * 1024;

/// The most entries of a tree that are hashed.
pub const HASHED_TREE_ENTRIES: u32 = 50_000;

/// The most that is hashed of the files of a tree, in bytes: as much as a second of hashing.
pub const HASHED_TREE_BYTES: u64 = 256 * 1024 * 1024;

/// How much of a file is written before the disk is asked to begin with it, in bytes: it works while more arrives, so that there
/// is little to wait for at the end.
pub const WRITEBACK_BYTES: u64 = 4 * 1024 * 1024;

/// The largest batch of a directory listing or of search results, in bytes: half the smallest credit, so that one always fits.
pub const DIRECTORY_BATCH_BYTES: usize = 16 * 1024;

/// The maximum number of files and directories that one search visits.
pub const SEARCH_ENTRIES: u64 = 500_000;

/// How long one search works, excluding the time that it waits for its reader, in milliseconds.
pub const SEARCH_TIME_MS: u64 = 30_000;

/// How long a search works before it checks for a cancel, in milliseconds.
pub const SEARCH_SLICE_MS: u64 = 20;

/// The longest pattern of a search, in bytes.
pub const SEARCH_PATTERN_BYTES: usize = 4 * 1024;

/// How much memory the compiled form of a pattern may take, in bytes.
pub const SEARCH_PROGRAM_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of paths that one search by name sends.
pub const GLOB_RESULTS: usize = 10_000;

/// The maximum number of matching lines that one search by content sends.
pub const GREP_RESULTS: u64 = 10_000;

/// The limit on the text that one search by content sends, context included, in bytes.
pub const GREP_RESULT_BYTES: u64 = 16 * 1024 * 1024;

/// How much of a line is sent, in bytes.
pub const GREP_LINE_BYTES: usize = 2_000;

/// How much precedes a match if only a part of its line is sent, in bytes.
pub const GREP_LEAD_BYTES: usize = 200;

/// How much of a line is searched, in bytes: only matching the largest pattern against the longest line cannot be
/// interrupted.
pub const GREP_LONGEST_LINE_BYTES: usize = 256 * 1024;

/// The maximum number of lines sent before a matching one; the same applies to those after it.
pub const GREP_CONTEXT_LINES: u32 = 20;

/// How much of a file is read at once to be searched, in bytes.
pub const GREP_BUFFER_BYTES: usize = 64 * 1024;

/// How much of a `.gitignore` file is read, in bytes.
pub const IGNORE_FILE_BYTES: u64 = 64 * 1024;

/// The largest file that is downloaded, in bytes.
pub const DOWNLOAD_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// The longest URL that is downloaded from, in bytes.
pub const DOWNLOAD_URL_BYTES: usize = 8 * 1024;

/// How many redirects a download follows, within its host.
pub const DOWNLOAD_REDIRECTS: usize = 10;

/// How long a download waits for more data, in milliseconds.
pub const DOWNLOAD_IDLE_MS: u64 = 60_000;

/// The number of threads for file operations and killing, in addition to the one that runs everything else.
pub const BLOCKING_THREADS: usize = 4;

/// How many frames are taken from the link in one turn before their responses are sent.
pub const FRAMES_PER_TURN: usize = 64;

/// The largest file of a user's settings that is copied for commands, in bytes.
pub const SETTINGS_FILE_BYTES: u64 = 1024 * 1024;

/// The largest policy file that is read, in bytes.
pub const POLICY_FILE_BYTES: u64 = 256 * 1024;

/// How much freed memory is kept for reuse, in bytes: the data in flight of one busy stream.
pub const KEPT_MEMORY_BYTES: i32 = 2 * 1024 * 1024;

// The link and the connection.

/// Data gathered before it is written to a WebSocket, in bytes, unless there is nothing more to send: a turn's data frames
/// cost one system call, and wake the peer once.
pub const SOCKET_WRITE_BUFFER_BYTES: usize = 448 * 1024;

/// How much is read from a standard stream at once, in bytes.
pub const STDIO_READ_BYTES: usize = 64 * 1024;

/// How many envelopes wait for a slow standard output before the session waits too.
pub const STDIO_QUEUED_ENVELOPES: usize = 16;

/// How long connecting may take, in milliseconds, name lookup and TLS included.
pub const CONNECT_TIMEOUT_MS: u64 = 10_000;

/// The longest pause before reconnecting after a registered link, in milliseconds; a random part of it is used, so that runners
/// that lost their server do not all come back at once.
pub const RETURN_PAUSE_MS: u64 = 800;

/// A link that ended sooner than this counts as brief, in milliseconds.
pub const BRIEF_LINK_MS: u64 = 1_000;

/// After this many successive brief links there still is an immediate attempt; each further one counts as a failure, so that
/// a server that accepts and breaks at once is not hammered.
pub const BRIEF_LINKS: u32 = 20;

/// The first pause after a failed attempt, in milliseconds; every second failure doubles it, and a random part of it is used.
pub const RECONNECT_PAUSE_MS: u64 = 1_000;

/// The number of failures that double the pause.
pub const FAILURES_A_DOUBLING: u32 = 2;

/// The longest pause after a failed attempt, in milliseconds; also after a refusal that needs a person.
pub const RECONNECT_PAUSE_LIMIT_MS: u64 = 60_000;

/// The longest pause that `--reconnect-max` may set, in seconds.
pub const RECONNECT_PAUSE_MAX_S: f64 = 24.0 * 3600.0;

/// The interval at which the clocks are compared to detect that the machine slept, in milliseconds.
pub const SLEEP_LOOK_MS: u64 = 5_000;

/// Time without this process running that counts as a sleep, in milliseconds.
pub const SLEEP_GAP_MS: u64 = 15_000;

/// How long the server may take to answer after a sleep, in milliseconds.
pub const AWAKE_ANSWER_MS: u64 = 5_000;

/// How long a link that is being closed may take to send its last frame, in milliseconds.
pub const CLOSE_TIMEOUT_MS: u64 = 1_000;

/// How long commands, and requests in progress, may take to end when the runner stops, and then any remaining processes once
/// they are killed, in milliseconds. More than [`STOP_GRACE_MS`], and twice this less than [`RUNNER_STOP_MS`].
pub const SHUTDOWN_MS: u64 = 4_000;

/// How long the user's own container may take until the runner in it answers, in milliseconds.
pub const CONTAINER_START_MS: u64 = 60_000;

/// The interval at which reading the standard input of a container's init process is retried after the input ended, in milliseconds.
pub const STDIN_RETRY_MS: u64 = 250;

/// The largest certificate or token file that is read, in bytes.
pub const SECRET_FILE_BYTES: u64 = 64 * 1024;

// The output of execs, and how long results are kept.

/// How much of an exec's output is kept in memory before it is moved to disk, in bytes. More than one stream's credit, so
/// that output that is read at once is never moved.
pub const LOG_MEMORY_BYTES: usize = 5 * 256 * 1024;

/// The maximum number of pieces of output in memory, of any size.
pub const LOG_PIECES: usize = 4_096;

/// Small writes of one channel are gathered into pieces of this size, in bytes.
pub const LOG_GATHERED_BYTES: usize = 4 * 1024;

/// How much output is moved to disk at once, in bytes.
pub const SPOOL_SLOT_BYTES: usize = 64 * 1024;

/// The limit on the output of one exec on disk, in bytes; beyond it the oldest is dropped.
pub const SPOOL_EXEC_BYTES: u64 = 64 * 1024 * 1024;

/// How long creating the file for an exec's output may take before the output is dropped instead, in milliseconds.
pub const SPOOL_OPEN_MS: u64 = 1_000;

/// The limit on the output of all execs together on disk, in bytes.
pub const SPOOL_RUNNER_BYTES: u64 = 1024 * 1024 * 1024;

/// How much of the beginning of a retained exec's output is kept for reports, in bytes.
pub const REPORT_HEAD_BYTES: usize = 16 * 1024;

/// The limit on the beginning of an output in a report, and on its end, in bytes.
pub const REPORT_BYTES: usize = 128 * 1024;

/// The maximum number of execs in a list.
pub const LISTED_EXECS: usize = 4_096;

/// How long an unacknowledged result of an exec is kept, in milliseconds.
pub const RESULT_KEPT_MS: u64 = 10 * 60 * 1_000;

/// How long a retained exec's result and output are kept, in milliseconds.
pub const RETAINED_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long the id of a removed result is remembered, in milliseconds.
pub const TOMBSTONE_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;

/// The maximum number of ids of removed results that are remembered.
pub const TOMBSTONES: usize = 100_000;

/// The maximum number of answers of changes that are kept for repeated requests.
pub const KEPT_ANSWERS: usize = 4_096;

/// The interval at which expired results are looked for, in milliseconds.
pub const FORGET_LOOK_MS: u64 = 60_000;

// The resources of commands.

/// The least memory that may be set for the commands of a runner, in bytes.
pub const MEMORY_BYTES_LEAST: u64 = 16 * 1024 * 1024;

/// The fewest processes that may be set for the commands of a runner.
pub const PIDS_LEAST: u32 = 8;

/// The interval at which running commands are checked for a limit, in milliseconds.
pub const LIMITS_LOOK_MS: u64 = 200;

/// The longest pause between two checks, in milliseconds.
pub const LIMITS_LOOK_LIMIT_MS: u64 = 1_000;

/// A pause is this many times as long as the check before it took, within these bounds.
pub const LIMITS_LOOK_PART: u32 = 20;

/// If the runner counts processes, it does so once less than one part in this many of the limit is left.
pub const CROWD_PART: u64 = 16;

/// If the runner counts memory, it does so once the whole machine has less than before by one part in this many of the
/// limit.
pub const COUNTED_MEMORY_PART: u64 = 2;

/// If the runner counts processes or memory, it does so after this many checks without counting, or less often: see
/// [`COUNTED_LOOKS_CROWD`].
pub const COUNTED_LOOKS: u32 = 10;

/// The number of checks without counting if the machine's processes have increased by one part in [`FEW_PROCESSES_PART`]
/// of the limit on them.
pub const COUNTED_LOOKS_CROWD: u32 = 100;

/// One part in this many of the limit on processes: see [`COUNTED_LOOKS_CROWD`].
pub const FEW_PROCESSES_PART: u64 = 4;

/// A tree is only ended for all commands' memory if it takes at least one part in this many of it.
pub const BLAMED_MEMORY_PART: u64 = 8;

/// All commands together may have one in this many of the files that the machine may have open.
pub const MACHINE_FILES_PART: u64 = 8;

/// The upper bound of that share, in files: closing them takes seconds.
pub const COMMANDS_FILES: u32 = 262_144;

/// This many files are held in reserve, to count and end commands when the machine has no more.
pub const COUNTING_FILES: usize = 16;

/// The runner warns of a disk with less than one part in this many free, if that is also less than [`LOW_DISK_BYTES`].
pub const LOW_DISK_PART: u64 = 20;

/// The free space above which the runner does not warn of a disk, in bytes.
pub const LOW_DISK_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// A file system is full if less than this is left, in bytes.
pub const FULL_BYTES: u64 = 64 * 1024;

/// The share of the machine's memory that commands may use together by default: 3 in 4.
pub const DEFAULT_MEMORY_PART: (u64, u64) = (3, 4);

/// The default limit on memory is rounded down to a multiple of this, in bytes.
pub const DEFAULT_MEMORY_STEP_BYTES: u64 = 64 * 1024 * 1024;

/// By default, all commands together may have one in this many of the machine's processes.
pub const DEFAULT_PIDS_PART: u32 = 16;

/// The minimum of that default, in processes.
pub const DEFAULT_PIDS_LEAST: u32 = 256;

/// The maximum of that default, in processes.
pub const DEFAULT_PIDS_MOST: u32 = 4_096;

/// The process numbers that the kernel uses only once per namespace, at its beginning.
pub const NAMESPACE_PIDS_RESERVED: u32 = 300;

/// How many more process numbers a namespace has than commands may use: for the runner itself, and until it acts.
pub const NAMESPACE_PIDS_SPARE: u32 = 128;

/// How many more processes than the commands' limit a user's own limit allows: until the runner acts.
pub const USER_PROCESSES_SPARE: u32 = 64;

/// The least processor time that may be set for the commands of a runner, in thousandths of a processor.
pub const CPU_THOUSANDTHS_LEAST: u32 = 50;

/// The period of processor time, in microseconds: no command is paused for longer.
pub const CPU_PERIOD_US: u64 = 20_000;

/// How many files one process of a command may have open by default.
pub const OPEN_FILES: u32 = 65_536;

/// How long removing the control groups of an ended runner is retried, in milliseconds.
pub const GROUP_REMOVAL_MS: u64 = 500;

/// The interval of these retries, in milliseconds.
pub const GROUP_LOOK_MS: u64 = 10;
