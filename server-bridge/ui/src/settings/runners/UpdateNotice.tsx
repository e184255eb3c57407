import { CircleCheck, LoaderCircle } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useActions } from "../../state/context";
import type { Runner } from "../../types";
import { Problem } from "../parts";
import { type Asked, stageOf } from "./updateStage";
import styles from "../settings.module.css";

interface Props {
  runner: Runner;
  /** Shows the command that installs the newer runner, for a machine that cannot replace its program. */
  onLine: () => void;
}

/** A notice that a runner is older than the one this server provides, with the action to take and its progress. */
export function UpdateNotice({ runner, onLine }: Props) {
  const { t } = useTranslation("settings");
  const actions = useActions();
  const [asked, setAsked] = useState<Asked | null>(null);
  const update = useAction(async () => {
    setAsked({ version: null, running: 0, connectedAt: runner.connected_at });
    try {
      const { version, running } = await actions.updateRunner(runner.name);
      setAsked({ version, running, connectedAt: runner.connected_at });
    } catch (problem) {
      setAsked(null);
      throw problem;
    }
  });
  const stage = stageOf(asked, runner);
  const newer = runner.update?.version ?? "";
  const name = runner.name;
  if (stage === "current") return null;
  const isToBeAsked = stage === "older" || stage === "failed";
  return (
    <div className={styles.update} data-testid="update" data-stage={stage}>
      {isToBeAsked && <p>{t("runners.update.older", { version: runner.version ?? "", newer })}</p>}
      {isToBeAsked && runner.update_error !== null && (
        <p className="problem">{t("runners.update.failed", { error: runner.update_error })}</p>
      )}
      {isToBeAsked && runner.update?.can === false && (
        <>
          <p className="hint">{t("runners.update.cannot", { name, newer })}</p>
          <button type="button" onClick={onLine}>
            {t("runners.update.line")}
          </button>
        </>
      )}
      {isToBeAsked && runner.update?.can === true && (
        <button type="button" disabled={!runner.online} aria-label={t("runners.update.name", { name, newer })} onClick={() => void update.run()}>
          {t("runners.update.button")}
        </button>
      )}
      <span role="status">
        {stage === "downloading" && <Turning text={t("runners.update.downloading", { newer })} />}
        {stage === "waiting" && (
          <Turning
            text={
              asked?.running === 0
                ? t("runners.update.ready", { newer })
                : t("runners.update.waiting", { newer, count: asked?.running ?? 0 })
            }
          />
        )}
        {stage === "restarting" && <Turning text={t("runners.update.restarting", { newer })} />}
        {stage === "done" && (
          <span className={`${styles.waitingFor} ${styles.online}`}>
            <CircleCheck aria-hidden="true" />
            {t("runners.update.done", { version: runner.version ?? "" })}
          </span>
        )}
      </span>
      <Problem text={update.error} />
    </div>
  );
}

function Turning({ text }: { text: string }) {
  return (
    <span className={styles.waitingFor}>
      <LoaderCircle aria-hidden="true" className={styles.turning} />
      {text}
    </span>
  );
}
