//! Every limit and timeout of a turn, its conversation and its tools.

/// How long live output is gathered before it is sent, in milliseconds: about 20 events a second.
pub const LIVE_WINDOW_MS: u64 = 50;
/// Limit on the live output that is gathered before it is sent, in bytes.
pub const LIVE_EVENT_MAX_BYTES: usize = 16 * 1024;
/// The number of bytes that an event counts in addition to its text, because many tiny events cost as much as a few large ones.
pub const LIVE_EVENT_COST_BYTES: usize = 256;
/// Limit on the live output that one command may send in a burst, in bytes.
pub const LIVE_BURST_BYTES: usize = 1024 * 1024;
/// The sustained rate of one command's live output, in bytes per millisecond (320 KB/s). The rest is skipped with a note, because no one
/// can read that fast; the finished message shows all of it, or names the file that contains it.
pub const LIVE_RATE_BYTES_PER_MS: usize = 320;
/// Limit on the number of answers that a model may give in one turn.
pub const TURN_ITERATIONS: usize = 100;
/// Limit on the number of tools that run concurrently, if they change nothing.
pub const TOOLS_AT_ONCE: usize = 8;
/// Limit on the answers in progress in the whole server, unless configured otherwise; each answer only waits for its model and its tools.
/// An agent for one person needs about 3; a server has many users.
pub const TURNS_AT_ONCE: usize = 16;
/// Limit on the answers that one user may have in progress on the server's own model; further answers wait, and do not block other users.
pub const SHARED_TURNS: usize = 4;
/// Limit on the answers in progress for a user on a model of their own.
pub const PERSONAL_TURNS: usize = 1;
/// A tool's result of more tokens than this is put aside.
pub const OFFLOAD_TOKENS: usize = 2_000;
/// A tool's result of more bytes than this is put aside, regardless of its number of tokens.
pub const OFFLOAD_BYTES: usize = 10_240;
/// The number of lines that remain of a result that was put aside: this many at the beginning, and as many at the end.
pub const OFFLOAD_SHOWN_LINES: usize = 20;
/// The longest line that remains of a result that was put aside, in characters.
pub const OFFLOAD_LINE_CHARS: usize = 200;
/// How long a model's request for permission waits before it is denied: 5 minutes.
pub const APPROVAL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);
/// Limit on the part of a call that a user is shown before giving permission, in bytes; larger calls are refused.
pub const APPROVAL_DETAIL_BYTES: usize = 32 * 1024;
/// A run of at least this many blank lines is replaced by its number of lines.
pub const FOLDED_BLANK_LINES: usize = 4;
/// A run of at least this many blanks within a line is replaced by its length.
pub const FOLDED_BLANKS_CHARS: usize = 80;
/// Limit on how much of a model's reasoning is shown, in bytes.
pub const REASONING_SHOWN_BYTES: usize = 32 * 1024;
/// The longest name of a tool that is shown, in characters.
pub const TOOL_NAME_CHARS: usize = 64;
/// The number of answers for which a deferred tool stays declared after it was found or called. The declaration ends only at the
/// beginning of a turn, because the provider's cache holds the declarations.
pub const DEFERRED_ANSWERS: usize = 5;
/// Limit on the number of removed tools that stay declared because a conversation names them.
pub const GONE_TOOLS: usize = 32;
/// Limit on the size of a model's compiled regular expression, in bytes.
pub const REGEX_BYTES: usize = 1024 * 1024;
/// Limit on how much of a call's subject is shown to people, in characters.
pub const TOOL_HINT_CHARS: usize = 500;
/// How long a model's question waits for its user's answer: 30 minutes, because the user may be at lunch. After that, it counts as unanswered.
pub const QUESTION_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30 * 60);
/// Limit on the arguments of one call, in bytes: enough for a large file in one piece.
pub const ARGUMENTS_BYTES: usize = 4 * 1024 * 1024;
/// Limit on the depth of sub-agents: those of a user's chat, their own sub-agents, and one more level.
pub const SUB_AGENT_DEPTH: usize = 3;
/// Limit on the sub-agents of one answer that work at once; the others wait.
pub const SUB_AGENTS_AT_ONCE: usize = 3;
/// Limit on the number of sub-agents that one turn of a user may call in all, including calls by its sub-agents.
pub const SUB_AGENTS_PER_TURN: usize = 32;
/// Limit on the number of answers that the model of a sub-agent may give in one call.
pub const SUB_AGENT_ITERATIONS: usize = 50;
/// Limit on how much of a sub-agent's last message its parent gets, in bytes; long messages are put aside like any result.
pub const SUB_AGENT_RESULT_BYTES: usize = 256 * 1024;
/// The longest name of a sub-agent, in characters.
pub const SUB_AGENT_NAME_CHARS: usize = 64;
/// Limit on the shown text about a sub-agent's current activity, in characters.
pub const SUB_AGENT_DOING_CHARS: usize = 200;
/// Limit on the number of skills, and of roles, in a workspace's catalogue.
pub const LIBRARY_ENTRIES: usize = 64;
/// Limit on the files of a catalogue that are read concurrently.
pub const LIBRARY_FILES_AT_ONCE: usize = 8;
/// How much of each file is read for the catalogue, in bytes.
pub const LIBRARY_HEAD_BYTES: u64 = 4 * 1024;
/// The longest name of a skill or a role, in characters.
pub const LIBRARY_NAME_CHARS: usize = 64;
/// How much of a description a catalogue shows, in characters.
pub const LIBRARY_DESCRIPTION_CHARS: usize = 300;
/// How much of a skill is read, in bytes; the rest is left out.
pub const SKILL_BYTES: u64 = 64 * 1024;
/// How much of a command is read, in bytes; the rest is left out.
pub const COMMAND_BYTES: u64 = 64 * 1024;
/// How much of a role is read, in bytes; the rest is left out.
pub const ROLE_BYTES: u64 = 32 * 1024;
/// The number of ASCII letters that make about one token.
pub const ASCII_PER_TOKEN: usize = 4;
/// The tokens of a message, or a call, in addition to its text.
pub const MESSAGE_TOKENS: usize = 4;
/// The largest image for a model, in bytes: the limit of providers.
pub const IMAGE_BYTES: usize = 5_000_000;
/// Limit on an image's width and height, in pixels: the limit of providers.
pub const IMAGE_SIDE_PIXELS: u32 = 8_000;
/// The approximate tokens of an image.
pub const IMAGE_TOKENS: usize = 1_600;
/// Limit on the lines of a file, a search or a folder in a summary of a long result.
pub const SUMMARY_ROWS: usize = 40;
/// Limit on the lines that mention errors in a summary of a command's output.
pub const SUMMARY_ERRORS: usize = 20;
/// Limit on how much of a result's first or last line its replacement shows, in characters.
pub const SUMMARY_LINE_CHARS: usize = 120;
/// Lines replace old results from this share of the window on, in percent.
pub const MASK_AT_PERCENT: usize = 60;
/// The number of groups of calls that keep their results: 12 up to 70 % of the window, 8 up to 80 %, 5 up to 90 %, 3 above.
pub const MASKED_GROUPS_KEPT: (usize, [(usize, usize); 3]) = (3, [(70, 12), (80, 8), (90, 5)]);
/// The number of latest groups whose files count as being worked on: results about these files are not masked.
pub const ACTIVE_GROUPS: usize = 3;
/// A result shorter than this is not masked, in characters.
pub const MASK_MIN_CHARS: usize = 300;
/// Limit on how much of a call's arguments is shown in the line that replaces its result, in characters.
pub const MASK_ARGUMENTS_CHARS: usize = 80;
/// Masking that would save less than this share of the window, in percent, is put off, because each masking makes the provider's cache
/// lose everything after it.
pub const MASK_SAVES_PERCENT: usize = 10;
/// A conversation is compressed from this share of the window on, in percent.
pub const COMPRESS_AT_PERCENT: usize = 75;
/// The minimum number of answers between two compressions.
pub const COMPRESS_COOL_DOWN_ROUNDS: usize = 5;
/// A compression that would save less than this, in percent, is not carried out.
pub const COMPRESS_SAVES_PERCENT: i64 = 5;
/// The share of a conversation's end that stays unchanged when it is compressed, in percent.
pub const COMPRESS_TAIL_PERCENT: usize = 20;
/// Limit on the compressions in one turn that are forced because the window is full.
pub const COMPRESS_FORCED_TIMES: usize = 3;
/// Limit on the length of a summary, in tokens.
pub const SUMMARY_TOKENS: usize = 8_000;
/// Limit on how much of a user's message is quoted after a summary, in characters.
pub const QUOTED_CHARS: usize = 4_000;
/// Limit on how much of each message is summarised if the whole messages are too long, in characters.
pub const SHORTENED_CHARS: usize = 4_000;
/// Limit on how much of each result is summarised if the whole messages are too long, in characters.
pub const SHORTENED_RESULT_CHARS: usize = 500;
/// An answer may use at most the window divided by this.
pub const REPLY_WINDOW_SHARE: u32 = 4;
/// The number of last messages of a conversation that its model cannot edit.
pub const EDIT_PROTECTED_MESSAGES: usize = 3;
/// The longest replacement text of an edit, in bytes.
pub const EDIT_REPLACEMENT_BYTES: usize = 10_240;
/// Limit on the number of times in one turn that a hook may make a model continue although it has finished.
pub const STOPS_DENIED: usize = 8;
/// How long a resumed turn waits for its machine after a restart of the server, in milliseconds: as long as a command does.
pub const MACHINE_PATIENCE_MS: u64 = 600_000;
/// How long the machine of a resumed turn may be unreachable before a notice reports it, in milliseconds.
pub const MACHINE_NOTE_MS: u64 = 3_000;
/// The pause between two checks for the machine of a resumed turn, in milliseconds.
pub const MACHINE_LOOK_MS: u64 = 200;
/// The width of the bar of `/context`, in characters.
pub const METER_CELLS: usize = 30;
