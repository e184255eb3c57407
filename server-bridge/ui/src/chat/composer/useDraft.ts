/** What is being written, kept for each chat until this tab is closed. */
import { useCallback, useState } from "react";
import { draftKey } from "../../state/drafts";

export function useDraft(chatId: string | null): [string, (text: string) => void] {
  const key = draftKey(chatId);
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
