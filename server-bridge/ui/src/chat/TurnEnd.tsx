import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useActions, useAppState } from "../state/context";
import type { Message } from "../types";
import { askedWith } from "./items";
import { classes } from "../lib/classes";
import styles from "./messages.module.css";

/** The reason why an answer ended early, shown below everything it did; `message` is the answer's first message. */
export function TurnEnd({ message }: { message: Message }) {
  const { t } = useTranslation("chat");
  const reply = message.agent;
  if (reply?.kind !== "reply") return null;
  const { status, error } = reply;
  return (
    <article className={classes(styles.message, styles.assistant, message.undone === true && styles.undone)} aria-label={t("assistant")} data-testid="turn-end" data-status={status}>
      {(status === "cancelled" || status === "interrupted") && <p className="hint">{t(`turn.${status}`)}</p>}
      {error !== undefined && <Failure message={message} error={error} />}
    </article>
  );
}

function Failure({ message, error }: { message: Message; error: string }) {
  const { t } = useTranslation("chat");
  const { messages } = useAppState("messages");
  const again = useAction(useActions().sayAgain);
  const asked = askedWith(messages, message);
  return (
    <div className={styles.failure} role="alert">
      <p className="problem">{error}</p>
      {asked !== undefined && message.undone !== true && (
        <button type="button" disabled={again.busy} onClick={() => void again.run(asked)}>
          {t("turn.retry")}
        </button>
      )}
      {again.error !== null && <p className="problem">{again.error}</p>}
    </div>
  );
}
