import { useTranslation } from "react-i18next";
import marks from "../../kit/marks.module.css";
import { classes } from "../../lib/classes";
import { useLoaded } from "../../lib/useLoaded";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { plainly } from "../hookTexts";
import { Ready } from "../parts";
import { useRequests } from "../requests";
import type { AutomationRun } from "../types";
import styles from "../settings.module.css";

interface Props {
  name: string;
  /** A value that changes when there are new runs to load. */
  revision: unknown;
  act: (work: () => Promise<void>) => void;
}

const BADGES: Partial<Record<AutomationRun["outcome"], string>> = { done: marks.holds, failed: marks.lacks, refused: marks.lacks };

/** The newest runs of an automation. */
export function Runs({ name, revision, act }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["automations", name, "runs"], () => requests.automationRuns(name), revision);
  const again = (run: number) =>
    act(async () => {
      await requests.startAutomation(name, run);
      await loaded.reload();
    });
  return (
    <Ready loaded={loaded}>
      {(runs) => (
        <>
          {runs.length === 0 && <p className="hint">{t("automations.noRuns")}</p>}
          <ul className={styles.cards}>
            {runs.map((run) => (
              <Run key={run.id} run={run} onAgain={() => again(run.id)} />
            ))}
          </ul>
        </>
      )}
    </Ready>
  );
}

function Run({ run, onAgain }: { run: AutomationRun; onAgain: () => void }) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const when = relative(run.due_at, now);
  const outcome = t(`automations.outcomes.${run.outcome}`);
  return (
    <li>
      <span title={absolute(run.due_at)}>{when}</span>{" "}
      <span className={classes(marks.badge, BADGES[run.outcome])}>
        {run.outcome === "refused" && run.times > 1 ? t("automations.times", { outcome, count: run.times }) : outcome}
      </span>{" "}
      {run.outcome !== "refused" && run.times > 1 && <>{t("automations.arrived", { count: run.times })} </>}
      {run.chat_id !== null && (
        <a href={`#/chats/${run.chat_id}`} aria-label={t("automations.openRun", { when: absolute(run.due_at) })}>
          {t("automations.chat")}
        </a>
      )}{" "}
      {run.has_delivery && (
        <button type="button" aria-label={t("automations.runAgainName", { when: absolute(run.due_at) })} onClick={onAgain}>
          {t("automations.runAgain")}
        </button>
      )}
      {run.reason !== "" && <p className="hint">{plainly(run.reason)}</p>}
    </li>
  );
}
