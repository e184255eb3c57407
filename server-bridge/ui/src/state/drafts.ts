/** Where what is being written is kept, for each chat, until this tab is closed. */
const PREFIX = "sandbridge.draft.";
const EDIT_PREFIX = "sandbridge.edit.";
const ANSWER_PREFIX = "sandbridge.answer.";
/** Whose tab this is. */
const OWNER = "sandbridge.tab_of";

export const draftKey = (chatId: string | null) => PREFIX + (chatId ?? "new");
/** Of an earlier message that is being written anew. */
export const editKey = (chatId: string | null) => EDIT_PREFIX + (chatId ?? "new");
/** Of the answer to a question. */
export const answerKey = (messageId: number) => `${ANSWER_PREFIX}${messageId}`;

/** Moves a text that is being written to another key, beneath what was left there; returns what now stands there. */
export function moveText(from: string, to: string, text: string): string {
  const left = window.sessionStorage.getItem(to) ?? "";
  const joined = [left, text].filter((part) => part !== "").join("\n\n");
  window.sessionStorage.removeItem(from);
  if (joined !== "") window.sessionStorage.setItem(to, joined);
  return joined;
}

/** What was written before there was a chat goes on in the one that was begun for it; for when no field holds it any more. */
export function moveDraft(chatId: string): void {
  moveText(draftKey(null), draftKey(chatId), window.sessionStorage.getItem(draftKey(null)) ?? "");
}

/**
 * Makes this tab a user's. False where it was another one's, of whose drafts it has forgotten everything: whatever else the page
 * holds of them ends with it.
 */
export function takeTab(user: string): boolean {
  const owner = window.sessionStorage.getItem(OWNER);
  if (owner !== null && owner !== user) leaveTab();
  window.sessionStorage.setItem(OWNER, user);
  return owner === null || owner === user;
}

/** Forgets everything, for whoever uses this tab next. */
export function leaveTab(): void {
  window.sessionStorage.removeItem(OWNER);
  const keys = Object.keys(window.sessionStorage).filter((key) => [PREFIX, EDIT_PREFIX, ANSWER_PREFIX].some((prefix) => key.startsWith(prefix)));
  for (const key of keys) window.sessionStorage.removeItem(key);
}
