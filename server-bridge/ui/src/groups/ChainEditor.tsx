import { ArrowDown, ArrowUp, GripVertical, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "../settings/parts";
import { useAppState } from "../state/context";
import { BeginWith, type Beginning } from "./BeginWith";
import { BudgetFields } from "./BudgetFields";
import { ChainFile } from "./ChainFile";
import { fitted, fitting, handlesIn, strangers } from "./handles";
import { useGroupRequests } from "./requests";
import { emptyStep, keyed, type KeyedStep, minutesOf, moved, pathsOf, secondsOf } from "./steps";
import type { Chain, ChainPut, Group, Step } from "./types";
import styles from "./groups.module.css";

const RETRIES = [0, 1, 2, 3, 4, 5];

/** The name sent to check a chain that has no name yet. */
const UNNAMED = "chain";

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
  const asWritten = (list: Step[], limits: typeof budget, words: string): ChainPut => (shape === "list" ? { chain: { budget: limits, steps: list } } : { text: words });
  const written = () => asWritten(steps.map(({ step }) => step), budget, text);
  /** The contents to compare with, and how often the user chose a beginning: a new count re-creates the fields that keep their own text. */
  const [begun, setBegun] = useState(() => ({ as: JSON.stringify(written()), times: 0 }));
  const begin = (beginning: Beginning) => {
    const list = (beginning.chain.steps ?? []).map((step) => ({ ...step, agent: fitting(step.agent, agents) }));
    const [limits, words] = [beginning.chain.budget, fitted(beginning.text, agents)];
    setSteps(keyed(list));
    setBudget(limits);
    setText(words);
    setBegun({ as: JSON.stringify(asWritten(list, limits, words)), times: begun.times + 1 });
  };
  const isBlank = shape === "text" && text.trim() === "";
  const unknown = strangers(shape === "list" ? steps.map(({ step }) => step.agent) : handlesIn(text), agents);
  const save = useAction(async () => {
    await onSaved(await requests.putChain(group.id, name.trim(), written()));
    onDone();
  });
  const show = (checked: Chain) => {
    setSteps(keyed(checked.chain.steps ?? []));
    setBudget(checked.chain.budget);
    setText(checked.text);
  };
  const turn = useAction(async () => {
    show(await requests.putChain(group.id, name.trim() || UNNAMED, { ...written(), dry_run: true }));
    setShape(shape === "list" ? "text" : "list");
  });
  const change = (at: number, changed: Partial<Step>) => setSteps(steps.map((entry, place) => (place === at ? { ...entry, step: { ...entry.step, ...changed } } : entry)));
  const move = (from: number, to: number) => setSteps(moved(steps, from, to));
  return (
    <div className={styles.editor} role="group" aria-label={chain === null ? t("newChain") : t("editChain", { name: chain.name })}>
      {chain === null && (
        <div className={styles.line}>
          <Field label={t("chainName")}>{(id) => <input id={id} autoCapitalize="none" value={name} placeholder="story" onChange={(event) => setName(event.target.value)} />}</Field>
          <BeginWith group={group} isWritten={!isBlank && JSON.stringify(written()) !== begun.as} onBegin={begin} />
        </div>
      )}
      {shape === "text" ? (
        <>
          <Field label={t("asText")} hint={t("textHint")}>
            {(id, hint) => <textarea id={id} aria-describedby={hint} className={styles.chainText} rows={8} spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />}
          </Field>
          <ChainFile group={group.id} name={name.trim() || UNNAMED} agents={own} onRead={show} />
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
      {unknown.length > 0 && <p className="caution">{t("notInGroup", { handles: unknown.map((handle) => `@${handle}`).join(", ") })}</p>}
      <Problem text={save.error ?? turn.error} />
      <div className={styles.line}>
        <button type="button" className="primary" disabled={name.trim() === "" || save.busy} onClick={() => void save.run()}>
          {t("save")}
        </button>
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
