/** What is being written, kept for each chat until this tab is closed. */
import { useCallback, useMemo, useState } from "react";

const PREFIX = "sandbridge.draft.";
const EDIT_PREFIX = "sandbridge.edit.";
const ANSWER_PREFIX = "sandbridge.answer.";

const keyOf = (chatId: string | null) => PREFIX + (chatId ?? "new");

export function useDraft(chatId: string | null): [string, (text: string) => void] {
  return useKeptText(keyOf(chatId));
}

/** An earlier message that is being written anew. The chat's draft waits meanwhile. */
export interface Edit {
  id: number;
  text: string;
}

export function useEdit(chatId: string | null): [Edit | null, (edit: Edit | null) => void] {
  const [kept, keep] = useKeptText(EDIT_PREFIX + (chatId ?? "new"));
  const edit = useMemo(() => (kept === "" ? null : (JSON.parse(kept) as Edit)), [kept]);
  const write = useCallback((next: Edit | null) => keep(next === null ? "" : JSON.stringify(next)), [keep]);
  return [edit, write];
}

/** The answer that is being written to a question; its card is taken down whenever it is out of view. */
export function useAnswer(messageId: number): [string, (text: string) => void] {
  return useKeptText(`${ANSWER_PREFIX}${messageId}`);
}

function useKeptText(key: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState(() => window.sessionStorage.getItem(key) ?? "");
  const write = useCallback(
    (text: string) => {
      setDraft(text);
      if (text === "") window.sessionStorage.removeItem(key);
      else window.sessionStorage.setItem(key, text);
    },
    [key],
  );
  return [draft, write];
}

/** What was written before there was a chat goes on in the one that was begun for it. */
export function moveDraft(chatId: string): void {
  const draft = window.sessionStorage.getItem(keyOf(null));
  if (draft === null) return;
  window.sessionStorage.removeItem(keyOf(null));
  window.sessionStorage.setItem(keyOf(chatId), draft);
}
