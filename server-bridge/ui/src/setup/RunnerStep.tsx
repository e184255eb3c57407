import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { nameProblem } from "../lib/names";
import { showWorkbench } from "../lib/location";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "../settings/parts";
import { TokenCommand, WaitingFor } from "../settings/runners/TokenResult";
import { useActions, useAppState } from "../state/context";
import type { RunnerToken } from "../types";

/** What a new user sees run first: harmless, everywhere, and it tells where one is. */
const FIRST_COMMAND = "!uname -a && pwd && ls";

/** The first machine: a name, the line to paste there, and the moment it connects. */
export function RunnerStep() {
  const { t } = useTranslation("setup");
  const { runners, settings } = useAppState();
  const actions = useActions();
  const [added, setAdded] = useState<RunnerToken | null>(null);
  const connected = runners.find((runner) => runner.online);
  const docker = settings?.choices.find((choice) => choice.kind === "docker" && choice.available);
  const start = useAction(async (place: string) => {
    await actions.setActiveRunner(place);
    await actions.newChat();
    await actions.send(FIRST_COMMAND);
    showWorkbench();
  });
  return (
    <>
      {added === null ? (
        <NameForm onAdded={setAdded} />
      ) : (
        <div className="card stack">
          <TokenCommand result={added} />
          <WaitingFor name={added.name} />
        </div>
      )}
      <Problem text={start.error} />
      {connected !== undefined && (
        <div className="form-end">
          <button type="button" className="primary" disabled={start.busy} onClick={() => void start.run(connected.name)}>
            {t("runner.first", { command: FIRST_COMMAND })}
          </button>
        </div>
      )}
      {connected === undefined && docker !== undefined && (
        <button type="button" disabled={start.busy} onClick={() => void start.run(docker.name)}>
          {t("runner.docker")}
        </button>
      )}
      <button type="button" className="quiet later" onClick={showWorkbench}>
        {t("runner.skip")}
      </button>
    </>
  );
}

function NameForm({ onAdded }: { onAdded: (token: RunnerToken) => void }) {
  const { t } = useTranslation("setup");
  const { t: settings } = useTranslation("settings");
  const actions = useActions();
  const [name, setName] = useState("laptop");
  const add = useAction(async () => {
    const problem = nameProblem(name);
    if (problem !== null) throw new Error(settings(`runners.nameProblems.${problem}`, { name }));
    onAdded(await actions.addRunner(name, false));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Field label={settings("runners.name")} hint={settings("runners.nameProblems.rule")}>
        {(id, hint) => (
          <input
            id={id}
            required
            autoFocus
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            aria-describedby={hint}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Problem text={add.error} />
      <div className="form-end">
        <button type="submit" className="primary" disabled={add.busy}>
          {t("runner.command")}
        </button>
      </div>
    </form>
  );
}
