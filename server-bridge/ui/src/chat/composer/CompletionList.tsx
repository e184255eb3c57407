import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Completion } from "./completion";
import type { Completions } from "./useCompletion";
import styles from "./composer.module.css";

const LABELS = { command: "complete.commands", argument: "complete.arguments", path: "complete.files" } as const;

interface Props {
  id: string;
  completions: Completions;
  onChoose: (completion: Completion) => void;
}

/** The completions at the caret; the composer's keys move the selection, and the focus stays there. */
export function CompletionList({ id, completions, onChoose }: Props) {
  const { t } = useTranslation("chat");
  const { wanted, found, marked } = completions;
  const current = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // Newer browsers return a promise, which is no clean-up.
    void current.current?.scrollIntoView({ block: "nearest" });
  }, [marked]);
  if (found.length === 0) return null;
  return (
    <ul id={id} className={styles.completions} role="listbox" aria-label={t(LABELS[wanted?.kind ?? "command"])}>
      {found.map((completion, at) => (
        <li
          key={completion.insert}
          id={`${id}-${at}`}
          ref={at === marked ? current : undefined}
          role="option"
          aria-selected={at === marked}
          // The field keeps the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(completion)}
        >
          <code>{completion.label}</code> <span className="hint">{completion.about}</span>
        </li>
      ))}
    </ul>
  );
}
