/** The text being written, kept for each chat until this tab is closed. */
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import { answerKey, draftKey, editKey, moveText } from "../../state/drafts";

export function useDraft(chatId: string | null): [string, (text: string) => void] {
  return useKeptText(draftKey(chatId));
}

/** An earlier message that is being edited. The chat's draft is kept meanwhile. */
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

/** The answer being written to a question; it is stored because the card is unmounted while it is out of view. */
export function useAnswer(messageId: number): [string, (text: string) => void] {
  return useKeptText(answerKey(messageId));
}

/** A stored text. If the key changes while the field stays mounted, the text moves to the new key. */
function useKeptText(key: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState(() => window.sessionStorage.getItem(key) ?? "");
  const heldKey = useRef(key);
  // A layout effect, so that no keystroke can be stored between the two keys.
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
