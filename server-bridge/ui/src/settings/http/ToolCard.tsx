import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { classes } from "../../lib/classes";
import { useAction } from "../../lib/useAction";
import { plainly, shortHash } from "../hookTexts";
import { Problem } from "../parts";
import { useRequests } from "../requests";
import type { HttpTool } from "../types";
import { Secrets } from "./Secrets";
import { TryTool } from "./TryTool";
import { useServer } from "./useServer";
import styles from "../settings.module.css";
import layout from "./http.module.css";

interface Props {
  tool: HttpTool;
  onChanged: () => Promise<void>;
  onEdit: () => void;
  onRemove: () => void;
}

const BADGES = { ready: marks.holds, waiting: marks.lacks, shadowed: undefined };

/** One tool: its request and destination, the names of its secrets, and a form to try it. */
export function ToolCard({ tool, onChanged, onEdit, onRemove }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const approve = useAction(async () => {
    await requests.approveHttpTool(tool.hash);
    await onChanged();
  });
  const revoke = useAction(async () => {
    await requests.revokeHttpTool(tool.hash);
    await onChanged();
  });
  const name = plainly(tool.name);
  const isOwn = tool.layer === "user";
  const target = `${plainly(tool.method)} ${useServer(tool)}`;
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {name} <span className={classes(marks.badge, BADGES[tool.state])}>{t(`http.states.${tool.state}`)}</span>
        </h4>
        <span className="hint">{t(`hooks.layers.${tool.layer}`)}</span>
      </header>
      <p className={styles.asWritten}>{plainly(tool.description)}</p>
      <p className={styles.asWritten}>
        <code>{target}</code>
      </p>
      <p className={classes("hint", styles.asWritten)}>
        {t("http.source", { name: plainly(tool.wire_name), origin: plainly(tool.origin), hash: shortHash(tool.hash) })}
      </p>
      {tool.state === "shadowed" && <p className="caution">{t("http.shadowed")}</p>}
      <details open={tool.state === "waiting"}>
        <summary>{t("http.document")}</summary>
        <pre className={layout.whole} tabIndex={0} aria-label={t("http.document")}>
          {plainly(tool.document)}
        </pre>
      </details>
      {isOwn && <Secrets tool={tool} onChanged={onChanged} />}
      {tool.state === "ready" && <TryTool tool={tool} />}
      <div className={styles.actions}>
        {tool.state === "waiting" && (
          <ConfirmButton
            label={t("http.approve")}
            name={t("http.approveName", { name })}
            question={t("http.approveQuestion")}
            detail={target}
            confirmLabel={t("http.approve")}
            onConfirm={() => void approve.run()}
          />
        )}
        {tool.state === "ready" && tool.layer === "workspace" && (
          <ConfirmButton
            label={t("http.revoke")}
            name={t("http.revokeName", { name })}
            question={t("http.revokeQuestion", { name })}
            confirmLabel={t("http.revoke")}
            onConfirm={() => void revoke.run()}
          />
        )}
        {isOwn && (
          <>
            <button type="button" className="quiet" aria-label={t("http.editName", { name })} onClick={onEdit}>
              {t("http.edit")}
            </button>
            <ConfirmButton
              label={t("remove")}
              name={t("http.removeName", { name })}
              question={t("http.removeQuestion", { name })}
              confirmLabel={t("remove")}
              onConfirm={onRemove}
            />
          </>
        )}
      </div>
      <Problem text={approve.error ?? revoke.error} />
    </li>
  );
}
