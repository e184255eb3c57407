//! Every limit and timeout of a turn, its conversation and its tools.

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
/// How often a model may answer in one turn.
pub const TURN_ITERATIONS: usize = 100;
/// Tools that run side by side, where they change nothing.
pub const TOOLS_AT_ONCE: usize = 8;
/// Answers that may be under way in the whole server, unless it is told otherwise; each waits for nobody but its model and its
/// tools. The reference lets 3 of them go on, for one person; a server has many.
pub const TURNS_AT_ONCE: usize = 16;
/// Answers that one user may have under way on the server's own model; more of theirs wait, and keep nobody else waiting.
pub const SHARED_TURNS: usize = 4;
/// Answers that a user with a model of their own may have under way.
pub const PERSONAL_TURNS: usize = 1;
/// A tool's result beyond so many tokens is put aside.
pub const OFFLOAD_TOKENS: usize = 2_000;
/// A tool's result beyond so many bytes is put aside, however few tokens it is.
pub const OFFLOAD_BYTES: usize = 10_240;
/// How much of what was put aside stays, at its beginning and at its end each, in lines.
pub const OFFLOAD_SHOWN_LINES: usize = 20;
/// The longest of those lines, in characters.
pub const OFFLOAD_LINE_CHARS: usize = 200;
/// How long a model waits to be allowed something: 5 minutes. Then it is denied.
pub const APPROVAL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);
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
/// Tools that a conversation names and that are gone, which are declared still.
pub const GONE_TOOLS: usize = 32;
/// How large a compiled regular expression of a model may be, in bytes.
pub const REGEX_BYTES: usize = 1024 * 1024;
/// How much of a call's subject is shown to people, in characters.
pub const TOOL_HINT_CHARS: usize = 500;
/// How long a model's question waits for its user's answer: 30 minutes, since somebody may be at lunch. Then nobody answered.
pub const QUESTION_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30 * 60);
/// The longest arguments of one call, in bytes: a large file in one piece.
pub const ARGUMENTS_BYTES: usize = 4 * 1024 * 1024;
/// How deep sub-agents go: those of a user's chat, theirs, and theirs again.
pub const SUB_AGENT_DEPTH: usize = 3;
/// Sub-agents of one answer that work at once; the others wait.
pub const SUB_AGENTS_AT_ONCE: usize = 3;
/// Sub-agents that one turn of a user's may call in all, those of its sub-agents included.
pub const SUB_AGENTS_PER_TURN: usize = 32;
/// How often the model of a sub-agent may answer in one call.
pub const SUB_AGENT_ITERATIONS: usize = 50;
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
/// How wide the bar of `/context` is, in characters.
pub const METER_CELLS: usize = 30;
