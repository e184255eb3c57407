import { useTranslation } from "react-i18next";
import { Secret } from "../../kit/Secret";
import { useLoaded } from "../../lib/useLoaded";
import { useAppState } from "../../state/context";
import { useRequests } from "../requests";
import styles from "../settings.module.css";

/** A notice if other machines cannot reach this server, with instructions for its administrator. */
export function ReachNotice() {
  const { t } = useTranslation("settings");
  const { me } = useAppState("me");
  const requests = useRequests();
  const about = useLoaded(["about"], requests.about);
  const reach = about.value?.reach ?? "network";
  if (reach === "network") return null;
  const { host, port } = window.location;
  const listen = `0.0.0.0:${port || "8080"}`;
  const ways = [
    { how: t("runners.reach.tls"), command: `sandbridge serve --listen ${listen} --tls-cert CERT.pem --tls-key KEY.pem` },
    { how: t("runners.reach.proxy"), command: "sandbridge serve --public-url https://NAME --trusted-proxy 127.0.0.1" },
    { how: t("runners.reach.trusted"), command: `sandbridge serve --listen ${listen}` },
  ];
  return (
    <section className={`${styles.card} ${styles.stack} ${styles.reach}`} aria-label={t("runners.reach.title")}>
      <p className="caution">{t(`runners.reach.${reach}`, { host })}</p>
      {reach === "loopback_only" && !me?.admin && <p>{t("runners.reach.ask")}</p>}
      {reach === "loopback_only" && me?.admin && (
        <details>
          <summary>{t("runners.reach.how")}</summary>
          <ul className={styles.plain}>
            {ways.map(({ how, command }) => (
              <li key={command}>
                <p>{how}</p>
                <Secret text={command} name={t("runners.reach.copy", { how })} />
              </li>
            ))}
          </ul>
          <p className="hint">{t("runners.reach.after")}</p>
        </details>
      )}
    </section>
  );
}
