/** Where what is being written is kept, for each chat, until this tab is closed. */
const PREFIX = "sandbridge.draft.";
const EDIT_PREFIX = "sandbridge.edit.";
const ANSWER_PREFIX = "sandbridge.answer.";

export const draftKey = (chatId: string | null) => PREFIX + (chatId ?? "new");
/** Of an earlier message that is being written anew. */
export const editKey = (chatId: string | null) => EDIT_PREFIX + (chatId ?? "new");
/** Of the answer to a question. */
export const answerKey = (messageId: number) => `${ANSWER_PREFIX}${messageId}`;

/** What was written before there was a chat goes on in the one that was begun for it. */
export function moveDraft(chatId: string): void {
  const draft = window.sessionStorage.getItem(draftKey(null));
  if (draft === null) return;
  window.sessionStorage.removeItem(draftKey(null));
  window.sessionStorage.setItem(draftKey(chatId), draft);
}

/** Forgets everything, for whoever uses this tab next. */
export function clearDrafts(): void {
  const keys = Object.keys(window.sessionStorage).filter((key) => [PREFIX, EDIT_PREFIX, ANSWER_PREFIX].some((prefix) => key.startsWith(prefix)));
  for (const key of keys) window.sessionStorage.removeItem(key);
}
