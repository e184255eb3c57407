import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { COUNTDOWN_TICK_MS } from "../limits";
import { useAppState, useSession } from "../state/context";
import { classes } from "../lib/classes";
import styles from "./frame.module.css";

/** Urgent messages to the user: a lost connection, and notices of the server. */
export function Banners() {
  const { t } = useTranslation("frame");
  const { connection, banners, retry_at: retryAt } = useAppState("connection", "banners", "retry_at");
  const { actions, retry } = useSession();
  return (
    <div role="status" aria-live="polite">
      {connection === "offline" && (
        <div className={`${styles.banner} ${styles.warning}`} data-testid="offline-banner">
          <span>
            {t("offline")} <Countdown key={retryAt} retryAt={retryAt} />
          </span>
          <button type="button" className="quiet" onClick={retry}>
            {t("tryNow")}
          </button>
        </div>
      )}
      {banners.map((banner) => (
        <div key={banner.id} className={classes(styles.banner, styles[banner.level])} data-testid="banner">
          <span>{banner.text}</span>
          <button type="button" className="quiet" onClick={() => actions.dismissBanner(banner.id)}>
            {t("dismiss")}
          </button>
        </div>
      ))}
    </div>
  );
}

/** Seconds until the next attempt; hidden from screen readers, which would read out every change. */
function Countdown({ retryAt }: { retryAt: number | null }) {
  const { t } = useTranslation("frame");
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), COUNTDOWN_TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const seconds = retryAt === null ? 0 : Math.ceil((retryAt - now) / 1_000);
  return (
    <span className={styles.countdown} aria-hidden="true">
      {seconds > 0 ? t("retryIn", { count: seconds }) : t("retrying")}
    </span>
  );
}
