import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Markdown } from "../chat/markdown/Markdown";
import marks from "../kit/marks.module.css";
import { classes } from "../lib/classes";
import { groupAddress, showGroup } from "../lib/location";
import { type Runnable, useAction } from "../lib/useAction";
import { useTimeWords } from "../lib/useTimeWords";
import { Problem, Ready } from "../settings/parts";
import { placeName } from "../state/where";
import { GateBox } from "./GateBox";
import { useGroupRequests } from "./requests";
import { type Gate, type GateReply, type Group, includes, type Run, type RunStep } from "./types";
import { useOfGroup } from "./useGroups";
import styles from "./groups.module.css";

interface Props {
  group: Group;
  number: number;
}

/** A run of a chain: its steps with state, machine, time and cost, the waiting gate, and a replay of each step's instruction and output. */
export function RunPanel({ group, number }: Props) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const loaded = useOfGroup(group.id, `run ${number}`, () => requests.run(group.id, number));
  const stop = useAction(async () => loaded.replace(await requests.stopRun(group.id, number)));
  const answer = useAction(async (gate: number, reply: GateReply, text: string | null) => {
    try {
      loaded.replace(await requests.answerGate(group.id, gate, reply, text));
    } catch (error) {
      // Somebody else may have answered: the run is loaded again, and the error names the person.
      await loaded.reload();
      throw error;
    }
  });
  return (
    <div className={styles.part}>
      <div className={styles.column}>
        <Ready loaded={loaded}>
          {(run) => (
            <>
              <header className={styles.line}>
                <h2>{t("runOf", { number: run.id, chain: run.chain })}</h2>
                <span className={classes(marks.badge, run.state === "done" && marks.holds)} data-testid="run-state" data-state={run.state}>
                  {t(`runStates.${run.state}`)}
                </span>
                {run.ended_at === null && includes(group.access, "member") && (
                  <button type="button" className="danger" disabled={stop.busy} onClick={() => void stop.run()}>
                    {t("stopRun")}
                  </button>
                )}
                <a
                  href={groupAddress(group.id, "chains")}
                  onClick={(event) => {
                    event.preventDefault();
                    showGroup(group.id, "chains");
                  }}
                >
                  {t("allRuns")}
                </a>
              </header>
              <p className={styles.request}>{run.request}</p>
              <p className="hint">
                <Spent run={run} />
              </p>
              <Problem text={stop.error ?? answer.error} />
              {run.gate !== null && includes(group.access, "member") && <OpenGate run={run} gate={run.gate} answer={answer} />}
              <Steps run={run} />
              <Replay run={run} />
            </>
          )}
        </Ready>
      </div>
    </div>
  );
}

function OpenGate({ run, gate, answer }: { run: Run; gate: Gate; answer: Runnable<[number, GateReply, string | null]> }) {
  return <GateBox key={gate.id} run={run} gate={gate} busy={answer.busy} onAnswer={(reply, text) => void answer.run(gate.id, reply, text)} />;
}

function Spent({ run }: { run: Run }) {
  const { t } = useTranslation("groups");
  const { figure, cost } = useTimeWords();
  const money = run.cost_micro_usd > 0 ? ` · ${cost(run.cost_micro_usd)}` : "";
  return t("spent", { person: run.begun_by, tokens: figure(run.tokens), money });
}

/** The steps in a row, or in a column on a narrow page. */
function Steps({ run }: { run: Run }) {
  const { t } = useTranslation("groups");
  return (
    <ol className={styles.runSteps} aria-label={t("steps")}>
      {run.steps.map((step, at) => (
        <li key={at} className={styles.runStep} data-testid="run-step" data-state={step.state}>
          <StepHead step={step} number={at + 1} />
          {step.error !== "" && <p className="caution">{step.error}</p>}
        </li>
      ))}
    </ol>
  );
}

function StepHead({ step, number }: { step: RunStep; number: number }) {
  const { t } = useTranslation("groups");
  const { figure, cost } = useTimeWords();
  const seconds = step.begun_at === null || step.ended_at === null ? null : Math.round((step.ended_at - step.begun_at) / 1000);
  const facts = [
    seconds === null ? "" : t("seconds", { count: seconds }),
    step.tokens > 0 ? t("tokens", { tokens: figure(step.tokens, true) }) : "",
    step.cost_micro_usd > 0 ? cost(step.cost_micro_usd) : "",
    step.received === null ? "" : t(`received.${step.received.state}`, { path: step.received.directory, from: placeName(step.received.from_runner) }),
    step.attempts > 1 ? t("attempts", { count: step.attempts }) : "",
  ].filter((fact) => fact !== "");
  return (
    <>
      <p>
        {number}. <strong>@{step.agent}</strong>
        {step.runner !== null && <span className="hint"> · {placeName(step.runner)}</span>}
      </p>
      <p>
        <span className={classes(marks.badge, step.state === "done" && marks.holds)}>{t(`stepStates.${step.state}`)}</span>
      </p>
      {facts.length > 0 && <p className="hint">{facts.join(" · ")}</p>}
    </>
  );
}

/** The instruction and the output of each step, one step at a time. */
function Replay({ run }: { run: Run }) {
  const { t } = useTranslation("groups");
  const [at, setAt] = useState<number | null>(null);
  if (at === null) {
    return (
      <button type="button" onClick={() => setAt(0)}>
        {t("replay")}
      </button>
    );
  }
  const step = run.steps[at];
  if (step === undefined) return null;
  return (
    <section className={styles.card} aria-label={t("replay")} data-testid="replay">
      <div className={styles.line}>
        <button type="button" disabled={at === 0} onClick={() => setAt(at - 1)}>
          {t("previous")}
        </button>
        <label>
          <span className="unseen">{t("replayStep")}</span>
          <input type="range" min={1} max={run.steps.length} value={at + 1} aria-valuetext={t("stepOf", { number: at + 1, count: run.steps.length })} onChange={(event) => setAt(Number(event.target.value) - 1)} />
        </label>
        <button type="button" disabled={at === run.steps.length - 1} onClick={() => setAt(at + 1)}>
          {t("next")}
        </button>
        <button type="button" className="quiet" onClick={() => setAt(null)}>
          {t("closeReplay")}
        </button>
      </div>
      <div aria-live="polite">
        <StepHead step={step} number={at + 1} />
        <h3>{t("wasAsked")}</h3>
        <p className={styles.persona}>{step.instruction}</p>
        <h3>{t("gave")}</h3>
        {step.output === "" ? <p className="hint">{t("nothingYet")}</p> : <Markdown text={step.output} topLevel={4} />}
      </div>
    </section>
  );
}
