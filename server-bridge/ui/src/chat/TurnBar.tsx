import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { duration } from "../lib/format";
import { useAction } from "../lib/useAction";
import { ELAPSED_TICK_MS } from "../limits";
import { useActions } from "../state/context";
import { placeName } from "../state/where";
import type { UnderWay } from "./items";
import { classes } from "../lib/classes";
import styles from "./chat.module.css";

interface Props {
  chatId: string;
  underWay: UnderWay;
  onShow: (messageId: number) => void;
}

/** The chat's current activity, its elapsed time, and a button to stop it. */
export function TurnBar({ chatId, underWay, onShow }: Props) {
  const { t } = useTranslation("chat");
  const cancel = useAction(useActions().cancel);
  const { kind, since, asking, away } = underWay;
  return (
    <div className={classes(styles.turnBar, styles[kind])} data-testid="turn-status">
      <span className={styles.pulse} aria-hidden="true" />
      <span>{away === null || asking !== null ? t(`turn.${kind}`) : t("turn.away", { place: placeName(away) })}</span>
      {kind !== "queued" && <Elapsed since={since} />}
      {asking !== null && (
        <button type="button" className="quiet" onClick={() => onShow(asking.id)}>
          {t("turn.show")}
        </button>
      )}
      {/* A command is stopped with the button on its card. */}
      {kind !== "command" && (
        <button type="button" className={styles.stop} disabled={cancel.busy} onClick={() => void cancel.run(chatId)}>
          {cancel.busy ? t("turn.cancelling") : t("turn.cancel")}
        </button>
      )}
      {cancel.error !== null && (
        <span className="problem" role="alert">
          {cancel.error}
        </span>
      )}
    </div>
  );
}

function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ELAPSED_TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  return <span className={`hint ${styles.elapsed}`}>{seconds < 60 ? `${seconds} s` : duration(seconds * 1_000)}</span>;
}
