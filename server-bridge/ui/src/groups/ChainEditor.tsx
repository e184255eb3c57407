import { ArrowDown, ArrowUp, GripVertical, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useSettled } from "../lib/useSettled";
import { Field, Problem } from "../settings/parts";
import { useAppState } from "../state/context";
import { BeginWith, type Beginning } from "./BeginWith";
import { BudgetFields } from "./BudgetFields";
import { ChainFile } from "./ChainFile";
import { useGroupRequests } from "./requests";
import { emptyStep, keyed, type KeyedStep, minutesOf, moved, pathsOf, secondsOf, strangers } from "./steps";
import type { Chain, ChainText, ChainTextAsk, Group, Step } from "./types";
import styles from "./groups.module.css";

const RETRIES = [0, 1, 2, 3, 4, 5];

/** How long nothing is typed before the server reads the text. */
const TEXT_PAUSE_MS = 300;

interface Props {
  group: Group;
  /** The chain to change; null for a new one. */
  chain: Chain | null;
  onSaved: (chain: Chain) => Promise<void>;
  onDone: () => void;
}

/** A chain as a list whose steps are moved by dragging or by buttons, or as text. The server reads and writes the text. */
export function ChainEditor({ group, chain, onSaved, onDone }: Props) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const { me } = useAppState("me");
  const agents = group.agents.map((agent) => agent.handle);
  const own = group.agents.filter((agent) => agent.owner === me?.name).map((agent) => agent.handle);
  const [name, setName] = useState(chain?.name ?? "");
  const [shape, setShape] = useState<"list" | "text">("list");
  const [steps, setSteps] = useState<KeyedStep[]>(() => keyed(chain?.chain.steps ?? [emptyStep(agents[0] ?? "")]));
  const [text, setText] = useState(chain?.text ?? "");
  const [dragged, setDragged] = useState<number | null>(null);
  const [budget, setBudget] = useState(chain?.chain.budget);
  const asWritten = (list: Step[], limits: typeof budget, words: string): ChainTextAsk => (shape === "list" ? { chain: { budget: limits, steps: list } } : { text: words });
  const written = () => asWritten(steps.map(({ step }) => step), budget, text);
  /** The contents to compare with, and how often the user chose a beginning: a new count re-creates the fields that keep their own text. */
  const [begun, setBegun] = useState(() => ({ as: JSON.stringify(written()), times: 0 }));
  const show = (read: ChainText) => {
    setSteps(keyed(read.chain.steps ?? []));
    setBudget(read.chain.budget);
    setText(read.text);
  };
  const begin = useAction(async (beginning: Beginning) => {
    const read = await requests.chainText(group.id, { text: beginning.text, fit: true });
    show(read);
    setBegun({ as: JSON.stringify(asWritten(read.chain.steps ?? [], read.chain.budget, read.text)), times: begun.times + 1 });
  });
  const isBlank = shape === "text" ? text.trim() === "" : steps.length === 0 && !budget;
  /** The chain as it was opened: a change of somebody else meanwhile is not overwritten. */
  const [changedAt] = useState(chain?.updated_at);
  const [tried, setTried] = useState("");
  const save = useAction(async (replaces: boolean) => {
    setTried(name.trim());
    await onSaved(await requests.putChain(group.id, name.trim(), { ...written(), changed_at: changedAt, replace: replaces }));
    onDone();
  });
  const isTaken = chain === null && tried === name.trim() && save.problem instanceof ApiError && save.problem.kind === "conflict";
  const turn = useAction(async () => {
    show(await requests.chainText(group.id, written()));
    setShape(shape === "list" ? "text" : "list");
  });
  const change = (at: number, changed: Partial<Step>) => setSteps(steps.map((entry, place) => (place === at ? { ...entry, step: { ...entry.step, ...changed } } : entry)));
  const move = (from: number, to: number) => setSteps(moved(steps, from, to));
  return (
    <div className={styles.editor} role="group" aria-label={chain === null ? t("newChain") : t("editChain", { name: chain.name })}>
      {chain === null && (
        <div className={styles.line}>
          <Field label={t("chainName")}>{(id) => <input id={id} autoCapitalize="none" value={name} placeholder="story" onChange={(event) => setName(event.target.value)} />}</Field>
          <BeginWith group={group} isWritten={!isBlank && JSON.stringify(written()) !== begun.as} onBegin={(beginning) => void begin.run(beginning)} />
        </div>
      )}
      {shape === "text" ? (
        <>
          <Field label={t("asText")} hint={t("textHint")}>
            {(id, hint) => <textarea id={id} aria-describedby={hint} className={styles.chainText} rows={8} spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />}
          </Field>
          <ChainFile group={group.id} agents={own} onRead={show} />
        </>
      ) : (
        <ol className={styles.steps}>
          {steps.map(({ key, step }, at) => (
            <li
              key={key}
              className={styles.card}
              data-testid="step"
              data-dragged={dragged === at || undefined}
              onDragOver={(event) => {
                if (dragged === null) return;
                event.preventDefault();
                if (dragged === at) return;
                move(dragged, at);
                setDragged(at);
              }}
              onDrop={(event) => event.preventDefault()}
            >
              <div className={styles.line}>
                <span
                  className={styles.grip}
                  draggable
                  title={t("drag")}
                  data-testid="grip"
                  onDragStart={(event) => {
                    event.dataTransfer.effectAllowed = "move";
                    event.dataTransfer.setData("text/plain", String(at));
                    setDragged(at);
                  }}
                  onDragEnd={() => setDragged(null)}
                >
                  <GripVertical aria-hidden="true" />
                </span>
                <strong>{t("step", { number: at + 1 })}</strong>
                <select aria-label={t("agentOf", { number: at + 1 })} value={step.agent} onChange={(event) => change(at, { agent: event.target.value })}>
                  {(agents.includes(step.agent) ? agents : [step.agent, ...agents]).map((handle) => (
                    <option key={handle} value={handle}>
                      @{handle}
                    </option>
                  ))}
                </select>
                <button type="button" className="quiet icon" aria-label={t("moveUp", { number: at + 1 })} disabled={at === 0} onClick={() => move(at, at - 1)}>
                  <ArrowUp aria-hidden="true" />
                </button>
                <button type="button" className="quiet icon" aria-label={t("moveDown", { number: at + 1 })} disabled={at === steps.length - 1} onClick={() => move(at, at + 1)}>
                  <ArrowDown aria-hidden="true" />
                </button>
                <button type="button" className="quiet icon" aria-label={t("removeStep", { number: at + 1 })} disabled={steps.length === 1} onClick={() => setSteps(steps.filter((_, place) => place !== at))}>
                  <X aria-hidden="true" />
                </button>
              </div>
              <textarea aria-label={t("instructionOf", { number: at + 1 })} placeholder={t("instruction")} rows={2} value={step.instruction} onChange={(event) => change(at, { instruction: event.target.value })} />
              <div className={styles.line}>
                <label>
                  <input type="checkbox" checked={step.gate ?? false} onChange={(event) => change(at, { gate: event.target.checked })} /> {t("gateHere")}
                </label>
                {at < steps.length - 1 && (
                  <label>
                    {t("outputs")}{" "}
                    <input placeholder="report/, data.csv" defaultValue={(step.outputs ?? []).join(", ")} onChange={(event) => change(at, { outputs: pathsOf(event.target.value) })} />
                  </label>
                )}
                <label>
                  {t("retries")}{" "}
                  <select value={step.retries ?? 0} onChange={(event) => change(at, { retries: Number(event.target.value) })}>
                    {RETRIES.map((count) => (
                      <option key={count}>{count}</option>
                    ))}
                  </select>
                </label>
                <label>
                  {t("limit")}{" "}
                  <input className={styles.minutes} inputMode="decimal" placeholder="30" defaultValue={minutesOf(step.limit_seconds)} onChange={(event) => change(at, { limit_seconds: secondsOf(event.target.value) })} />
                </label>
              </div>
            </li>
          ))}
        </ol>
      )}
      {shape === "list" && (
        <button type="button" onClick={() => setSteps([...steps, ...keyed([emptyStep(steps.at(-1)?.step.agent ?? agents[0] ?? "")])])}>
          {t("addStep")}
        </button>
      )}
      {shape === "list" && <BudgetFields key={begun.times} budget={budget} onChange={setBudget} />}
      {shape === "list" ? <Strangers handles={strangers(steps.map(({ step }) => step.agent), agents)} /> : <StrangersIn group={group.id} text={text} agents={agents} />}
      <Problem text={save.error ?? turn.error ?? begin.error} />
      <div className={styles.line}>
        <button type="button" className="primary" disabled={name.trim() === "" || save.busy} onClick={() => void save.run(false)}>
          {t("save")}
        </button>
        {isTaken && (
          <button type="button" className="danger" disabled={save.busy} onClick={() => void save.run(true)}>
            {t("replaceChain", { name: tried })}
          </button>
        )}
        <button type="button" disabled={turn.busy} onClick={() => void turn.run()}>
          {t(shape === "list" ? "showAsText" : "showAsList")}
        </button>
        <button type="button" className="quiet" onClick={onDone}>
          {t("cancel")}
        </button>
      </div>
    </div>
  );
}

/** The agents of steps that the group does not have. */
function Strangers({ handles }: { handles: readonly string[] }) {
  const { t } = useTranslation("groups");
  if (handles.length === 0) return null;
  return <p className="caution">{t("notInGroup", { handles: handles.map((handle) => `@${handle}`).join(", ") })}</p>;
}

/** The same of a chain's text, as the server reads it; nothing while it cannot be read. */
function StrangersIn({ group, text, agents }: { group: number; text: string; agents: readonly string[] }) {
  const requests = useGroupRequests();
  const settled = useSettled(text, TEXT_PAUSE_MS);
  const read = useLoaded(["chain-text", group, settled], () => requests.chainText(group, { text: settled }), agents.join(" "));
  return <Strangers handles={read.error === null ? (read.value?.strangers ?? []) : []} />;
}
