import { Trans, useTranslation } from "react-i18next";
import { useAppState } from "../state/context";

export function EmptyState({ onConnectRunner }: { onConnectRunner: () => void }) {
  const { t } = useTranslation("chat");
  const { runners, settings } = useAppState();
  const code = [<code key="code" />];
  return (
    <section className="empty" aria-label={t("empty.label")}>
      <h1>{t("empty.title")}</h1>
      <p>
        <Trans t={t} i18nKey="empty.about" components={code} />
      </p>
      <p>
        <Trans t={t} i18nKey="empty.help" components={code} />
      </p>
      {settings !== null && runners.length === 0 && (
        <div className="call">
          <h2>{t("empty.noRunner")}</h2>
          <p>{t("empty.noRunnerAbout")}</p>
          <button type="button" className="primary" onClick={onConnectRunner}>
            {t("empty.connect")}
          </button>
        </div>
      )}
    </section>
  );
}
