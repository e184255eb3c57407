//! Every limit and timeout of the tools.

/// Limit on how much of a put-aside text is read at once, in characters.
pub const RECALL_CHARS: usize = 16_000;
/// How long a model's command may run before it becomes a task, in seconds.
pub const SHELL_TIMEOUT_S: u64 = 120;
/// Limit on the time that a model may request for its command before it becomes a task, in seconds.
pub const SHELL_TIMEOUT_MAX_S: u64 = 600;
/// How long a cancelled command of a model may take to end before it is killed with all its processes: half of
/// [`CANCEL_PROMISE`], and less than a runner's own grace.
pub const SHELL_CANCEL_GRACE: std::time::Duration = std::time::Duration::from_millis(500);
/// How long the server waits for a cancelled command of a model; after that, its runner continues to end it.
pub const SHELL_CANCEL_PATIENCE: std::time::Duration = std::time::Duration::from_millis(800);
/// The time within which a cancelled turn has ended and is on record, with no process left on a machine that can be reached.
pub const CANCEL_PROMISE: std::time::Duration = std::time::Duration::from_secs(1);
const _: () = assert!(
    SHELL_CANCEL_GRACE.as_millis() < SHELL_CANCEL_PATIENCE.as_millis()
        && SHELL_CANCEL_PATIENCE.as_millis() < CANCEL_PROMISE.as_millis()
);
/// How long a task may run: 24 hours.
pub const TASK_LIFETIME_S: u64 = 24 * 60 * 60;
/// How much of a command's output is kept for the model, in bytes: this much each of the beginning and of the end.
pub const SHELL_KEPT_BYTES: usize = 512 * 1024;
/// How much of the beginning of a task's output is reported, in bytes: a runner keeps this much in addition to the end.
pub const TASK_HEAD_BYTES: u32 = 16_000;
/// How much of the end of a task's output is reported, in bytes; with the beginning, 50 KB in all.
pub const TASK_TAIL_BYTES: u32 = 50_000 - TASK_HEAD_BYTES;
/// The number of latest messages of a sub-agent's chat that are searched for its last text.
pub const TASK_MESSAGES: u32 = 50;
/// Limit on the execs, and on the sub-agents, that are searched for a chat's tasks.
pub const TASKS_LISTED: u32 = 1_000;
/// The largest file that is read at once, in bytes.
pub const READ_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// The largest file that a replacement may produce, in bytes.
pub const FILE_AFTER_BYTES: usize = 16 * 1024 * 1024;
/// Limit on the text that a search by content collects, in bytes.
pub const GREP_BYTES: usize = 4 * 1024 * 1024;
/// How much of the old and of the new text of a file's change a card contains, in bytes each.
pub const EDIT_SHOWN_BYTES: usize = 16 * 1024;
/// The number of unchanged lines that a card contains around a change.
pub const EDIT_CONTEXT_LINES: usize = 3;
/// Limit on the number of lines that are read at once.
pub const READ_LINES: u64 = 2_000;
/// The longest line that is shown whole, in characters.
pub const READ_LINE_CHARS: usize = 2_000;
/// Limit on the number of paths that one search by name finds.
pub const GLOB_RESULTS: u32 = 500;
/// Limit on the number of lines that one search by content finds.
pub const GREP_RESULTS: u32 = 500;
/// Limit on the number of context lines around each match.
pub const GREP_CONTEXT_LINES: u32 = 20;
/// How much of a command's output a program is shown, in bytes: this much each of the beginning and of the end.
pub const PROGRAM_SIDE_BYTES: usize = 24 * 1024;
/// The default time limit of a program's command, in seconds.
pub const PROGRAM_EXEC_S: f64 = 120.0;
/// Limit on the run time of a program's command, in seconds; tasks may run longer.
pub const PROGRAM_EXEC_MAX_S: f64 = 600.0;
/// Limit on the time that a program's task may request, in seconds: 30 days.
pub const PROGRAM_TASK_MAX_S: f64 = 30.0 * 24.0 * 3600.0;
/// How much of a file, or of a task's output, a program reads at once by default, in bytes.
pub const PROGRAM_READ_BYTES: u64 = 64 * 1024;
/// Limit on how much of a file, or of a task's output, a program reads at once, in bytes.
pub const PROGRAM_READ_MAX_BYTES: u64 = 512 * 1024;
/// How long a program's read waits for more output of a running task.
pub const PROGRAM_READ_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// Limit on the number of names, paths or lines in a list for a program.
pub const PROGRAM_LISTED: u32 = 1000;
/// Limit on the size of a list for a program, in bytes.
pub const PROGRAM_LISTED_BYTES: usize = 256 * 1024;
/// Limit on the number of tasks in a list for a program.
pub const PROGRAM_TASKS: u32 = 1000;
/// The longest question, in characters.
pub const QUESTION_CHARS: usize = 4_000;
/// Limit on the number of answers that a question offers.
pub const QUESTION_OPTIONS: usize = 10;
/// The longest answer that a question offers, in characters.
pub const QUESTION_OPTION_CHARS: usize = 200;
/// The longest text of a page, in bytes.
pub const FETCH_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// How long a search may take.
pub const SEARCH_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
/// The longest response of a search provider, in bytes.
pub const SEARCH_ANSWER_BYTES: usize = 2 * 1024 * 1024;
/// How much of a result's text is shown, in characters.
pub const SEARCH_SNIPPET_CHARS: usize = 1_000;
/// The default number of results of a search.
pub const SEARCH_RESULTS: usize = 5;
/// Limit on the number of results that can be requested.
pub const SEARCH_RESULTS_MAX: usize = 20;
/// The longest query to a search provider, in characters.
pub const SEARCH_QUERY_CHARS: usize = 400;
/// The largest file that is downloaded, in bytes; runners have their own limit.
pub const DOWNLOAD_BYTES: u64 = 1024 * 1024 * 1024;
/// How long a download may take.
pub const DOWNLOAD_PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);
/// Limit on the number of messages that one search of the chats finds.
pub const HISTORY_RESULTS: u32 = 20;
/// How much is shown around a match, in characters on either side.
pub const HISTORY_SNIPPET_CHARS: usize = 150;
/// The longest value that a model may set, in characters.
pub const CONFIG_VALUE_CHARS: usize = 200;
/// The longest text that a model may put into the input of a terminal, in characters.
pub const TUI_TEXT_CHARS: usize = 4_000;
/// Limit on the number of chats, the most recently active first, among which a model can name one by its title.
pub const TUI_CHATS_SEARCHED: u32 = 1_000;
/// Limit on the number of chats that a model is shown if several have the title that it named.
pub const TUI_CHATS_LISTED: usize = 10;
/// How long a git command may run that the server itself uses to manage worktrees: a checkout of a large repository takes minutes.
pub const GIT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(600);
/// How much of the output of a git command for worktrees is kept, in bytes.
pub const GIT_OUTPUT_BYTES: usize = 64 * 1024;
/// How much of the error of a git command for worktrees is quoted, in characters.
pub const GIT_ERROR_CHARS: usize = 500;
/// Limit on the number of worktrees of one repository that are listed.
pub const WORKTREES_LISTED: usize = 200;
