import { type FormEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { groupAddress, showGroup } from "../lib/location";
import { randomId } from "../lib/randomId";
import { useAction } from "../lib/useAction";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Field, Problem, Ready } from "../settings/parts";
import { ChainEditor } from "./ChainEditor";
import { useGroupRequests } from "./requests";
import { merged, RUNS_AT_ONCE } from "./runs";
import { type Chain, type Group, includes, type Run } from "./types";
import { useOfGroup } from "./useGroups";
import styles from "./groups.module.css";

/** The chains of a group, and their runs. */
export function Chains({ group }: { group: Group }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const chains = useOfGroup(group.id, "chains", () => requests.chains(group.id));
  const runs = useOfGroup(group.id, "runs", () => requests.runs(group.id));
  const [edited, setEdited] = useState<string | null>(null);
  const remove = useAction(async (name: string) => {
    await requests.removeChain(group.id, name);
    await chains.reload();
  });
  const mayChange = includes(group.access, "editor");
  const saved = async (chain: Chain) => {
    setEdited(chain.name);
    await chains.reload();
  };
  return (
    <div className={styles.part}>
      <div className={styles.column}>
        <section aria-labelledby="chains">
          <h2 id="chains">{t("part.chains")}</h2>
          <p className="hint">{t("chainsAbout")}</p>
          <Problem text={remove.error} />
          <Ready loaded={chains}>
            {(all) => (
              <ul className={styles.cards}>
                {all.map((chain) => (
                  <li key={chain.name} className={styles.card} data-testid="chain">
                    <h3>{chain.name}</h3>
                    {edited === chain.name && mayChange ? (
                      <ChainEditor group={group} chain={chain} onSaved={saved} onDone={() => setEdited(null)} />
                    ) : (
                      <ol className={styles.outline}>
                        {chain.chain.steps?.map((step, at) => (
                          // Keyed by position, since one agent may have several steps.
                          <li key={at}>
                            <strong>@{step.agent}</strong> {step.instruction}
                            {step.gate && <span className={marks.badge}>{t("gate")}</span>}
                          </li>
                        ))}
                      </ol>
                    )}
                    {includes(group.access, "member") && <BeginRun group={group} chain={chain.name} />}
                    {mayChange && edited !== chain.name && (
                      <div className={styles.line}>
                        <button type="button" aria-label={t("editChain", { name: chain.name })} onClick={() => setEdited(chain.name)}>
                          {t("edit")}
                        </button>
                        <ConfirmButton
                          label={t("remove")}
                          name={t("removeName", { name: chain.name })}
                          question={t("removeChainQuestion", { name: chain.name })}
                          confirmLabel={t("remove")}
                          onConfirm={() => void remove.run(chain.name)}
                        />
                      </div>
                    )}
                  </li>
                ))}
              </ul>
            )}
          </Ready>
          {mayChange && (edited === "" ? <ChainEditor group={group} chain={null} onSaved={saved} onDone={() => setEdited(null)} /> : <button type="button" onClick={() => setEdited("")}>{t("newChain")}</button>)}
        </section>
        <section aria-labelledby="runs">
          <h2 id="runs">{t("runs")}</h2>
          <Ready loaded={runs}>{(newest) => <Runs group={group} newest={newest} />}</Ready>
        </section>
      </div>
    </div>
  );
}

function BeginRun({ group, chain }: { group: Group; chain: string }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [request, setRequest] = useState("");
  // A repeated request keeps its id, since the first attempt may have arrived.
  const sending = useRef({ request: "", id: "" });
  const begin = useAction(async () => {
    if (sending.current.request !== request) sending.current = { request, id: randomId() };
    const run = await requests.beginRun(group.id, chain, request, sending.current.id);
    setRequest("");
    showGroup(group.id, "chains", run.id);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void begin.run();
  };
  return (
    <form onSubmit={submit} className={styles.line} aria-label={t("runName", { name: chain })}>
      <Field label={t("request")}>{(id) => <textarea id={id} rows={1} value={request} onChange={(event) => setRequest(event.target.value)} />}</Field>
      <button type="submit" className="primary" disabled={begin.busy || request.trim() === ""} aria-label={t("runName", { name: chain })}>
        {t("run")}
      </button>
      <Problem text={begin.error} />
    </form>
  );
}

function Runs({ group, newest }: { group: Group; newest: Run[] }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [before, setBefore] = useState<Run[]>([]);
  const [isAll, setIsAll] = useState(newest.length < RUNS_AT_ONCE);
  const runs = merged(newest, before);
  const more = useAction(async () => {
    const next = await requests.runs(group.id, runs.at(-1)?.id);
    setBefore([...runs, ...next]);
    setIsAll(next.length < RUNS_AT_ONCE);
  });
  const { relative } = useTimeWords();
  const now = useNow();
  if (runs.length === 0) return <p className="hint">{t("noRuns")}</p>;
  return (
    <>
      <ul className={styles.rows}>
        {runs.map((run) => (
          <li key={run.id} data-testid="run" data-state={run.state}>
            <a
              href={groupAddress(group.id, "chains", run.id)}
              onClick={(event) => {
                event.preventDefault();
                showGroup(group.id, "chains", run.id);
              }}
            >
              {run.chain}: {run.request}
            </a>{" "}
            <span className={marks.badge}>{t(`runStates.${run.state}`)}</span>{" "}
            <span className="hint">
              {run.begun_by}, {relative(run.created_at, now)}
            </span>
          </li>
        ))}
      </ul>
      {!isAll && (
        <button type="button" disabled={more.busy} onClick={() => void more.run()}>
          {t("olderRuns")}
        </button>
      )}
      <Problem text={more.error} />
    </>
  );
}
