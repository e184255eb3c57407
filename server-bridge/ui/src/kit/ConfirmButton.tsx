import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import styles from "./ConfirmButton.module.css";

interface Props {
  /** The text on the button. */
  label: string;
  /** The accessible name of the button where `label` alone says too little. */
  name?: string;
  question: string;
  /** The full text that the question is about, shown unchanged. */
  detail?: string;
  confirmLabel: string;
  onConfirm: () => void;
}

/** A button for an action that cannot be undone: it asks first, in place. */
export function ConfirmButton({ label, name, question, detail, confirmLabel, onConfirm }: Props) {
  const { t } = useTranslation("frame");
  const [asking, setAsking] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const asked = useRef(false);
  useEffect(() => {
    // Moves the focus to the question and back, because the focused button is removed each time.
    if (asking) keep.current?.focus();
    else if (asked.current) opener.current?.focus();
    asked.current = asking;
  }, [asking]);

  if (!asking) {
    return (
      <button type="button" className="quiet danger" ref={opener} aria-label={name} onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  }
  return (
    <div className={styles.confirm} role="group" aria-label={question}>
      <span>{question}</span>
      {detail !== undefined && <code className={styles.detail}>{detail}</code>}
      <button
        type="button"
        className="danger"
        onClick={() => {
          setAsking(false);
          onConfirm();
        }}
      >
        {confirmLabel}
      </button>
      <button type="button" className="quiet" ref={keep} onClick={() => setAsking(false)}>
        {t("keep")}
      </button>
    </div>
  );
}
