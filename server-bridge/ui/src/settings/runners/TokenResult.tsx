import { CircleCheck, LoaderCircle } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Secret } from "../../kit/Secret";
import { useTimeWords } from "../../lib/useTimeWords";
import { useAppState } from "../../state/context";
import type { RunnerToken } from "../../types";
import styles from "../settings.module.css";

interface Props {
  result: RunnerToken;
  /** True if the machine is not connected yet, so that the page shows when it connects. */
  waiting: boolean;
  /** The workspace that the command sets: empty for the directory in which it is pasted, null if it sets none. */
  workspace: string | null;
  onDone: () => void;
}

/** A new token, shown only once, and the command to paste on the machine. */
export function TokenResult({ result, waiting, workspace, onDone }: Props) {
  const { t } = useTranslation("settings");
  return (
    <div className={styles.tokenResult} role="group" aria-label={t("runners.tokenOf", { name: result.name })}>
      <TokenCommand result={result} workspace={workspace} />
      <footer>
        {waiting && <WaitingFor name={result.name} />}
        <button type="button" onClick={onDone}>
          {t("done")}
        </button>
      </footer>
    </div>
  );
}

/** The command to paste, the resulting workspace if known, and the time until which the command works. */
export function TokenCommand({ result, workspace }: { result: RunnerToken; workspace: string | null }) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  return (
    <>
      <p>{t("runners.runThis", { name: result.name })}</p>
      {workspace !== null && (
        <p>{workspace === "" ? t("runners.worksHere") : t("runners.worksIn", { directory: workspace })}</p>
      )}
      <Secret text={result.command} name={t("runners.copyCommand")} testId="runner-command" />
      <details>
        <summary>{t("runners.tokenAlone")}</summary>
        <Secret text={result.token} name={t("runners.copyToken")} testId="runner-token" />
      </details>
      {result.expires_at != null && <p className="hint">{t("runners.oneUse", { when: absolute(result.expires_at) })}</p>}
      {result.old_token_expires_at != null && (
        <p className="hint">{t("runners.oldToken", { when: absolute(result.old_token_expires_at) })}</p>
      )}
    </>
  );
}

/** A notice when a machine connects. */
export function WaitingFor({ name }: { name: string }) {
  const { t } = useTranslation("settings");
  const { runners } = useAppState("runners");
  const online = runners.some((runner) => runner.name === name && runner.online);
  return (
    <span role="status" className={online ? `${styles.waitingFor} ${styles.online}` : styles.waitingFor}>
      {online ? <CircleCheck aria-hidden="true" /> : <LoaderCircle aria-hidden="true" className={styles.turning} />}
      {t(online ? "runners.connected" : "runners.waiting", { name })}
    </span>
  );
}
