import { type FormEvent, useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import { nameProblem } from "../lib/names";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "../settings/parts";
import { ReachNotice } from "../settings/runners/ReachNotice";
import { TokenCommand, WaitingFor } from "../settings/runners/TokenResult";
import { WorkspaceField } from "../settings/runners/WorkspaceField";
import { useActions, useAppState } from "../state/context";
import { isOffered } from "../state/where";
import type { RunnerToken } from "../types";
import styles from "./setup.module.css";
import room from "../settings/settings.module.css";

/** The first command that a new user sees: harmless, works everywhere, and shows where it runs. */
const FIRST_COMMAND = "!uname -a && pwd && ls";

/** A machine that was registered, and its directory; empty for the directory in which the command is pasted. */
interface Added {
  token: RunnerToken;
  workspace: string;
}

/** The step for the first machine: a name, the command to paste there, and a confirmation when it connects. */
export function RunnerStep() {
  const { t } = useTranslation("setup");
  const { runners, settings } = useAppState("runners", "settings");
  const actions = useActions();
  const [added, setAdded] = useState<Added | null>(null);
  const connected = runners.find((runner) => runner.online);
  const docker = settings?.choices.find((choice) => choice.kind === "docker" && isOffered(choice));
  const start = useAction(async (place: string) => {
    await actions.setActiveRunner(place);
    await actions.newChat();
    actions.send(FIRST_COMMAND);
    actions.endWelcome();
  });
  return (
    <>
      <ReachNotice />
      {added === null ? (
        <>
          <p className="hint">
            <Trans t={t} i18nKey="runner.here" components={[<code key="code" />]} />
          </p>
          <NameForm onAdded={setAdded} />
        </>
      ) : (
        <div className={`${room.card} ${room.stack}`}>
          <TokenCommand result={added.token} workspace={added.workspace} />
          <WaitingFor name={added.token.name} />
        </div>
      )}
      <Problem text={start.error} />
      {connected !== undefined && (
        <div className={room.formEnd}>
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
      <button type="button" className={`quiet ${styles.later}`} onClick={actions.endWelcome}>
        {t("runner.skip")}
      </button>
    </>
  );
}

function NameForm({ onAdded }: { onAdded: (added: Added) => void }) {
  const { t } = useTranslation("setup");
  const { t: settings } = useTranslation("settings");
  const actions = useActions();
  const [name, setName] = useState("laptop");
  const [workspace, setWorkspace] = useState("");
  const add = useAction(async () => {
    const problem = nameProblem(name);
    if (problem !== null) throw new Error(settings(`runners.nameProblems.${problem}`, { name }));
    onAdded({ token: await actions.addRunner(name, true, workspace), workspace: workspace.trim() });
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={room.stack} onSubmit={submit}>
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
      <WorkspaceField value={workspace} onChange={setWorkspace} />
      <Problem text={add.error} />
      <div className={room.formEnd}>
        <button type="submit" className="primary" disabled={add.busy}>
          {t("runner.command")}
        </button>
      </div>
    </form>
  );
}
