import { useEffect, useRef } from "react";
import type { Completion } from "./completion";
import styles from "./composer.module.css";

interface Props {
  id: string;
  label: string;
  found: Completion[];
  marked: number;
  onChoose: (completion: Completion) => void;
}

/** The completions at the caret; the composer's keys move the selection, and the focus stays there. */
export function CompletionList({ id, label, found, marked, onChoose }: Props) {
  const current = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // `void`, since newer browsers return a promise, which is not a clean-up function.
    void current.current?.scrollIntoView({ block: "nearest" });
  }, [marked]);
  if (found.length === 0) return null;
  return (
    <ul id={id} className={styles.completions} role="listbox" aria-label={label}>
      {found.map((completion, at) => (
        <li
          key={completion.insert}
          id={`${id}-${at}`}
          ref={at === marked ? current : undefined}
          role="option"
          aria-selected={at === marked}
          // Keeps the focus in the text field.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(completion)}
        >
          <code>{completion.label}</code> <span className="hint">{completion.about}</span>
        </li>
      ))}
    </ul>
  );
}
