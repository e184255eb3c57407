/** Stores drafts, for each chat, until this tab is closed. */
const PREFIX = "sandbridge.draft.";
const EDIT_PREFIX = "sandbridge.edit.";
const ANSWER_PREFIX = "sandbridge.answer.";
/** The key of the name of this tab's user. */
const OWNER = "sandbridge.tab_of";

export const draftKey = (chatId: string | null) => PREFIX + (chatId ?? "new");
/** The key for an earlier message that is being edited. */
export const editKey = (chatId: string | null) => EDIT_PREFIX + (chatId ?? "new");
/** The key for the answer to a question. */
export const answerKey = (messageId: number) => `${ANSWER_PREFIX}${messageId}`;

/** Moves a draft to another key, below the text left there; returns the resulting text. */
export function moveText(from: string, to: string, text: string): string {
  const left = window.sessionStorage.getItem(to) ?? "";
  const joined = [left, text].filter((part) => part !== "").join("\n\n");
  window.sessionStorage.removeItem(from);
  if (joined !== "") window.sessionStorage.setItem(to, joined);
  return joined;
}

/** Moves a text written before there was a chat to the chat created for it, if no field contains it any more. */
export function moveDraft(chatId: string): void {
  moveText(draftKey(null), draftKey(chatId), window.sessionStorage.getItem(draftKey(null)) ?? "");
}

/**
 * Assigns this tab to a user. False if it belonged to another user, whose drafts are now deleted; the caller must drop the rest of
 * that user's data.
 */
export function takeTab(user: string): boolean {
  const owner = window.sessionStorage.getItem(OWNER);
  if (owner !== null && owner !== user) leaveTab();
  window.sessionStorage.setItem(OWNER, user);
  return owner === null || owner === user;
}

/** Deletes everything, for the next user of this tab. */
export function leaveTab(): void {
  window.sessionStorage.removeItem(OWNER);
  const keys = Object.keys(window.sessionStorage).filter((key) => [PREFIX, EDIT_PREFIX, ANSWER_PREFIX].some((prefix) => key.startsWith(prefix)));
  for (const key of keys) window.sessionStorage.removeItem(key);
}
