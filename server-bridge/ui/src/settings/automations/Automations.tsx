import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Secret } from "../../kit/Secret";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { AUTOMATION_LOOK_MS } from "../../limits";
import { Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import type { Automation, AutomationSaved } from "../types";
import { AddAutomation } from "./AddAutomation";
import { AutomationCard } from "./AutomationCard";
import styles from "../settings.module.css";

/** The user's schedules and triggers, and a form to add one. */
export default function Automations() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["automations"], requests.automations);
  const { reload } = loaded;
  const isAtWork = (loaded.value ?? []).some(({ last_run }) => last_run?.outcome === "waiting" || last_run?.outcome === "running");
  // The server sends no events about runs.
  useEffect(() => {
    if (!isAtWork) return;
    const looking = setInterval(() => void reload(), AUTOMATION_LOOK_MS);
    return () => clearInterval(looking);
  }, [isAtWork, reload]);
  const [edited, setEdited] = useState<{ automation: Automation; at: number } | null>(null);
  const [made, setMade] = useState<AutomationSaved | null>(null);
  const act = useAction(async (work: () => Promise<AutomationSaved | void>) => {
    const saved = await work();
    if (saved) setMade(saved);
    await loaded.reload();
  });
  return (
    <>
      <section className={styles.stack} aria-labelledby="automations">
        <h4 id="automations">{t("automations.title")}</h4>
        <p className="hint">{t("automations.about")}</p>
        {made !== null && <Made saved={made} onDone={() => setMade(null)} />}
        <Ready loaded={loaded}>
          {(all) => (
            <>
              {all.length === 0 && <p className={styles.nothing}>{t("automations.none")}</p>}
              <ul className={styles.cards}>
                {all.map((automation) => (
                  <AutomationCard
                    key={automation.name}
                    automation={automation}
                    act={(work) => void act.run(work)}
                    onEdit={() => setEdited((before) => ({ automation, at: (before?.at ?? 0) + 1 }))}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={act.error} />
      </section>
      <AddAutomation
        key={edited?.at}
        edited={edited?.automation ?? null}
        onSaved={async (saved) => {
          if (saved.delivery_path !== null || saved.secret !== null) setMade(saved);
          setEdited(null);
          await loaded.reload();
        }}
      />
    </>
  );
}

/** The address and the secret of a trigger, which are shown once. */
function Made({ saved, onDone }: { saved: AutomationSaved; onDone: () => void }) {
  const { t } = useTranslation("settings");
  const { name } = saved.automation;
  return (
    <div className={styles.tokenResult} role="group" aria-label={t("automations.made", { name })}>
      <p>{t("automations.shownOnce")}</p>
      {saved.delivery_path !== null && (
        <Secret text={`${window.location.origin}${saved.delivery_path}`} name={t("automations.copyAddress")} testId="delivery-address" />
      )}
      {saved.secret !== null && <Secret text={saved.secret} name={t("automations.copySecret")} testId="delivery-secret" />}
      <footer>
        <button type="button" onClick={onDone}>
          {t("done")}
        </button>
      </footer>
    </div>
  );
}
