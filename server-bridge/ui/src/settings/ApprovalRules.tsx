import { useTranslation } from "react-i18next";
import { nameOf } from "../chat/cards/toolLook";
import { ConfirmButton } from "../kit/ConfirmButton";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { ApprovalRule } from "./types";

/** The tool calls that are always allowed in some chat, each with a button that revokes the approval. */
export function ApprovalRules() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["approvals"], requests.approvalRules);
  const revoke = useAction(async (id: number) => {
    await requests.revokeApproval(id);
    await loaded.reload();
  });
  return (
    <section aria-labelledby="approval-rules">
      <h4 id="approval-rules">{t("approvals.always")}</h4>
      <p className="hint">{t("approvals.rules")}</p>
      <Ready loaded={loaded}>
        {(rules) => (
          <>
            {rules.length === 0 && <p className={styles.nothing}>{t("approvals.noRules")}</p>}
            <ul className={styles.cards}>
              {rules.map((rule) => (
                <Rule key={rule.id} rule={rule} onRevoke={() => void revoke.run(rule.id)} />
              ))}
            </ul>
          </>
        )}
      </Ready>
      <Problem text={revoke.error} />
    </section>
  );
}

function Rule({ rule, onRevoke }: { rule: ApprovalRule; onRevoke: () => void }) {
  const { t } = useTranslation("settings");
  const { t: inChat } = useTranslation("chat");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const tool = nameOf(rule.tool, inChat);
  const title = rule.chat_title || t("approvals.untitled");
  // The last part is the subject itself, such as the command; the scope describes the other parts.
  const parts = rule.subject.filter((part) => part !== "");
  const shown = rule.scope === "" ? parts : parts.slice(-1);
  return (
    <li className={styles.card}>
      <header>
        <h4>{tool}</h4>
        {rule.created_at > 0 && (
          <span className="hint" title={absolute(rule.created_at)}>
            {relative(rule.created_at, now)}
          </span>
        )}
      </header>
      {shown.map((part, at) => (
        <code key={at} className={styles.asWritten}>
          {part}
        </code>
      ))}
      {rule.scope !== "" && <p className="hint">{rule.scope}</p>}
      <p className="hint">{t("approvals.inChat", { title })}</p>
      <ConfirmButton
        label={t("approvals.revoke")}
        name={t("approvals.revokeName", { tool })}
        question={t("approvals.revokeQuestion", { tool, title })}
        confirmLabel={t("approvals.revoke")}
        onConfirm={onRevoke}
      />
    </li>
  );
}
