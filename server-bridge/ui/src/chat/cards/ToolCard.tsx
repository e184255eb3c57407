import { ChevronRight } from "lucide-react";
import { createElement, useId } from "react";
import { useTranslation } from "react-i18next";
import { duration } from "../../lib/format";
import { useActions, useAppState } from "../../state/context";
import type { LiveOutput } from "../../state/output";
import { isAway, placeName } from "../../state/where";
import type { Agent, Edit, Message, SubAgent } from "../../types";
import { useFold } from "../folds";
import { TodoItems } from "../TodoItems";
import { Approval } from "./Approval";
import { CardView } from "./CardView";
import { LazyDiff } from "./LazyDiff";
import { OutputView } from "./OutputView";
import { Question } from "./Question";
import { endingText } from "./execSummary";
import { type ShellResult, shellResult } from "./shellResult";
import { iconOf, linesAtFirst, nameOf } from "./toolLook";
import { classes } from "../../lib/classes";
import styles from "./cards.module.css";
import marks from "../../kit/marks.module.css";

type Tool = Extract<Agent, { kind: "tool" }>;

interface Props {
  message: Message;
  tool: Tool;
  live: LiveOutput | undefined;
}

const TONE = { asking: "asking", running: "running", done: "good", failed: "bad", denied: "warn", cancelled: "warn" } as const;

/** One tool call: the tool, its subject, its place and its result; or the question of whether it may run. */
export function ToolCard({ message, tool, live }: Props) {
  const { t } = useTranslation("chat");
  const body = useId();
  const isOpen = tool.status === "asking" || tool.status === "running" || tool.status === "failed";
  const [open, toggle] = useFold(String(message.id), isOpen);
  const shown = open || tool.status === "asking";
  const result = tool.tool === "Shell" ? shellResult(message.text) : null;
  // A sent card is shown even while the call is folded.
  const sent = tool.data?.kind === "card" && tool.data.card.is_sent ? tool.data.card : null;
  const edit = tool.data?.kind === "edit" && tool.status !== "asking" ? tool.data : null;
  return (
    <div className={classes(styles.execCard, styles.tool, styles[TONE[tool.status]])} data-tone={TONE[tool.status]}>
      <button type="button" className={styles.head} data-testid="tool" aria-expanded={shown} aria-controls={body} onClick={toggle}>
        <ChevronRight className={marks.chevron} aria-hidden="true" />
        {createElement(iconOf(tool.tool), { "aria-hidden": true })}
        <strong title={tool.tool}>{nameOf(tool.tool, t)}</strong>
        <code>{tool.hint.split("\n")[0]}</code>
        {edit && <EditCount edit={edit} />}
        {tool.place !== null && (
          <span className={styles.chip} title={t("tool.where", { place: placeName(tool.place) })}>
            {placeName(tool.place)}
          </span>
        )}
        <span className={styles.status}>
          {tool.status === "running" && <Running place={tool.place} />}
          {tool.status !== "running" && tool.status !== "done" && <Outcome status={tool.status} ending={result?.ending ?? null} />}
          {tool.duration_ms !== undefined && ` ${duration(tool.duration_ms)}`}
        </span>
      </button>
      {tool.sub_agent && <Progress agent={tool.sub_agent} from={message.chat_id} />}
      {sent !== null && <CardView message={message} card={sent} />}
      <div id={body} hidden={!shown}>
        {shown && <Body message={message} tool={tool} live={live} edit={edit} result={result} />}
      </div>
    </div>
  );
}

/** The state of a call that is running or waiting for its machine. Only such calls subscribe to the machines. */
function Running({ place }: { place: string | null }) {
  const { t } = useTranslation("chat");
  const { runners } = useAppState("runners");
  return isAway(runners, place) ? t("tool.away", { place: placeName(place ?? "") }) : t("tool.running");
}

/** The state of a call that waits or did not succeed, with the ending of a failed command. */
function Outcome({ status, ending }: { status: Exclude<Tool["status"], "running" | "done">; ending: ShellResult["ending"] }) {
  const { t } = useTranslation("chat");
  if (status === "failed" && ending) return t("tool.failedWith", { ending: endingText(ending, t) });
  return t(`tool.${status}`);
}

/** The number of lines that a change adds and removes in the part that is shown. */
function EditCount({ edit }: { edit: Edit }) {
  const { t } = useTranslation("chat");
  const lines = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  const [before, after] = [lines(edit.old ?? ""), lines(edit.new)];
  let same = 0;
  while (same < before.length && same < after.length && before[same] === after[same]) same += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - same && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [added, removed] = [after.length - same - end, before.length - same - end];
  return (
    <span className={styles.editCount} role="img" aria-label={t("diff.summary", { added, removed })}>
      <span className={styles.added}>+{added}</span> <span className={styles.removed}>−{removed}</span>
    </span>
  );
}

/** A sub-agent's progress, and a link to its chat. */
function Progress({ agent, from }: { agent: SubAgent; from: string }) {
  const { t } = useTranslation("chat");
  const { enterChat, writeToAgent } = useActions();
  const { instance } = agent;
  const name = [agent.role, agent.instance].filter(Boolean).join(" ");
  return (
    <p className={styles.subAgent} data-testid="sub-agent">
      {name !== "" && <strong>{name}</strong>}
      {agent.background && <span>{t("agent.background")}</span>}
      <span>{t("agent.steps", { count: agent.steps })}</span>
      {agent.doing && <code>{agent.doing}</code>}
      <button type="button" className="quiet" onClick={() => enterChat(agent.chat_id, from)}>
        {t("agent.open")}
      </button>
      {instance && (
        <button type="button" className="quiet" onClick={() => writeToAgent(from, instance)}>
          {t("agent.write")}
        </button>
      )}
    </p>
  );
}

function Body({ message, tool, live, edit, result }: Props & { edit: Edit | null; result: ShellResult | null }) {
  const { t } = useTranslation("chat");
  const { data, status } = tool;
  if (status === "asking" && data?.kind === "question") {
    return <Question message={message} question={tool.detail ?? tool.hint} options={data.options} />;
  }
  if (status === "asking") return <Approval message={message} tool={tool} />;
  if (data?.kind === "todos" && data.items.length > 0) return <TodoItems items={data.items} />;
  if (data?.kind === "card" && !data.card.is_sent) return <CardView message={message} card={data.card} />;
  if (edit !== null) return <LazyDiff edit={edit} path={tool.hint} />;
  return (
    <>
      {tool.hint.includes("\n") && (
        <pre className={styles.command} role="group" tabIndex={0} aria-label={t("command")}>
          {tool.hint}
        </pre>
      )}
      <OutputView text={result?.output ?? message.text} live={live} lines={linesAtFirst(tool.tool)} />
      {result?.denied && <p className="problem">{t("exec.denied")}</p>}
    </>
  );
}
