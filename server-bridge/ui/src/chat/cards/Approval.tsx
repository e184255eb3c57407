import { type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useActions } from "../../state/context";
import { placeName } from "../../state/where";
import type { Agent, Message } from "../../types";
import { AnswerProblem, isTooLate } from "./AnswerProblem";
import { ApprovalFacts } from "./ApprovalFacts";
import { LazyDiff } from "./LazyDiff";
import { actOf } from "./toolLook";
import styles from "./cards.module.css";

interface Props {
  message: Message;
  tool: Extract<Agent, { kind: "tool" }>;
}

/** Asks whether a tool may run: what it would do, and where. Keys answer while the card has the focus. */
export function Approval({ message, tool }: Props) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const answer = useAction(actions.approve);
  const isClosed = answer.busy || isTooLate(answer.problem);
  const mayBeKept = tool.data?.kind !== "once";
  const say = (allow: boolean, always: boolean) => {
    if (!isClosed) void answer.run(message.chat_id, message.id, allow, always);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "a") say(true, false);
    else if (event.key === "A" && mayBeKept) say(true, true);
    else if (event.key === "d" || event.key === "D") say(false, false);
    else return;
    event.preventDefault();
  };
  const { approval } = tool;
  // A call that does not run on a machine names none, even if its chat is bound to one.
  const place = approval === undefined ? tool.place : (approval.place?.machine ?? null);
  const title =
    place === null
      ? t("approval.titleNoPlace", { tool: actOf(tool.tool, t) })
      : t("approval.title", { tool: actOf(tool.tool, t), place: placeName(place) });
  const edit = tool.data?.kind === "edit" && !tool.data.is_cut ? tool.data : null;
  return (
    <div className={styles.approval} role="group" aria-label={title} tabIndex={-1} data-asking={message.id} onKeyDown={onKeyDown}>
      <p>
        <strong>{title}</strong>
      </p>
      {tool.asked_by !== undefined && <p className="hint">{t("approval.askedBy", { name: tool.asked_by })}</p>}
      {approval === undefined ? (
        <pre className={styles.output} role="group" tabIndex={0} aria-label={t("approval.detail")}>
          {tool.detail ?? tool.hint}
        </pre>
      ) : (
        <ApprovalFacts approval={approval} edit={edit} />
      )}
      {edit !== null && <LazyDiff edit={edit} path={approval?.target ?? tool.hint} />}
      {approval?.always !== undefined && <p className="hint">{t("approval.holds", { what: approval.always })}</p>}
      {approval?.only_once !== undefined && <p className="hint">{t("approval.onlyOnce", { why: approval.only_once })}</p>}
      <div className={styles.answers}>
        <button type="button" className="primary" aria-keyshortcuts="a" disabled={isClosed} onClick={() => say(true, false)}>
          {t("approval.allow")}
        </button>
        {mayBeKept && (
          <button type="button" aria-keyshortcuts="Shift+A" disabled={isClosed} onClick={() => say(true, true)}>
            {t("approval.always")}
          </button>
        )}
        <button type="button" className="danger" aria-keyshortcuts="d" disabled={isClosed} onClick={() => say(false, false)}>
          {t("approval.deny")}
        </button>
        <span className={`hint ${styles.keys}`}>{t(mayBeKept ? "approval.keys" : "approval.keysOnce")}</span>
      </div>
      <AnswerProblem problem={answer.problem} />
    </div>
  );
}
