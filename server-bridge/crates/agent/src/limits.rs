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

/// How much is kept of what was told live of one message under way, in bytes, for clients that come later.
pub const TOLD_KEPT_BYTES: usize = 256 * 1024;
/// What a piece of it takes beside its text, in bytes.
pub const TOLD_PIECE_BYTES: usize = 96;
/// How much of that is kept of all messages together, in bytes.
pub const TOLD_KEPT_OF_ALL_BYTES: usize = 64 * 1024 * 1024;
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

/// How often a model may answer in one turn.
pub const TURN_ITERATIONS: usize = 100;
/// Messages that may wait in one chat while an answer is under way.
pub const TURNS_QUEUED: usize = 32;
/// Tools that run side by side, where they change nothing.
pub const TOOLS_AT_ONCE: usize = 8;
/// Tokens that a model may answer with at once, unless its settings say otherwise.
pub const REPLY_TOKENS: u32 = 16_384;
/// Tokens that a model's window holds, conversation and answer together, unless its settings say otherwise.
pub const WINDOW_TOKENS: u32 = 200_000;

/// Answers that may be under way in the whole server, unless it is told otherwise; each waits for nobody but its model and its
/// tools. The reference lets 3 of them go on, for one person; a server has many.
pub const TURNS_AT_ONCE: usize = 16;
/// Answers that one user may have under way on the server's own model; more of theirs wait, and keep nobody else waiting.
pub const SHARED_TURNS: usize = 4;
/// Answers that a user with a model of their own may have under way.
pub const PERSONAL_TURNS: usize = 1;
/// Models that stand in for one another, at most, before a turn gives up.
pub const FALLBACKS: usize = 3;
/// The longest name of a model, in characters.
pub const MODEL_NAME_CHARS: usize = 200;
/// The smallest window that is of use, in tokens.
pub const WINDOW_TOKENS_MIN: u32 = 1_000;
/// The largest number of tokens that a model may be given, for its window, an answer or its thinking.
pub const TOKENS_MAX: u32 = 100_000_000;
/// How many characters of a key are shown, at its end.
pub const KEY_SHOWN_CHARS: usize = 4;
/// How many characters of a key stay hidden at least; of a shorter one nothing is shown.
pub const KEY_HIDDEN_CHARS: usize = 8;
/// How much of a request is handed to a runner at once that relays it, in bytes.
pub const RELAY_PIECE_BYTES: usize = 1024 * 1024;
/// How long the answer to a trial of a model may take: 45 seconds, which a client still waits for.
pub const MODEL_TRIAL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(45);
/// How many tokens that answer may have: some models think before they say a word.
pub const MODEL_TRIAL_TOKENS: u32 = 1_024;
/// How much of that answer is shown, in characters.
pub const MODEL_TRIAL_ANSWER_CHARS: usize = 80;
/// How long a provider may take to list its models: 20 seconds, which a form still waits for.
pub const MODEL_LIST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
/// How many models of a provider's list are offered.
pub const MODELS_LISTED: usize = 2_000;
/// How far back `/usage` looks: 30 days.
pub const USAGE_DAYS: i64 = 30;

/// A tool's result beyond so many tokens is put aside.
pub const OFFLOAD_TOKENS: usize = 2_000;
/// A tool's result beyond so many bytes is put aside, however few tokens it is.
pub const OFFLOAD_BYTES: usize = 10_240;
/// How much of what was put aside stays, at its beginning and at its end each, in lines.
pub const OFFLOAD_SHOWN_LINES: usize = 20;
/// The longest of those lines, in characters.
pub const OFFLOAD_LINE_CHARS: usize = 200;
/// How much of what was put aside is read at once, in characters.
pub const RECALL_CHARS: usize = 16_000;

/// How long a model waits to be allowed something: 5 minutes. Then it is denied.
pub const APPROVAL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);
/// How long a model's command may run before it becomes a task, in seconds.
pub const SHELL_TIMEOUT_S: u64 = 120;
/// The longest it may ask for, in seconds.
pub const SHELL_TIMEOUT_MAX_S: u64 = 600;
/// How long a cancelled command of a model may take to end by itself before it is killed with all that it started: half of
/// [`CANCEL_PROMISE`], and less than a runner gives it by itself.
pub const SHELL_CANCEL_GRACE: std::time::Duration = std::time::Duration::from_millis(500);
/// How long a cancelled command of a model is waited for; its runner goes on ending it.
pub const SHELL_CANCEL_PATIENCE: std::time::Duration = std::time::Duration::from_millis(800);
/// Within this a cancelled turn is over, on record, and nothing that it ran is left on a machine that can be reached.
pub const CANCEL_PROMISE: std::time::Duration = std::time::Duration::from_secs(1);
const _: () = assert!(
    SHELL_CANCEL_GRACE.as_millis() < SHELL_CANCEL_PATIENCE.as_millis()
        && SHELL_CANCEL_PATIENCE.as_millis() < CANCEL_PROMISE.as_millis()
);
/// How long a task may run: 24 hours.
pub const TASK_LIFETIME_S: u64 = 24 * 60 * 60;
/// How much of a command's output is kept for the model, at its beginning and at its end each, in bytes.
pub const SHELL_KEPT_BYTES: usize = 512 * 1024;
/// How much of the beginning of a task's output is reported, in bytes: what a runner keeps of it beside the end.
pub const TASK_HEAD_BYTES: u32 = 16_000;
/// How much of its end, in bytes: 50 KB in all.
pub const TASK_TAIL_BYTES: u32 = 50_000 - TASK_HEAD_BYTES;
/// Execs that are looked through for a chat's tasks.
pub const TASKS_LISTED: u32 = 1_000;
/// The largest file that is read at once, in bytes.
pub const READ_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// The largest file that a replacement leaves behind, in bytes.
pub const FILE_AFTER_BYTES: usize = 16 * 1024 * 1024;
/// The most text that a search by content collects, in bytes.
pub const GREP_BYTES: usize = 4 * 1024 * 1024;
/// How much of each side of a file's change a card holds, in bytes.
pub const EDIT_SHOWN_BYTES: usize = 16 * 1024;
/// How many lines around a change it holds.
pub const EDIT_CONTEXT_LINES: usize = 3;
/// The most that a user is shown of what they are to allow, in bytes; more is not asked for.
pub const APPROVAL_DETAIL_BYTES: usize = 32 * 1024;
/// From how many blank lines in a row on they are counted instead of shown.
pub const FOLDED_BLANK_LINES: usize = 4;
/// From how many blanks in a row on, within a line, they are counted instead of shown, in characters.
pub const FOLDED_BLANKS_CHARS: usize = 80;
/// How much of what a model thinks is shown, in bytes.
pub const REASONING_SHOWN_BYTES: usize = 32 * 1024;
/// The longest name of a tool that is shown, in characters.
pub const TOOL_NAME_CHARS: usize = 64;
/// Lines that are read at once.
pub const READ_LINES: u64 = 2_000;
/// The longest line that is shown whole, in characters.
pub const READ_LINE_CHARS: usize = 2_000;
/// Paths that one search by name finds.
pub const GLOB_RESULTS: u32 = 500;
/// Lines that one search by content finds.
pub const GREP_RESULTS: u32 = 500;
/// Lines around each of those.
pub const GREP_CONTEXT_LINES: u32 = 20;
/// Tools that a conversation names and that are gone, which are declared still.
pub const GONE_TOOLS: usize = 32;
/// How large a compiled regular expression of a model may be, in bytes.
pub const REGEX_BYTES: usize = 1024 * 1024;
/// How much of a call's subject is shown to people, in characters.
pub const TOOL_HINT_CHARS: usize = 500;
/// The largest file of project instructions, in bytes; the rest is left out.
pub const INSTRUCTIONS_BYTES: u64 = 32 * 1024;

/// How long a model's question waits for its user's answer: 30 minutes, since somebody may be at lunch. Then nobody answered.
pub const QUESTION_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30 * 60);
/// The longest question, in characters.
pub const QUESTION_CHARS: usize = 4_000;
/// Answers that a question gives to choose from.
pub const QUESTION_OPTIONS: usize = 10;
/// The longest of those, in characters.
pub const QUESTION_OPTION_CHARS: usize = 200;
/// The longest answer to a question, in bytes.
pub const ANSWER_BYTES: usize = 64 * 1024;

/// The longest arguments of one call, in bytes: a large file in one piece.
pub const ARGUMENTS_BYTES: usize = 4 * 1024 * 1024;

/// The longest text that is made of a page, in bytes.
pub const FETCH_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// How long a search may take.
pub const SEARCH_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
/// The longest answer of a search provider, in bytes.
pub const SEARCH_ANSWER_BYTES: usize = 2 * 1024 * 1024;
/// How much is shown of each text of what was found, in characters.
pub const SEARCH_SNIPPET_CHARS: usize = 1_000;
/// What a search finds, unless it says how much it wants.
pub const SEARCH_RESULTS: usize = 5;
/// The most it may want.
pub const SEARCH_RESULTS_MAX: usize = 20;
/// The longest question to a search provider, in characters.
pub const SEARCH_QUERY_CHARS: usize = 400;

/// The largest file that is downloaded, in bytes; a runner has a limit of its own.
pub const DOWNLOAD_BYTES: u64 = 1024 * 1024 * 1024;
/// How long a download may take.
pub const DOWNLOAD_PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);
/// The largest image that a model is shown, in bytes: what providers take.
pub const IMAGE_BYTES: usize = 5_000_000;
/// The most pixels that an image has in either direction: what providers take.
pub const IMAGE_SIDE_PIXELS: u32 = 8_000;

/// Messages that one search of the chats finds.
pub const HISTORY_RESULTS: u32 = 20;
/// How much is shown around what was found, in characters to either side.
pub const HISTORY_SNIPPET_CHARS: usize = 150;
/// The longest value that a model may set, in characters.
pub const CONFIG_VALUE_CHARS: usize = 200;
/// How long an answer that was told to stop is waited for before something is taken back, in milliseconds.
pub const REST_PATIENCE_MS: u64 = 3_000;
/// How often it is looked whether it has, in milliseconds.
pub const REST_LOOK_MS: u64 = 20;
/// How many turns are listed to be taken back.
pub const TURNS_LISTED: u32 = 20;
/// How much of what was said is repeated in a list, in characters.
pub const SAID_SHOWN_CHARS: usize = 80;
/// The largest file that is looked at to see whether it was changed since, in bytes; a larger one counts as changed.
pub const RESTORE_LOOK_BYTES: u64 = 64 * 1024 * 1024;
/// Files that an answer about what was taken back names; the rest is counted.
pub const FILES_NAMED: usize = 20;
/// How deep sub-agents go: those of a user's chat, theirs, and theirs again.
pub const SUB_AGENT_DEPTH: usize = 3;
/// Sub-agents of one answer that work at once; the others wait.
pub const SUB_AGENTS_AT_ONCE: usize = 3;
/// Sub-agents that one turn of a user's may call in all, those of its sub-agents included.
pub const SUB_AGENTS_PER_TURN: usize = 32;
/// How often the model of a sub-agent may answer in one call.
pub const SUB_AGENT_ITERATIONS: usize = 50;
/// How long a sub-agent that has a name waits for its next call: 30 minutes. Then its conversation is closed.
pub const SUB_AGENT_IDLE_MS: i64 = 30 * 60 * 1_000;
/// How much of a sub-agent's last words its parent gets, in bytes; long ones are put aside like any result.
pub const SUB_AGENT_RESULT_BYTES: usize = 256 * 1024;
/// The longest name of a sub-agent, in characters.
pub const SUB_AGENT_NAME_CHARS: usize = 64;
/// How much is shown of what a sub-agent does at the moment, in characters.
pub const SUB_AGENT_DOING_CHARS: usize = 200;

/// Skills, and roles, that a workspace's catalogue lists at most.
pub const LIBRARY_ENTRIES: usize = 64;
/// Files of a catalogue that are read side by side.
pub const LIBRARY_FILES_AT_ONCE: usize = 8;
/// How much of each is read for its catalogue, in bytes.
pub const LIBRARY_HEAD_BYTES: u64 = 4 * 1024;
/// The longest name of a skill or a role, in characters.
pub const LIBRARY_NAME_CHARS: usize = 64;
/// How much of its description a catalogue shows, in characters.
pub const LIBRARY_DESCRIPTION_CHARS: usize = 300;
/// The largest skill, in bytes; the rest is left out.
pub const SKILL_BYTES: u64 = 64 * 1024;
/// The largest role, in bytes; the rest is left out.
pub const ROLE_BYTES: u64 = 32 * 1024;
/// How much of what is kept of a user a conversation is told, in bytes; what was written last comes first.
pub const MEMORY_PROMPT_BYTES: usize = 16 * 1024;
/// The longest instructions that a user gives for all of their chats, in bytes.
pub const OWN_INSTRUCTIONS_BYTES: usize = 32 * 1024;
/// The longest name of a language, in characters.
pub const LANGUAGE_CHARS: usize = 64;
/// Letters of ASCII that are about one token.
pub const ASCII_PER_TOKEN: usize = 4;
/// What a message, or a call, takes beside its text, in tokens.
pub const MESSAGE_TOKENS: usize = 4;
/// About what an image takes, in tokens.
pub const IMAGE_TOKENS: usize = 1_600;
/// Lines of a file, a search or a folder that a summary of a long result lists.
pub const SUMMARY_ROWS: usize = 40;
/// Lines that speak of errors which a summary of a command's output shows.
pub const SUMMARY_ERRORS: usize = 20;
/// How much of a result's first or last line the line in its place shows, in characters.
pub const SUMMARY_LINE_CHARS: usize = 120;
/// From so much of the window on, in percent, lines take the place of old results.
pub const MASK_AT_PERCENT: usize = 60;
/// Groups of calls that keep their results: 12 up to 70 % of the window, 8 up to 80 %, 5 up to 90 %, 3 beyond.
pub const MASKED_GROUPS_KEPT: (usize, [(usize, usize); 3]) = (3, [(70, 12), (80, 8), (90, 5)]);
/// The files of so many of the last groups are worked on: what is known of them is not masked.
pub const ACTIVE_GROUPS: usize = 3;
/// A result shorter than this is not masked, in characters.
pub const MASK_MIN_CHARS: usize = 300;
/// How much of a call's arguments the line in its result's place shows, in characters.
pub const MASK_ARGUMENTS_CHARS: usize = 80;
/// What saves less than this of the window, in percent, is not masked yet: each time, the provider's cache loses what is behind.
pub const MASK_SAVES_PERCENT: usize = 10;
/// From so much of the window on, in percent, a conversation is compressed.
pub const COMPRESS_AT_PERCENT: usize = 75;
/// Answers between two compressions.
pub const COMPRESS_COOL_DOWN_ROUNDS: usize = 5;
/// A compression that saves less than this, in percent, is not worth it.
pub const COMPRESS_SAVES_PERCENT: i64 = 5;
/// How much of a conversation stays as it is when it is compressed, at its end, in percent.
pub const COMPRESS_TAIL_PERCENT: usize = 20;
/// How often one turn compresses because the window is full indeed.
pub const COMPRESS_FORCED_TIMES: usize = 3;
/// How long a summary may be, in tokens.
pub const SUMMARY_TOKENS: usize = 8_000;
/// How much of a user's message stands behind a summary, in characters.
pub const QUOTED_CHARS: usize = 4_000;
/// How much of each message is summarised where all of them are too long, in characters.
pub const SHORTENED_CHARS: usize = 4_000;
/// The same of each result.
pub const SHORTENED_RESULT_CHARS: usize = 500;
/// An answer takes at most one part in so many of the window.
pub const REPLY_WINDOW_SHARE: u32 = 4;
/// Messages at the end of a conversation that its model cannot edit.
pub const EDIT_PROTECTED_MESSAGES: usize = 3;
/// The longest text that an edit puts in the place of another one, in bytes.
pub const EDIT_REPLACEMENT_BYTES: usize = 10_240;
/// How long it is looked whether files changed, in milliseconds.
pub const STALE_CHECK_TIMEOUT_MS: u64 = 2_000;
/// How wide the bar of `/context` is, in characters.
pub const METER_CELLS: usize = 30;
/// How much of a text that is given back is kept for a client that sends its message again, in bytes.
pub const SEND_INPUT_KEPT_BYTES: usize = 4 * 1024;
