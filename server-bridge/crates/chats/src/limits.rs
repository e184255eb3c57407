//! Every limit and timeout of chats: commands, answers, and what clients are shown.

pub use store::limits::{MESSAGE_TEXT_MAX_BYTES, TITLE_MAX_CHARS};

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
/// How often the output so far is stored while a command runs, in milliseconds: what a killed server still has.
pub const SNAPSHOT_INTERVAL_MS: u64 = 5_000;
/// Messages that may wait in one chat while an answer is under way.
pub const TURNS_QUEUED: usize = 32;
/// Tokens that a model may answer with at once, unless its settings say otherwise.
pub const REPLY_TOKENS: u32 = 16_384;
/// Tokens that a model's window holds, conversation and answer together, unless its settings say otherwise.
pub const WINDOW_TOKENS: u32 = 200_000;
/// The largest number of answers at once that an administrator may set.
pub const TURNS_AT_ONCE_MAX: usize = 1_000;
/// The longest base prompt that is read from a file, in bytes.
pub const BASE_PROMPT_BYTES: usize = 32 * 1024;
/// The longest name of that file, in bytes.
pub const BASE_PROMPT_NAME_BYTES: usize = 128;
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
/// The largest file of project instructions, in bytes; the rest is left out.
pub const INSTRUCTIONS_BYTES: u64 = 32 * 1024;
/// Chats in one listing.
pub const CHAT_PAGE_ROWS: u32 = 1000;
/// Chats in one listing of those that have some words.
pub const CHAT_SEARCH_ROWS: u32 = 100;
/// How much of a message is shown that has them, in bytes.
pub const EXCERPT_BYTES: usize = 200;
/// Messages in one page, unless the client asks for another number.
pub const MESSAGE_PAGE_ROWS: u32 = 200;
/// The most messages in one page.
pub const MESSAGE_PAGE_MAX_ROWS: u32 = 500;
/// Messages of a chat that are exported at once.
pub const EXPORT_PAGE_ROWS: u32 = 100;
/// The largest file that comes with a message, in bytes.
pub const ATTACHMENT_BYTES: u64 = 32 * 1024 * 1024;
/// The most files that come with one message.
pub const ATTACHMENTS: usize = 16;
/// The most images among them that a model is shown; of further ones it is told the paths.
pub const SHOWN_IMAGES: usize = 8;
/// How large those images are together at most, in bytes: what a provider takes in one request, with room for a conversation.
pub const SHOWN_IMAGES_BYTES: usize = 12_000_000;
/// How long their machine may take to hand them over; then the model is told the paths alone.
pub const SHOWN_IMAGES_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
/// The longest title that a model gives a chat, in characters.
pub const MODEL_TITLE_CHARS: usize = 60;
/// How much of the question and of the answer a title is made of, in characters each.
pub const TITLE_SOURCE_CHARS: usize = 2_000;
/// How many tokens a title may take.
pub const TITLE_TOKENS: u32 = 200;
/// How long a model may take for a title.
pub const TITLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// How many of a chat's first messages are looked at for a title.
pub const TITLE_MESSAGES: u32 = 50;
/// The longest name that such a file keeps, in bytes; a file system takes 255.
pub const ATTACHMENT_NAME_BYTES: usize = 200;
/// The longest name of the place that an attachment is on, in bytes.
pub const ATTACHMENT_PLACE_BYTES: usize = 63;
/// The longest ending that a name keeps where it is cut, its dot included, in bytes.
pub const ATTACHMENT_ENDING_BYTES: usize = 20;
/// The longest answer to a question, in bytes.
pub const ANSWER_BYTES: usize = 64 * 1024;
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
/// How long a sub-agent that has a name waits for its next call: 30 minutes. Then its conversation is closed.
pub const SUB_AGENT_IDLE_MS: i64 = 30 * 60 * 1_000;
/// How much of what is kept of a user a conversation is told, in bytes; what was written last comes first.
pub const MEMORY_PROMPT_BYTES: usize = 16 * 1024;
/// The longest instructions that a user gives for all of their chats, in bytes.
pub const OWN_INSTRUCTIONS_BYTES: usize = 32 * 1024;
/// The longest name of a language, in characters.
pub const LANGUAGE_CHARS: usize = 64;
/// How long it is looked whether files changed, in milliseconds.
pub const STALE_CHECK_TIMEOUT_MS: u64 = 2_000;
/// How much of a text that is given back is kept for a client that sends its message again, in bytes.
pub const SEND_INPUT_KEPT_BYTES: usize = 4 * 1024;
