/** What is being written, kept for each chat until this tab is closed. */
import { useCallback, useState } from "react";

const PREFIX = "sandbridge.draft.";

const keyOf = (chatId: string | null) => PREFIX + (chatId ?? "new");

export function useDraft(chatId: string | null): [string, (text: string) => void] {
  const key = keyOf(chatId);
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
