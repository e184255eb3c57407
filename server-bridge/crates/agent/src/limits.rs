//! Every limit and timeout of a turn, its conversation and its tools.

/// How long live output is gathered before it is sent, in milliseconds: about 20 events a second.
pub const LIVE_WINDOW_MS: u64 = 50;
/// The most live output gathered before it is sent, in bytes.
pub const LIVE_EVENT_MAX_BYTES: usize = 16 * 1024;
/// The cost of an event in addition to its text, in bytes: many tiny ones are no cheaper than a few large ones.
pub const LIVE_EVENT_COST_BYTES: usize = 256;
/// The most live output that one command may send in a burst, in bytes.
pub const LIVE_BURST_BYTES: usize = 1024 * 1024;
/// The sustained rate of one command's live output, in bytes per millisecond (320 KB/s); the rest is skipped with a note,
/// since nobody can read it and the finished message leads to all of it.
pub const LIVE_RATE_BYTES_PER_MS: usize = 320;
/// How often a model may answer in one turn.
pub const TURN_ITERATIONS: usize = 100;
/// The most tools that run side by side, if they change nothing.
pub const TOOLS_AT_ONCE: usize = 8;
/// The most answers in progress in the whole server, unless configured otherwise; each waits only for its model and its tools.
/// An agent for one person needs about 3; a server has many users.
pub const TURNS_AT_ONCE: usize = 16;
/// The most answers that one user may have in progress on the server's own model; further ones wait, and do not block other
/// users.
pub const SHARED_TURNS: usize = 4;
/// The most answers in progress for a user on a model of their own.
pub const PERSONAL_TURNS: usize = 1;
/// A tool's result of more tokens than this is put aside.
pub const OFFLOAD_TOKENS: usize = 2_000;
/// A tool's result of more bytes than this is put aside, however few tokens it is.
pub const OFFLOAD_BYTES: usize = 10_240;
/// The number of lines that stay of a result that was put aside, at its beginning and at its end each.
pub const OFFLOAD_SHOWN_LINES: usize = 20;
/// The longest of those lines, in characters.
pub const OFFLOAD_LINE_CHARS: usize = 200;
/// How long a model's request for permission waits: 5 minutes. Then it is denied.
pub const APPROVAL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);
/// The most that a user is shown of a call that needs permission, in bytes; calls with more are not offered.
pub const APPROVAL_DETAIL_BYTES: usize = 32 * 1024;
/// Runs of at least this many blank lines are replaced by their number.
pub const FOLDED_BLANK_LINES: usize = 4;
/// Runs of at least this many blanks within a line are replaced by their number, in characters.
pub const FOLDED_BLANKS_CHARS: usize = 80;
/// The most of a model's reasoning that is shown, in bytes.
pub const REASONING_SHOWN_BYTES: usize = 32 * 1024;
/// The longest name of a tool that is shown, in characters.
pub const TOOL_NAME_CHARS: usize = 64;
/// The answers for which a deferred tool stays declared after it was found or called; the declaration ends only at a turn's
/// beginning, since the provider's cache holds the declarations.
pub const DEFERRED_ANSWERS: usize = 5;
/// The most removed tools that stay declared because a conversation names them.
pub const GONE_TOOLS: usize = 32;
/// How large a compiled regular expression of a model may be, in bytes.
pub const REGEX_BYTES: usize = 1024 * 1024;
/// The most of a call's subject that is shown to people, in characters.
pub const TOOL_HINT_CHARS: usize = 500;
/// How long a model's question waits for its user's answer: 30 minutes, since the user may be at lunch. Then it counts as
/// unanswered.
pub const QUESTION_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30 * 60);
/// The longest arguments of one call, in bytes: a large file in one piece.
pub const ARGUMENTS_BYTES: usize = 4 * 1024 * 1024;
/// The depth of sub-agents: those of a user's chat, theirs, and theirs again.
pub const SUB_AGENT_DEPTH: usize = 3;
/// Sub-agents of one answer that work at once; the others wait.
pub const SUB_AGENTS_AT_ONCE: usize = 3;
/// The most sub-agents that one turn of a user may call in all, including those of its sub-agents.
pub const SUB_AGENTS_PER_TURN: usize = 32;
/// How often the model of a sub-agent may answer in one call.
pub const SUB_AGENT_ITERATIONS: usize = 50;
/// The most of a sub-agent's last message that its parent gets, in bytes; long ones are put aside like any result.
pub const SUB_AGENT_RESULT_BYTES: usize = 256 * 1024;
/// The longest name of a sub-agent, in characters.
pub const SUB_AGENT_NAME_CHARS: usize = 64;
/// The most that is shown of a sub-agent's current activity, in characters.
pub const SUB_AGENT_DOING_CHARS: usize = 200;
/// The most skills, and the most roles, in a workspace's catalogue.
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
/// The largest command, in bytes; the rest is left out.
pub const COMMAND_BYTES: u64 = 64 * 1024;
/// The largest role, in bytes; the rest is left out.
pub const ROLE_BYTES: u64 = 32 * 1024;
/// The number of ASCII letters that make about one token.
pub const ASCII_PER_TOKEN: usize = 4;
/// The tokens of a message, or a call, in addition to its text.
pub const MESSAGE_TOKENS: usize = 4;
/// The largest image for a model, in bytes: the limit of providers.
pub const IMAGE_BYTES: usize = 5_000_000;
/// The most pixels of an image in either direction: the limit of providers.
pub const IMAGE_SIDE_PIXELS: u32 = 8_000;
/// The approximate tokens of an image.
pub const IMAGE_TOKENS: usize = 1_600;
/// The most lines of a file, a search or a folder in a summary of a long result.
pub const SUMMARY_ROWS: usize = 40;
/// The most lines mentioning errors in a summary of a command's output.
pub const SUMMARY_ERRORS: usize = 20;
/// The most of a result's first or last line that its replacement line shows, in characters.
pub const SUMMARY_LINE_CHARS: usize = 120;
/// From this share of the window on, in percent, lines replace old results.
pub const MASK_AT_PERCENT: usize = 60;
/// Groups of calls that keep their results: 12 up to 70 % of the window, 8 up to 80 %, 5 up to 90 %, 3 beyond.
pub const MASKED_GROUPS_KEPT: (usize, [(usize, usize); 3]) = (3, [(70, 12), (80, 8), (90, 5)]);
/// The files of this many last groups are being worked on: results about them are not masked.
pub const ACTIVE_GROUPS: usize = 3;
/// A result shorter than this is not masked, in characters.
pub const MASK_MIN_CHARS: usize = 300;
/// The most of a call's arguments that its result's replacement line shows, in characters.
pub const MASK_ARGUMENTS_CHARS: usize = 80;
/// A saving of less than this share of the window, in percent, is not worth masking yet: each time, the provider's cache
/// loses everything after it.
pub const MASK_SAVES_PERCENT: usize = 10;
/// From this share of the window on, in percent, a conversation is compressed.
pub const COMPRESS_AT_PERCENT: usize = 75;
/// Answers between two compressions.
pub const COMPRESS_COOL_DOWN_ROUNDS: usize = 5;
/// A compression that saves less than this, in percent, is not worth it.
pub const COMPRESS_SAVES_PERCENT: i64 = 5;
/// The share of a conversation's end that stays unchanged when it is compressed, in percent.
pub const COMPRESS_TAIL_PERCENT: usize = 20;
/// The most compressions in one turn because the window is really full.
pub const COMPRESS_FORCED_TIMES: usize = 3;
/// How long a summary may be, in tokens.
pub const SUMMARY_TOKENS: usize = 8_000;
/// The most of a user's message that is quoted after a summary, in characters.
pub const QUOTED_CHARS: usize = 4_000;
/// The most of each message that is summarised if all of them are too long, in characters.
pub const SHORTENED_CHARS: usize = 4_000;
/// The same of each result.
pub const SHORTENED_RESULT_CHARS: usize = 500;
/// An answer takes at most the window divided by this.
pub const REPLY_WINDOW_SHARE: u32 = 4;
/// The last messages of a conversation that its model cannot edit.
pub const EDIT_PROTECTED_MESSAGES: usize = 3;
/// The longest replacement text of an edit, in bytes.
pub const EDIT_REPLACEMENT_BYTES: usize = 10_240;
/// How often in one turn a hook may make a model continue that wants to end.
pub const STOPS_DENIED: usize = 8;
/// How long a turn that goes on after a restart of the server waits for its machine, in milliseconds: as long as a command does.
pub const MACHINE_PATIENCE_MS: u64 = 600_000;
/// How long that machine may be away until a notice says so, in milliseconds.
pub const MACHINE_NOTE_MS: u64 = 3_000;
/// The pause between two looks for that machine, in milliseconds.
pub const MACHINE_LOOK_MS: u64 = 200;
/// How wide the bar of `/context` is, in characters.
pub const METER_CELLS: usize = 30;
