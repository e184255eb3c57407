import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { classes } from "../lib/classes";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useAppState } from "../state/context";
import { HookEditor } from "./HookEditor";
import { HookLog } from "./HookLog";
import { HookTrial } from "./HookTrial";
import { plainly, shortHash } from "./hookTexts";
import { Problem, Problems, Ready, Unseen } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { Hook } from "./types";

/** The hooks that apply to the user, with a button for each that waits for approval; the user's own hooks; and the newest runs. */
export default function Hooks() {
  const { t } = useTranslation("settings");
  const { settings } = useAppState("settings");
  const requests = useRequests();
  // Loaded again for another active machine, whose workspace has other hooks.
  const loaded = useLoaded(["hooks"], requests.hooks, settings?.active_runner);
  const approve = useAction(async (hash: string) => {
    await requests.approveHook(hash);
    await loaded.reload();
  });
  const revoke = useAction(async (hash: string) => {
    await requests.revokeHook(hash);
    await loaded.reload();
  });
  return (
    <>
      <section aria-labelledby="hooks-that-hold">
        <h4 id="hooks-that-hold">{t("hooks.title")}</h4>
        <p className="hint">{t("hooks.about")}</p>
        <Ready loaded={loaded}>
          {({ hooks, problems }) => (
            <>
              <Problems problems={problems} />
              {hooks.length === 0 && <p className={styles.nothing}>{t("hooks.none")}</p>}
              <ul className={styles.cards}>
                {hooks.map((hook, at) => (
                  <HookCard
                    key={`${hook.hash} ${hook.state} ${at}`}
                    hook={hook}
                    onApprove={() => void approve.run(hook.hash)}
                    onRevoke={() => void revoke.run(hook.hash)}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={approve.error ?? revoke.error} />
      </section>
      <HookEditor onSaved={loaded.replace} callbacks={loaded.value?.callbacks ?? []} />
      <HookLog />
    </>
  );
}

const isOfWorkspace = (hook: Hook) => hook.layer === "workspace" || hook.layer === "workspace-local";

const BADGES = { runs: marks.holds, waiting: marks.lacks, inert: undefined };

function HookCard({ hook, onApprove, onRevoke }: { hook: Hook; onApprove: () => void; onRevoke: () => void }) {
  const { t } = useTranslation("settings");
  const hash = shortHash(hook.hash);
  const action = plainly(hook.action);
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {hook.event} <span className={classes(marks.badge, BADGES[hook.state])}>{t(`hooks.states.${hook.state}`)}</span>
        </h4>
        <span className="hint">{t(`hooks.layers.${hook.layer}`)}</span>
      </header>
      {hook.matcher !== "" && (
        <p>
          {t("hooks.matcher")} <code className={styles.asWritten}>{plainly(hook.matcher)}</code>
        </p>
      )}
      <code className={styles.asWritten}>{action}</code>
      <p className={classes("hint", styles.asWritten)}>{t("hooks.source", { kind: hook.kind, origin: plainly(hook.origin), hash })}</p>
      {hook.files.length > 0 && (
        <p className={classes("hint", styles.asWritten)}>{t("trust.covers", { files: hook.files.map(plainly).join(", ") })}</p>
      )}
      {isOfWorkspace(hook) && <Unseen what={hook.unseen} />}
      {hook.state === "inert" && <p className="caution">{t("hooks.inert")}</p>}
      {hook.state === "runs" && <HookTrial hook={hook} />}
      {hook.state === "waiting" && (
        <ConfirmButton
          label={t("hooks.approve")}
          name={t("hooks.approveName", { hash })}
          question={t("hooks.approveQuestion", { event: hook.event })}
          detail={action}
          confirmLabel={t("hooks.approve")}
          onConfirm={onApprove}
        />
      )}
      {hook.state === "runs" && isOfWorkspace(hook) && (
        <ConfirmButton
          label={t("hooks.revoke")}
          name={t("hooks.revokeName", { hash })}
          question={t("hooks.revokeQuestion")}
          confirmLabel={t("hooks.revoke")}
          onConfirm={onRevoke}
        />
      )}
    </li>
  );
}
