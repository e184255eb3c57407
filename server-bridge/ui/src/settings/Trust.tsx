import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { classes } from "../lib/classes";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { useAppState } from "../state/context";
import { plainly, shortHash } from "./hookTexts";
import { Problem, Problems, Ready, Unseen } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { TrustApproval, TrustItem } from "./types";

/** The items that the active runner's workspace defines, with their changes since the approval; and approvals in other workspaces. */
export default function Trust() {
  const { t } = useTranslation("settings");
  const { settings } = useAppState("settings");
  const requests = useRequests();
  // Loaded again for another active machine, which has another workspace.
  const loaded = useLoaded(["trust"], requests.trust, settings?.active_runner);
  const approve = useAction(async (hash: string) => {
    await requests.approveOfWorkspace(hash);
    await loaded.reload();
  });
  const revoke = useAction(async (hash: string) => {
    await requests.revokeOfWorkspace(hash);
    await loaded.reload();
  });
  const onRevoke = (hash: string) => void revoke.run(hash);
  return (
    <>
      <section aria-labelledby="trust-items">
        <h4 id="trust-items">{t("trust.title")}</h4>
        <p className="hint">{t("trust.about")}</p>
        <Ready loaded={loaded}>
          {({ workspace, items, problems }) => (
            <>
              {workspace !== null && (
                <p className={classes("hint", styles.asWritten)}>{t("trust.workspace", { workspace: plainly(workspace) })}</p>
              )}
              <Problems problems={problems} />
              {items.length === 0 && workspace !== null && <p className={styles.nothing}>{t("trust.none")}</p>}
              <ul className={styles.cards}>
                {items.map((item, at) => (
                  <ItemCard
                    key={`${item.hash} ${item.state} ${at}`}
                    item={item}
                    onApprove={() => void approve.run(item.hash)}
                    onRevoke={() => onRevoke(item.hash)}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={approve.error ?? revoke.error} />
      </section>
      <section aria-labelledby="trust-given">
        <h4 id="trust-given">{t("trust.given")}</h4>
        <Ready loaded={loaded}>
          {({ items, approvals }) => {
            const elsewhere = approvals.filter((approval) => !items.some((item) => item.hash === approval.hash));
            return (
              <>
                {elsewhere.length === 0 && <p className={styles.nothing}>{t("trust.noneGiven")}</p>}
                <ul className={styles.cards}>
                  {elsewhere.map((approval) => (
                    <Approval key={`${approval.kind} ${approval.hash}`} approval={approval} onRevoke={onRevoke} />
                  ))}
                </ul>
              </>
            );
          }}
        </Ready>
      </section>
    </>
  );
}

const BADGES = { approved: marks.holds, waiting: marks.lacks, refused: marks.lacks };

function ItemCard({ item, onApprove, onRevoke }: { item: TrustItem; onApprove: () => void; onRevoke: () => void }) {
  const { t } = useTranslation("settings");
  const [hash, name, action] = [shortHash(item.hash), plainly(item.name), plainly(item.action)];
  const files = item.files.map(plainly).join(", ");
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {t(`trust.kinds.${item.kind}`)} {name}{" "}
          <span className={classes(marks.badge, BADGES[item.state])}>{t(`trust.states.${item.state}`)}</span>
        </h4>
      </header>
      <code className={styles.asWritten}>{action}</code>
      <p className={classes("hint", styles.asWritten)}>{t("trust.source", { origin: plainly(item.origin), hash })}</p>
      {files !== "" && <p className={classes("hint", styles.asWritten)}>{t("trust.covers", { files })}</p>}
      <Unseen what={item.unseen} />
      <Change item={item} />
      {item.state === "waiting" && (
        <ConfirmButton
          label={t("trust.approve")}
          name={t("trust.approveName", { name, hash })}
          question={t("trust.approveQuestion", { name })}
          detail={action}
          confirmLabel={t("trust.approve")}
          onConfirm={onApprove}
        />
      )}
      {item.state === "approved" && <Revoke name={name} hash={hash} onRevoke={onRevoke} />}
    </li>
  );
}

function Change({ item: { change } }: { item: TrustItem }) {
  const { t } = useTranslation("settings");
  const { relative } = useTimeWords();
  const now = useNow();
  if (change === null) return null;
  return (
    <div className="caution">
      <p>{t("trust.changed", { ago: relative(change.approved_at, now) })}</p>
      {change.action !== null && (
        <p>
          {t("trust.was")} <code className={styles.asWritten}>{plainly(change.action)}</code>
        </p>
      )}
      {change.files.length > 0 && <p>{t("trust.changedFiles", { files: change.files.map(plainly).join(", ") })}</p>}
    </div>
  );
}

function Approval({ approval, onRevoke }: { approval: TrustApproval; onRevoke: (hash: string) => void }) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const name = plainly(approval.name);
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {t(`trust.kinds.${approval.kind}`)} {name}
        </h4>
        <span className="hint" title={absolute(approval.approved_at)}>
          {t("trust.approvedAt", { ago: relative(approval.approved_at, now) })}
        </span>
      </header>
      <code className={styles.asWritten}>{plainly(approval.action)}</code>
      <p className={classes("hint", styles.asWritten)}>
        {t("trust.source", { origin: plainly(approval.workspace), hash: shortHash(approval.hash) })}
      </p>
      <Revoke name={name} hash={shortHash(approval.hash)} onRevoke={() => onRevoke(approval.hash)} />
    </li>
  );
}

function Revoke({ name, hash, onRevoke }: { name: string; hash: string; onRevoke: () => void }) {
  const { t } = useTranslation("settings");
  return (
    <ConfirmButton
      label={t("trust.revoke")}
      name={t("trust.revokeName", { name, hash })}
      question={t("trust.revokeQuestion", { name })}
      confirmLabel={t("trust.revoke")}
      onConfirm={onRevoke}
    />
  );
}
