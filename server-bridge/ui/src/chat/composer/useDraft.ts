/** What is being written, kept for each chat until this tab is closed. */
import { useCallback, useMemo, useState } from "react";
import { answerKey, draftKey, editKey } from "../../state/drafts";

export function useDraft(chatId: string | null): [string, (text: string) => void] {
  return useKeptText(draftKey(chatId));
}

/** An earlier message that is being written anew. The chat's draft waits meanwhile. */
export interface Edit {
  id: number;
  text: string;
}

export function useEdit(chatId: string | null): [Edit | null, (edit: Edit | null) => void] {
  const [kept, keep] = useKeptText(editKey(chatId));
  const edit = useMemo(() => (kept === "" ? null : (JSON.parse(kept) as Edit)), [kept]);
  const write = useCallback((next: Edit | null) => keep(next === null ? "" : JSON.stringify(next)), [keep]);
  return [edit, write];
}

/** The answer that is being written to a question; its card is taken down whenever it is out of view. */
export function useAnswer(messageId: number): [string, (text: string) => void] {
  return useKeptText(answerKey(messageId));
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
