/** The text being written, kept for each chat until this tab is closed. */
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import { answerKey, draftKey, editKey, moveText } from "../../state/drafts";

export function useDraft(chatId: string | null): [string, (text: string) => void] {
  return useKeptText(draftKey(chatId));
}

/** An earlier message that is being edited. The chat's draft waits meanwhile. */
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

/** The answer being written to a question; its card is unmounted whenever it is out of view. */
export function useAnswer(messageId: number): [string, (text: string) => void] {
  return useKeptText(answerKey(messageId));
}

/** A field that stays mounted while its key changes takes its text along. */
function useKeptText(key: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState(() => window.sessionStorage.getItem(key) ?? "");
  const heldKey = useRef(key);
  // Within the commit, so that no keystroke falls between the two keys.
  useLayoutEffect(() => {
    if (heldKey.current === key) return;
    setDraft(moveText(heldKey.current, key, draft));
    heldKey.current = key;
  }, [key, draft]);
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
