//! Every limit and timeout of chats: commands, answers, and the texts for clients.

use std::time::Duration;

pub use store::limits::{MESSAGE_TEXT_MAX_BYTES, TITLE_MAX_CHARS};

/// How long a `!command` may run: 120 seconds.
pub const COMMAND_TIMEOUT_S: u64 = 120;
/// Limit on the commands that run at once in one chat.
pub const RUNNING_PER_CHAT: usize = 32;
/// How long a command from an earlier run of the server waits for its runner, in seconds. This is longer than a `!command` may run, and
/// as long as a runner is certain to keep a result.
pub const RECOVER_TIMEOUT_S: u64 = 600;
/// The pause before a runner that could not be asked about a command from an earlier run is asked again, in milliseconds.
pub const RECOVER_RETRY_MS: u64 = 1_000;
/// How long a command from an earlier run waits for its runner before its message states the reason, in milliseconds: most runners reconnect sooner.
pub const RECOVER_NOTE_MS: u64 = 3_000;
/// How long no output must arrive, in milliseconds, before output that is read again from its beginning counts as having caught up with the command.
pub const CATCH_UP_QUIET_MS: u64 = 300;
/// Limit on the time for which output that is read again is not shown live, in milliseconds.
pub const CATCH_UP_MAX_MS: u64 = 5_000;
/// Limit on a command's output that a message shows in full, in characters; of longer output, the message shows the beginning and the end.
pub const OUTPUT_WHOLE_MAX_CHARS: usize = 4_000;
/// How much of the beginning of long output is shown, in characters.
pub const OUTPUT_HEAD_CHARS: usize = 2_000;
/// How much of the end of long output is shown, in characters.
pub const OUTPUT_TAIL_CHARS: usize = OUTPUT_WHOLE_MAX_CHARS - OUTPUT_HEAD_CHARS;
/// The folder of the workspace where long output is kept in full, in one file per command.
pub const OUTPUT_DIRECTORY: &str = ".sandbridge/output";
/// The file that hides the folder of kept output from version control.
pub const OUTPUT_IGNORE_PATH: &str = ".sandbridge/.gitignore";
/// Limit on the number of files of kept output in a workspace; older files are removed when a new one is written.
pub const OUTPUTS_KEPT: usize = 100;
/// Limit on the number of a workspace's files of kept output that are considered when old ones are removed.
pub const OUTPUT_LISTING_MAX_FILES: usize = 1_000;
/// Limit on the time for removing old files of kept output after a command's end, in seconds.
pub const OUTPUT_TIDY_TIMEOUT_S: u64 = 30;
/// The mode of a file of kept output: accessible only to its owner.
pub const OUTPUT_FILE_MODE: u32 = 0o600;
/// How much of a command is repeated in its message's document, in bytes; the user's own message contains all of it.
pub const DOCUMENT_COMMAND_MAX_BYTES: usize = 4_096;
/// Limit on the live text that is kept for one message in progress, in bytes, for clients that connect later.
pub const LIVE_KEPT_BYTES: usize = 256 * 1024;
/// The memory that a piece of live text is assumed to take in addition to the text itself, in bytes.
pub const LIVE_PIECE_BYTES: usize = 96;
/// Limit on the live text that is kept for all messages together, in bytes.
pub const LIVE_KEPT_OF_ALL_BYTES: usize = 64 * 1024 * 1024;
/// The interval at which the output so far is stored while a command runs, in milliseconds: the stored part survives a killed server.
pub const SNAPSHOT_INTERVAL_MS: u64 = 5_000;
/// Limit on the consecutive answers that may begin without a message from the user, because a sub-agent in the background has ended.
/// Without it, agents could keep each other busy forever.
pub const TURNS_BY_THEMSELVES: u64 = 8;
/// Limit on the sub-agents in the background that are at work at once in a chat.
pub const SUB_AGENTS_IN_BACKGROUND: u64 = 3;
/// How long to wait for a stopped sub-agent to end, in milliseconds.
pub const SUB_AGENT_END_PATIENCE_MS: u64 = 30_000;
/// How long a terminal may take to take an action that an agent asks it for.
pub const TUI_PATIENCE: Duration = Duration::from_secs(5);
/// How long a terminal that has taken an action may take to report its end, after that.
pub const TUI_END_PATIENCE: Duration = Duration::from_secs(5);
/// Limit on the actions that one turn may ask its terminal for.
pub const TUI_CALLS_PER_TURN: usize = 20;
/// The longest text of a terminal's answer, in characters.
pub const TUI_ANSWER_CHARS: usize = 300;
/// Limit on the messages that can be queued in one chat while an answer is in progress.
pub const TURNS_QUEUED: usize = 32;
/// The maximum number of tokens of one answer, unless the model's settings say otherwise.
pub const REPLY_TOKENS: u32 = 16_384;
/// The size of a model's window in tokens, conversation and answer together, unless its settings say otherwise.
pub const WINDOW_TOKENS: u32 = 200_000;
/// The largest limit on concurrent answers that an administrator may set.
pub const TURNS_AT_ONCE_MAX: usize = 1_000;
/// The longest base prompt that is read from a file, in bytes.
pub const BASE_PROMPT_BYTES: usize = 32 * 1024;
/// The longest name of the file with the base prompt, in bytes.
pub const BASE_PROMPT_NAME_BYTES: usize = 128;
/// Limit on the stand-ins that are tried before a turn gives up.
pub const FALLBACKS: usize = 3;
/// The longest name of a model, in characters.
pub const MODEL_NAME_CHARS: usize = 200;
/// The smallest useful window, in tokens.
pub const WINDOW_TOKENS_MIN: u32 = 1_000;
/// Limit on the tokens that may be set for a model's window, answer or reasoning.
pub const TOKENS_MAX: u32 = 100_000_000;
/// The number of characters shown of a key's end.
pub const KEY_SHOWN_CHARS: usize = 4;
/// The minimum number of a key's characters that stay hidden; nothing is shown of a key that is too short for this.
pub const KEY_HIDDEN_CHARS: usize = 8;
/// Limit on the part of a request that is handed at once to a runner that relays it, in bytes.
pub const RELAY_PIECE_BYTES: usize = 1024 * 1024;
/// The timeout for trying a model: 45 seconds, short enough that a client still waits for the result.
pub const MODEL_TRIAL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(45);
/// Limit on a model's answer when it is tried, in tokens: some models reason before they write a word.
pub const MODEL_TRIAL_TOKENS: u32 = 1_024;
/// How much of a model's answer is shown when it is tried, in characters.
pub const MODEL_TRIAL_ANSWER_CHARS: usize = 80;
/// The timeout for a provider to list its models: 20 seconds, short enough for a person who is filling in a form.
pub const MODEL_LIST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
/// Limit on the number of models of a provider's list that are offered.
pub const MODELS_LISTED: usize = 2_000;
/// The number of days that `/usage` covers.
pub const USAGE_DAYS: i64 = 30;
/// The largest file of project instructions, in bytes; the rest is left out.
pub const INSTRUCTIONS_BYTES: u64 = 32 * 1024;
/// Limit on the number of chats in one listing.
pub const CHAT_PAGE_ROWS: u32 = 1000;
/// Limit on the number of chats in one search result.
pub const CHAT_SEARCH_ROWS: u32 = 100;
/// How much of a matching message is shown, in bytes.
pub const EXCERPT_BYTES: usize = 200;
/// The number of messages in one page, unless the client asks for another number.
pub const MESSAGE_PAGE_ROWS: u32 = 200;
/// Limit on the number of messages in one page.
pub const MESSAGE_PAGE_MAX_ROWS: u32 = 500;
/// The number of messages of a chat that are exported at once.
pub const EXPORT_PAGE_ROWS: u32 = 100;
/// The largest attached file, in bytes.
pub const ATTACHMENT_BYTES: u64 = 32 * 1024 * 1024;
/// Limit on the number of files attached to one message.
pub const ATTACHMENTS: usize = 16;
/// Limit on the number of attached images that a model is shown; of further ones, it gets only the paths.
pub const SHOWN_IMAGES: usize = 8;
/// Limit on the total size of the attached images that a model is shown, in bytes: as much as a provider accepts in one request, with room
/// for a conversation.
pub const SHOWN_IMAGES_BYTES: usize = 12_000_000;
/// The timeout for reading attached images from their machine; after that, the model gets only the paths.
pub const SHOWN_IMAGES_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
/// The longest title that a model gives a chat, in characters.
pub const MODEL_TITLE_CHARS: usize = 60;
/// How much of the question and of the answer the title is based on, in characters each.
pub const TITLE_SOURCE_CHARS: usize = 2_000;
/// Limit on the tokens for making a title.
pub const TITLE_TOKENS: u32 = 200;
/// The timeout for making a title.
pub const TITLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// The number of a chat's first messages that are read for a title.
pub const TITLE_MESSAGES: u32 = 50;
/// The longest name of an attached file, in bytes; a file system allows 255.
pub const ATTACHMENT_NAME_BYTES: usize = 200;
/// The longest name of an attachment's place, in bytes.
pub const ATTACHMENT_PLACE_BYTES: usize = 63;
/// The longest extension that is kept when a name is cut, including its dot, in bytes.
pub const ATTACHMENT_ENDING_BYTES: usize = 20;
/// The longest answer to a question, in bytes.
pub const ANSWER_BYTES: usize = 64 * 1024;
/// How long an undo waits for an answer that was stopped or is about to end, in milliseconds.
pub const REST_PATIENCE_MS: u64 = 3_000;
/// The interval at which an undo checks whether an answer has ended, in milliseconds.
pub const REST_LOOK_MS: u64 = 20;
/// Limit on the number of turns in the list of messages that can be taken back.
pub const TURNS_LISTED: u32 = 20;
/// How much of a message is repeated in a list, in characters.
pub const SAID_SHOWN_CHARS: usize = 80;
/// The largest file that is compared to determine whether it has changed, in bytes; a larger file counts as changed.
pub const RESTORE_LOOK_BYTES: u64 = 64 * 1024 * 1024;
/// Limit on the number of files that the answer to an undo names; the others are counted.
pub const FILES_NAMED: usize = 20;
/// How long a named sub-agent waits for its next call before its conversation is closed: 30 minutes.
pub const SUB_AGENT_IDLE_MS: i64 = 30 * 60 * 1_000;
/// Limit on the number of messages of a chat from which memories are proposed; the latest ones are read.
pub const MEMORISE_MESSAGES: u32 = 40;
/// How much of a chat's messages the model reads to propose memories, in characters.
pub const MEMORISE_CHARS: usize = 8_000;
/// The longest answer of the model that proposes memories, in tokens.
pub const MEMORISE_TOKENS: u32 = 800;
/// The timeout for the model that proposes memories.
pub const MEMORISE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
/// Limit on the number of memories that are proposed from one chat.
pub const MEMORISE_PROPOSALS: usize = 5;
/// Limit on the number of kept memories that the model is shown, to decide which of them a proposal makes untrue.
pub const MEMORISE_CANDIDATES: usize = 20;
/// How long a chat is idle before memories are proposed from it: 30 minutes.
pub const MEMORISE_IDLE_MS: i64 = 30 * 60 * 1000;
/// For how long after a chat's last change another attempt is made to propose memories from it if the model failed: 6 hours.
pub const MEMORISE_RETRY_MS: i64 = 6 * 60 * 60 * 1000;
/// Limit on the number of idle chats from which memories are proposed at once.
pub const MEMORISE_CHATS: u32 = 5;
/// The documents of a workspace that describe the agent, its user and its tools, in the order of the prompt.
pub const WORKSPACE_DOCUMENTS: [&str; 4] = ["IDENTITY.md", "SOUL.md", "USER.md", "TOOLS.md"];
/// How much of each of a workspace's documents is part of the prompt, in bytes.
pub const WORKSPACE_DOCUMENT_BYTES: u64 = 8 * 1024;
/// The longest instructions that a user may set for all of their chats, in bytes.
pub const OWN_INSTRUCTIONS_BYTES: usize = 32 * 1024;
/// The longest name of a language, in characters.
pub const LANGUAGE_CHARS: usize = 64;
/// The timeout for checking which files changed, in milliseconds.
pub const STALE_CHECK_TIMEOUT_MS: u64 = 2_000;
/// The largest file of the administrator's permission rules, in bytes.
pub const MANAGED_RULES_BYTES: u64 = 4 * 1024 * 1024;
/// The largest file of a workspace's permission rules, in bytes.
pub const WORKSPACE_RULES_BYTES: u64 = 256 * 1024;
/// Limit on the number of permission rule sets, of users and of chats, that are kept in memory.
pub const RULE_SETS_KEPT: usize = 1_000;
/// The longest call that the permission rules can be tried on, in bytes.
pub const RULE_TRIAL_BYTES: usize = 64 * 1024;
/// How much of a returned text is kept for a client that sends its message again, in bytes.
pub const SEND_INPUT_KEPT_BYTES: usize = 4 * 1024;
/// Limit on a model's answer to a hook, in tokens.
pub const JUDGE_TOKENS: u32 = 1_024;
/// Limit on the number of answers of a hook's agent, of which the last is its judgement.
pub const JUDGE_ROUNDS: usize = 8;
/// Limit on the number of tool calls that a hook's agent makes.
pub const JUDGE_CALLS: usize = 24;
/// How much of a tool's result a hook's agent gets, in bytes.
pub const JUDGE_RESULT_BYTES: usize = 16 * 1024;
/// How long a question waits in a chat that its user reaches from a messenger, where a person may answer much later.
pub const CHANNEL_PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// The number of hexadecimal digits of a sub-agent's chat id in the name of its worktree: 16 digits, which are 64 bits, are unique among a
/// user's sub-agents.
pub const SUB_AGENT_WORKTREE_DIGITS: usize = 16;
/// The interval at which the server checks whether its work for a user who now has another home has ended.
pub const END_CHECK: std::time::Duration = std::time::Duration::from_millis(50);
/// Limit on the number of choices of one setting that front ends show as buttons.
pub const CHOICES_MAX: usize = 8;
