import { useTranslation } from "react-i18next";
import { useActions } from "../state/context";
import type { Pending } from "../state/outbox";
import styles from "./messages.module.css";

/** A message that the server has not acknowledged yet. */
export function PendingItem({ pending }: { pending: Pending }) {
  const { t } = useTranslation("chat");
  const { retrySend, discardSend } = useActions();
  const { status, error } = pending;
  return (
    <article className={`${styles.message} ${styles.user} ${styles.pending}`} aria-label={t("you")} data-testid="pending" data-status={status}>
      <p className={styles.text}>{pending.text}</p>
      <footer className={status === "sending" ? "hint" : "problem"}>
        <span role={status === "sending" ? undefined : "status"}>
          {status === "refused" ? t("pending.refused", { error: error ?? "" }) : t(`pending.${status}`)}
        </span>
        {status !== "sending" && (
          <>
            <button type="button" className="quiet" onClick={() => retrySend(pending.send_id)}>
              {t("pending.retry")}
            </button>
            <button type="button" className="quiet danger" onClick={() => discardSend(pending.send_id)}>
              {t("pending.discard")}
            </button>
          </>
        )}
      </footer>
    </article>
  );
}
