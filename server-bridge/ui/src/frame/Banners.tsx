import { useTranslation } from "react-i18next";
import { useAppState, useSession } from "../state/context";

/** What the user should know at once: a lost connection, and notices of the server. */
export function Banners() {
  const { t } = useTranslation("frame");
  const { connection, banners } = useAppState();
  const { actions, retry } = useSession();
  return (
    <div className="banners" role="status" aria-live="polite">
      {connection === "offline" && (
        <div className="banner warning" data-testid="offline-banner">
          <span>{t("offline")}</span>
          <button type="button" className="quiet" onClick={retry}>
            {t("tryNow")}
          </button>
        </div>
      )}
      {banners.map((banner) => (
        <div key={banner.id} className={`banner ${banner.level}`} data-testid="banner">
          <span>{banner.text}</span>
          <button type="button" className="quiet" onClick={() => actions.dismissBanner(banner.id)}>
            {t("dismiss")}
          </button>
        </div>
      ))}
    </div>
  );
}
