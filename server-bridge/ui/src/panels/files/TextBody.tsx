import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { FILE_HIGHLIGHT_CHARS } from "../../limits";
import styles from "./files.module.css";

interface Props {
  name: string;
  text: string;
  /** The number of the first line; null if unknown. */
  firstLine: number | null;
}

/** Text with line numbers, and with colours once the highlighter is loaded. */
export function TextBody({ name, text, firstLine }: Props) {
  const { t } = useTranslation("panels");
  const coloured = useColoured(name, text);
  const numbers = useMemo(() => {
    if (firstLine === null) return null;
    const count = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    return Array.from({ length: Math.max(1, count) }, (_, index) => firstLine + index).join("\n");
  }, [text, firstLine]);
  if (text === "") return <p className={`hint ${styles.filesNone}`}>{t("file.noText")}</p>;
  return (
    <div className={styles.fileText} tabIndex={0} role="region" aria-label={t("file.textOf", { name })}>
      {numbers !== null && <pre aria-hidden="true">{numbers}</pre>}
      <pre data-testid="file-text">{coloured ?? text}</pre>
    </div>
  );
}

function useColoured(name: string, text: string): ReactNode {
  const [coloured, setColoured] = useState<{ text: string; shown: ReactNode } | null>(null);
  useEffect(() => {
    if (text.length > FILE_HIGHLIGHT_CHARS) return;
    let isWanted = true;
    const colour = async () => {
      const { highlighted, languageOf } = await import("./highlight");
      const language = languageOf(name);
      if (isWanted && language !== null) setColoured({ text, shown: highlighted(text, language) });
    };
    // If colouring fails, the text stays plain.
    colour().catch(() => undefined);
    return () => {
      isWanted = false;
    };
  }, [name, text]);
  return coloured?.text === text ? coloured.shown : null;
}
