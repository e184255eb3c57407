import { type RefObject, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { copyText } from "../lib/copyText";
import { COPIED_NOTE_MS } from "../limits";

interface Props {
  /** The name of the copied text, for screen readers: "Copy command". */
  name: string;
  /** The element whose text is copied. */
  source: RefObject<HTMLElement | null>;
}

/** Copies an element's text, or selects it if the browser forbids copying (plain http). */
export function CopyButton({ name, source }: Props) {
  const { t } = useTranslation("frame");
  const [note, setNote] = useState<string | null>(null);
  useEffect(() => {
    if (note === null) return;
    const timer = setTimeout(() => setNote(null), COPIED_NOTE_MS);
    return () => clearTimeout(timer);
  }, [note]);

  const copy = async () => {
    const element = source.current;
    if (element === null) return;
    if (await copyText(element.textContent ?? "")) return setNote(t("copied"));
    window.getSelection()?.selectAllChildren(element);
    setNote(t("selected"));
  };
  return (
    <button type="button" aria-label={note ?? name} onClick={() => void copy()}>
      <span aria-live="polite">{note ?? t("copy")}</span>
    </button>
  );
}
