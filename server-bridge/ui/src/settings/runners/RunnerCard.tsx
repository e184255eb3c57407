import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useAction } from "../../lib/useAction";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { useActions } from "../../state/context";
import type { Runner, RunnerToken } from "../../types";
import { StateDot } from "../../where/StateDot";
import { Problem } from "../parts";
import { MachineFacts } from "./MachineFacts";
import { TokenResult } from "./TokenResult";
import { UpdateNotice } from "./UpdateNotice";
import styles from "../settings.module.css";
import marks from "../../kit/marks.module.css";

export function RunnerCard({ runner }: { runner: Runner }) {
  const { t } = useTranslation("settings");
  const actions = useActions();
  const [rotated, setRotated] = useState<RunnerToken | null>(null);
  const rotate = useAction(async () => setRotated(await actions.rotateRunner(runner.name)));
  const revoke = useAction(actions.revokeRunner);
  const activate = useActivate(runner.name);
  const refused = runner.online && runner.refused.length > 0;
  return (
    <li className={`${styles.card} ${styles.runner}`} data-testid="runner" data-name={runner.name} data-online={runner.online}>
      <header>
        <StateDot state={refused ? "refused" : runner.online ? "online" : "offline"} />
        <h4>{runner.name}</h4>
        {runner.active && <span className={`${marks.badge} ${marks.active}`}>{t("runners.active")}</span>}
        <Seen runner={runner} />
      </header>
      {refused && (
        <p className="problem" data-testid="refused">
          {t("runners.refused", { layers: runner.refused.join(", ") })}
        </p>
      )}
      <UpdateNotice runner={runner} onLine={() => void rotate.run()} />
      <MachineFacts runner={runner} />
      <div className={styles.actions}>
        {!runner.active && (
          <button type="button" className="quiet" disabled={activate.busy} onClick={() => void activate.run()}>
            {t("runners.activate")}
          </button>
        )}
        <button type="button" className="quiet" disabled={rotate.busy} onClick={() => void rotate.run()}>
          {t("runners.rotate")}
        </button>
        <ConfirmButton
          label={t("runners.revoke")}
          name={t("runners.revokeName", { name: runner.name })}
          question={t("runners.question", { name: runner.name })}
          confirmLabel={t("runners.revoke")}
          onConfirm={() => void revoke.run(runner.name)}
        />
      </div>
      <Problem text={rotate.error ?? revoke.error ?? activate.error} />
      {rotated !== null && <TokenResult result={rotated} waiting={false} workspace={null} onDone={() => setRotated(null)} />}
    </li>
  );
}

/** Makes a place the active one; the server's warnings become a banner. */
export function useActivate(place: string) {
  const actions = useActions();
  return useAction(async () => {
    const warning = await actions.setActiveRunner(place);
    if (warning !== null) actions.warn(warning);
  });
}

function Seen({ runner }: { runner: Runner }) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  if (runner.online) return <span className="hint">{t("runners.online")}</span>;
  if (runner.last_seen === null) return <span className="hint">{t("runners.never")}</span>;
  return (
    <span className="hint" title={absolute(runner.last_seen)}>
      {t("runners.seen", { when: relative(runner.last_seen, now) })}
    </span>
  );
}
