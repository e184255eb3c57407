/** Every limit and waiting time of the web app, in one place; the unit is the name's last word. */

/** A request without an answer for this long has failed. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** The same for a machine's download of its new program: longer than the server gives it, so that it is the server who says so. */
export const UPDATE_TIMEOUT_MS = 660_000;

/** First step of the reconnect back-off; it doubles up to {@link RECONNECT_CAP_MS}. */
export const RECONNECT_BASE_MS = 1_000;
export const RECONNECT_CAP_MS = 15_000;

/** A page that the events do not greet for this long loads what there is without them. */
export const GREETING_WAIT_MS = 1_500;

/** A page hidden longer than this may hold a dead socket without knowing it, and connects anew when shown. */
export const HIDDEN_STALE_MS = 30_000;

/** Events are applied in batches this far apart, so that a chatty command does not render per line. */
export const EVENT_BATCH_MS = 40;

/** Messages asked for at a time. */
export const MESSAGE_PAGE_COUNT = 200;

/** Live output kept on screen for one command. */
export const LIVE_OUTPUT_CHARS = 200_000;

/** Runs of one channel kept on screen for one command: bounds the DOM when stdout and stderr alternate. */
export const LIVE_SEGMENTS_COUNT = 1_000;

/** A run of output longer than this goes on in a new element, so that old ones need no new layout. */
export const LIVE_SEGMENT_CHARS = 8_000;

/** Commands whose live output is kept at the same time, over all chats. */
export const LIVE_COMMANDS_COUNT = 32;

/** An escape sequence still open after this many characters is not one. */
export const ESCAPE_SEQUENCE_CHARS = 256;

/** Banners shown at a time; the oldest goes first. */
export const BANNERS_COUNT = 4;

/** How often "5 min ago" is computed anew. */
export const CLOCK_TICK_MS = 20_000;

/** How long a copy button says that it copied. */
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

/** A terminal's title, which the program in it chooses, is cut behind this. */
export const TERMINAL_TITLE_CHARS = 60;

/** What a program in a terminal may ask to have copied, and what may be pasted at once. */
export const TERMINAL_COPY_CHARS = 100_000;
export const TERMINAL_PASTE_BYTES = 8 * 1024 * 1024;

/** Input is sent in pieces of this size, and no further than the window ahead of what was taken. */
export const TERMINAL_INPUT_PIECE_BYTES = 32 * 1024;
export const TERMINAL_INPUT_WINDOW_BYTES = 512 * 1024;

/** Output shown is acknowledged after so much of it, or after so long. */
export const TERMINAL_ACK_BYTES = 32 * 1024;
export const TERMINAL_ACK_MS = 50;

/** How much of its earlier output a terminal shows again, and how far the first clean place in it is looked for. */
export const TERMINAL_REPLAY_BYTES = 256 * 1024;
export const TERMINAL_REPLAY_SEARCH_BYTES = 16 * 1024;

/** A terminal being dragged to another size tells the program so no more often. */
export const TERMINAL_RESIZE_MS = 80;

/** News of the terminals reach the page no more often. */
export const TERMINAL_NEWS_MS = 30;

/** How often the list of what runs is asked for while it is on screen, and how many ended ones are asked for. */
export const TASKS_REFRESH_MS = 3_000;
export const TASKS_ROWS_COUNT = 100;

/** Beginning and end of a task's output on screen. */
export const TASK_HEAD_BYTES = 8 * 1024;
export const TASK_TAIL_BYTES = 32 * 1024;

/** Entries of one directory shown before "show more". */
export const DIRECTORY_ROWS_COUNT = 1_000;

/** A file's text on screen, in pieces of this size; up to the second it is coloured, up to the third edited. */
export const FILE_PIECE_BYTES = 512 * 1024;
export const FILE_HIGHLIGHT_CHARS = 200_000;
export const FILE_EDIT_BYTES = 2 * 1024 * 1024;

/** A picture larger than this is not shown. */
export const FILE_IMAGE_BYTES = 16 * 1024 * 1024;

/** Unsaved text kept over a reload. */
export const DRAFTS_CHARS = 4_000_000;

/** Uploads under way at the same time, and the files of one drop. */
export const UPLOADS_PARALLEL_COUNT = 2;
export const UPLOAD_FILES_COUNT = 2_000;

/** Newest characters of a message under way that are kept as they came, to be put behind a page that was read meanwhile. */
export const LIVE_TAIL_CHARS = 64_000;

/** A message that could not be sent is tried again after this long, where the connection itself stands. */
export const SEND_AGAIN_MS = 5_000;

/** Files in one message, and the size of one: the server's own bounds. */
export const ATTACHMENTS_COUNT = 16;
export const ATTACHMENT_BYTES = 32 * 1024 * 1024;

/** An upload without an answer for this long has failed. */
export const UPLOAD_TIMEOUT_MS = 10 * 60_000;

/** How long typing rests before paths are looked up. */
export const COMPLETION_WAIT_MS = 120;

/** Completions asked for and shown at a time. */
export const COMPLETIONS_COUNT = 20;

/** How often the elapsed time of an answer is shown anew. */
export const ELAPSED_TICK_MS = 1_000;

/** Output of a finished tool folds behind its head; beyond so many lines a compact one shows only its first ones. */
export const COMPACT_LINES_COUNT = 12;

/** Pixels below the visible messages that are kept drawn. */
export const DRAWN_BEYOND_PX = 900;

/** As many characters as an answer to a question may have; the server counts bytes. */
export const ANSWER_CHARS = 16_000;

/** Characters of an answer that a screen reader is told when it has come. */
export const ANNOUNCED_CHARS = 200;

/** Chats asked for at a time. */
export const CHAT_PAGE_COUNT = 200;

/** A search waits this long for the next key before it asks the server. */
export const SEARCH_PAUSE_MS = 200;

/** Characters of a password at least: the server's own bound. */
export const PASSWORD_MIN_CHARS = 8;

/** Asking a model for a word may take this long. */
export const MODEL_TEST_TIMEOUT_MS = 120_000;

/** A provider may take this long to list its models; the server gives up after 20 s. */
export const MODEL_LIST_TIMEOUT_MS = 30_000;

/** Keeping or moving a whole container may take this long. */
export const CONTAINER_TIMEOUT_MS = 1_800_000;

/** Entries of the audit trail asked for at a time. */
export const AUDIT_PAGE_COUNT = 50;

/** How wide the panel beside the chat can be, in CSS pixels; and one step of the arrow keys. */
export const DOCK_MIN_PX = 320;
export const DOCK_MAX_PX = 1_100;
export const DOCK_STEP_PX = 32;

/** How often the countdown to the next attempt to connect moves. */
export const COUNTDOWN_TICK_MS = 500;

/** So many of the newest chats are looked at for what runs in them or asks something, by so many of their last messages. */
export const CHATS_LOOKED_AT_COUNT = 8;
export const MESSAGES_LOOKED_AT_COUNT = 8;

/** Chats that the command palette offers for what is typed. */
export const PALETTE_CHATS_COUNT = 8;

/** From how many blank lines in a row on a change shows their number instead. */
export const FOLDED_BLANK_LINES = 4;

/** The largest number of answers at once that an administrator may set. */
export const TURNS_AT_ONCE_MAX = 1_000;

/** The longest formula that is set; what is longer stays as it is written. */
export const FORMULA_MAX_CHARS = 10_000;

/** The largest size that a formula may give to anything, in em. */
export const FORMULA_MAX_EM = 40;

/** The most expansions of macros in a formula. */
export const FORMULA_MAX_EXPANSIONS = 500;

/** The longest diagram that is drawn; what is longer stays as it is written. */
export const DIAGRAM_MAX_CHARS = 10_000;

/** The most lines between the parts of a diagram: drawing more would hold up the page. */
export const DIAGRAM_MAX_EDGES = 200;

/** So long may the drawing of a diagram take, its library included, until its source is all that is shown. */
export const DIAGRAM_WAIT_MS = 30_000;
