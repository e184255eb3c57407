import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { plainly } from "./hookTexts";
import { Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { HookRun } from "./types";

/** The newest runs of hooks, loaded when they are unfolded. */
export function HookLog() {
  const { t } = useTranslation("settings");
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("hooks.log")}</summary>
      {isOpen && <Runs />}
    </details>
  );
}

function Runs() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["hook-log"], requests.hookLog);
  return (
    <Ready loaded={loaded}>
      {(runs) => (
        <>
          {runs.length === 0 && <p className={styles.nothing}>{t("hooks.noRuns")}</p>}
          <ul className={styles.cards}>
            {runs.map((run, at) => (
              <Run key={`${run.at} ${run.hook} ${runs.length - at}`} run={run} />
            ))}
          </ul>
        </>
      )}
    </Ready>
  );
}

function Run({ run }: { run: HookRun }) {
  const { t } = useTranslation("settings");
  const { relative, absolute, figure } = useTimeWords();
  const now = useNow();
  return (
    <li className={styles.plain}>
      <span className="hint" title={absolute(run.at)}>
        {t("hooks.run", { event: run.event, when: relative(run.at, now), took: figure(run.took_ms) })}
      </span>
      <code className={styles.asWritten}>{plainly(run.action)}</code>
      <span className={styles.asWritten}>{plainly(run.outcome)}</span>
    </li>
  );
}
