/** Every limit and waiting time of the web app, in one place; the unit is the name's last word. */

/** The time limit for a request. */
export const REQUEST_TIMEOUT_MS = 30_000;

/**
 * The same for a machine's download of its new program: longer than the server's own limit, so that the server reports the
 * timeout.
 */
export const UPDATE_TIMEOUT_MS = 660_000;

/** The first step of the reconnect back-off, which doubles up to {@link RECONNECT_CAP_MS}. */
export const RECONNECT_BASE_MS = 1_000;
export const RECONNECT_CAP_MS = 15_000;

/** A page that gets no `hello` event for this long loads its data without waiting for one. */
export const GREETING_WAIT_MS = 1_500;

/** A page hidden for longer than this may have a dead socket without knowing it, and reconnects when shown. */
export const HIDDEN_STALE_MS = 30_000;

/** The interval at which batches of events are applied, so that the page does not render for each line of a chatty command. */
export const EVENT_BATCH_MS = 40;

/** Messages requested at a time. */
export const MESSAGE_PAGE_COUNT = 200;

/** Live output kept on screen for one command. */
export const LIVE_OUTPUT_CHARS = 200_000;

/** Runs of one channel kept on screen for one command: bounds the DOM when stdout and stderr alternate. */
export const LIVE_SEGMENTS_COUNT = 1_000;

/** A run of output longer than this continues in a new element, so that old ones need no new layout. */
export const LIVE_SEGMENT_CHARS = 8_000;

/** Commands whose live output is kept at the same time, over all chats. */
export const LIVE_COMMANDS_COUNT = 32;

/** A sequence that is still open after this many characters is not treated as an escape sequence. */
export const ESCAPE_SEQUENCE_CHARS = 256;

/** Banners shown at a time; the oldest is dropped first. */
export const BANNERS_COUNT = 4;

/** How often "5 min ago" is updated. */
export const CLOCK_TICK_MS = 20_000;

/** How long a copy button shows "Copied". */
export const COPIED_NOTE_MS = 2_000;

/** A view scrolled no further than this from its end follows new content. */
export const STICK_TO_END_PX = 48;

/** Lines kept above the visible part of a terminal. */
export const TERMINAL_SCROLLBACK_LINES = 5_000;

/** Terminals open on one page. */
export const TERMINALS_COUNT = 12;

export const TERMINAL_FONT_MIN_PX = 9;
export const TERMINAL_FONT_MAX_PX = 28;
export const TERMINAL_FONT_DEFAULT_PX = 14;

/** The length after which a terminal's title, which its program chooses, is cut. */
export const TERMINAL_TITLE_CHARS = 60;

/** The limits for text that a program in a terminal asks to have copied, and for one paste. */
export const TERMINAL_COPY_CHARS = 100_000;
export const TERMINAL_PASTE_BYTES = 8 * 1024 * 1024;

/** The size of the pieces in which input is sent, and the limit on input sent but not acknowledged. */
export const TERMINAL_INPUT_PIECE_BYTES = 32 * 1024;
export const TERMINAL_INPUT_WINDOW_BYTES = 512 * 1024;

/** Output shown is acknowledged after this many bytes, or after this time. */
export const TERMINAL_ACK_BYTES = 32 * 1024;
export const TERMINAL_ACK_MS = 50;

/** How much earlier output a terminal replays, and how far it searches that output for a clean position to begin at. */
export const TERMINAL_REPLAY_BYTES = 256 * 1024;
export const TERMINAL_REPLAY_SEARCH_BYTES = 16 * 1024;

/** The shortest time between two sizes that a terminal reports to its program while it is being resized. */
export const TERMINAL_RESIZE_MS = 80;

/** The shortest time between two updates of the page when a terminal changes, such as its title. */
export const TERMINAL_NEWS_MS = 30;

/** How often the list of tasks is loaded while it is on screen, and how many ended ones are loaded. */
export const TASKS_REFRESH_MS = 3_000;
export const TASKS_ROWS_COUNT = 100;

/** The lengths of the beginning and the end of a task's output that are shown. */
export const TASK_HEAD_BYTES = 8 * 1024;
export const TASK_TAIL_BYTES = 32 * 1024;

/** Entries of one directory shown before "show more". */
export const DIRECTORY_ROWS_COUNT = 1_000;

/** Size of the pieces in which a file's text is shown, the largest size with colours, and the largest that can be edited. */
export const FILE_PIECE_BYTES = 512 * 1024;
export const FILE_HIGHLIGHT_CHARS = 200_000;
export const FILE_EDIT_BYTES = 2 * 1024 * 1024;

/** A picture larger than this is not shown. */
export const FILE_IMAGE_BYTES = 16 * 1024 * 1024;

/** The limit on unsaved text that is stored across a reload. */
export const DRAFTS_CHARS = 4_000_000;

/** Limits on simultaneous uploads, and on the files of one drop. */
export const UPLOADS_PARALLEL_COUNT = 2;
export const UPLOAD_FILES_COUNT = 2_000;

/** The newest characters of a running message that are kept as received, to be appended to a page loaded meanwhile. */
export const LIVE_TAIL_CHARS = 64_000;

/** A message that could not be sent is retried after this long, if the connection itself is up. */
export const SEND_AGAIN_MS = 5_000;

/** Limits on the number and the size of files in a message, the same as the server's. */
export const ATTACHMENTS_COUNT = 16;
export const ATTACHMENT_BYTES = 32 * 1024 * 1024;

/** The time limit for an upload. */
export const UPLOAD_TIMEOUT_MS = 10 * 60_000;

/** The pause in typing after which paths are looked up. */
export const COMPLETION_WAIT_MS = 120;

/** Completions requested and shown at a time. */
export const COMPLETIONS_COUNT = 20;

/** How often the elapsed time of an answer is updated. */
export const ELAPSED_TICK_MS = 1_000;

/** The lines of a compact tool's result that are shown at first. */
export const COMPACT_LINES_COUNT = 12;

/** How far below the visible messages others are kept drawn, in CSS pixels. */
export const DRAWN_BEYOND_PX = 900;

/** The limit on an answer to a question, in characters; the server counts bytes. */
export const ANSWER_CHARS = 16_000;

/** Characters of a new answer that are announced to a screen reader. */
export const ANNOUNCED_CHARS = 200;

/** Chats requested at a time. */
export const CHAT_PAGE_COUNT = 200;

/** A search waits this long for the next key before it asks the server. */
export const SEARCH_PAUSE_MS = 200;

/** The minimum length of a password, the same as the server's. */
export const PASSWORD_MIN_CHARS = 8;

/** The time limit for testing a model. */
export const MODEL_TEST_TIMEOUT_MS = 120_000;

/** A provider may take this long to list its models; the server gives up after 20 s. */
export const MODEL_LIST_TIMEOUT_MS = 30_000;

/** The time limit for the check of an MCP server; the server gives up after 60 s. */
export const MCP_CHECK_TIMEOUT_MS = 90_000;
/** The time limit for a hook in a trial: longer than the server's. */
export const HOOK_TRIAL_TIMEOUT_MS = 700_000;

/** The time limit for starting a login to an MCP server, and for completing one to it or to a channel's service; its provider may be slow. */
export const MCP_LOGIN_TIMEOUT_MS = 90_000;

/** The time limit for committing, exporting or importing a container. */
export const CONTAINER_TIMEOUT_MS = 1_800_000;

/** Entries of the audit trail requested at a time. */
export const AUDIT_PAGE_COUNT = 50;

/** The widths of the panel next to the chat, and one step of the arrow keys, in CSS pixels. */
export const DOCK_MIN_PX = 320;
export const DOCK_MAX_PX = 1_100;
export const DOCK_STEP_PX = 32;

/** How often the countdown to the next attempt to connect is updated. */
export const COUNTDOWN_TICK_MS = 500;

/** How many of the newest chats are examined for running work and questions, and how many of their last messages. */
export const CHATS_LOOKED_AT_COUNT = 8;
export const MESSAGES_LOOKED_AT_COUNT = 8;

/** Chats that the command palette offers for a query. */
export const PALETTE_CHATS_COUNT = 8;

/** A run of at least this many blank lines in a change is replaced by its length. */
export const FOLDED_BLANK_LINES = 4;

/** The largest number of simultaneous answers that an administrator may set. */
export const TURNS_AT_ONCE_MAX = 1_000;

/** The longest formula that is typeset; a longer one is shown as text. */
export const FORMULA_MAX_CHARS = 10_000;

/** The largest size that a formula may give to one of its parts, in em. */
export const FORMULA_MAX_EM = 40;

/** The limit on macro expansions in a formula. */
export const FORMULA_MAX_EXPANSIONS = 500;

/** The longest diagram that is drawn; of a longer one, only the source is shown. */
export const DIAGRAM_MAX_CHARS = 10_000;

/** The limit on edges in a diagram: drawing more would block the page. */
export const DIAGRAM_MAX_EDGES = 200;

/** The time limit for drawing a diagram, including loading the library, after which only its source is shown. */
export const DIAGRAM_WAIT_MS = 30_000;

/** The time limit for trying an HTTP tool, whose document may allow its service 120 s. */
export const HTTP_TRY_TIMEOUT_MS = 150_000;

/** The largest OpenAPI document that is sent, the same as the server's limit. */
export const OPENAPI_BYTES = 3 * 1024 * 1024;

/** The largest archive of a plugin that is sent: in base64 it fits into the server's limit for a request. */
export const PLUGIN_ARCHIVE_BYTES = 32 * 1024 * 1024;

/** The time limit for inspecting or installing a plugin: the server gives an archive 300 s to arrive, and each request to a source 60 s. */
export const PLUGIN_TIMEOUT_MS = 330_000;

/** The maximum number of files that the server lists when a plugin differs from the installed copy. */
export const PLUGIN_CHANGES_COUNT = 50;
/** How often a collection is reloaded while some of its documents wait to be indexed. */
export const KNOWLEDGE_POLL_MS = 2000;

/** How often the settings reload automations while one of them runs. */
export const AUTOMATION_LOOK_MS = 2_000;

/** How often the settings reload the states of channels. */
export const CHANNEL_LOOK_MS = 5_000;

/** How often the page looks at Docker while its image is not there yet. */
export const DOCKER_LOOK_MS = 2_000;
