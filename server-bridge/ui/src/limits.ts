/** Every limit and waiting time of the web app, in one place; the unit is the name's last word. */

/** A request without an answer for this long has failed. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** First step of the reconnect back-off; it doubles up to {@link RECONNECT_CAP_MS}. */
export const RECONNECT_BASE_MS = 1_000;
export const RECONNECT_CAP_MS = 15_000;

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

/** Chats asked for at a time. */
export const CHAT_PAGE_COUNT = 200;

/** A search waits this long for the next key before it asks the server. */
export const SEARCH_PAUSE_MS = 200;

/** Asking a model for a word may take this long. */
export const MODEL_TEST_TIMEOUT_MS = 120_000;

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

/** Chats that the command palette offers for what is typed. */
export const PALETTE_CHATS_COUNT = 8;
