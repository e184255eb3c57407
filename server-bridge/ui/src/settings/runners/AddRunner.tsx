import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { nameProblem } from "../../lib/names";
import { useAction } from "../../lib/useAction";
import { useActions } from "../../state/context";
import type { RunnerToken } from "../../types";
import { Problem } from "../parts";
import { ReachNotice } from "./ReachNotice";
import { TokenResult } from "./TokenResult";
import { WorkspaceField } from "./WorkspaceField";
import styles from "../settings.module.css";

export function AddRunner() {
  const { t } = useTranslation("settings");
  const actions = useActions();
  const [name, setName] = useState("");
  const [enrol, setEnrol] = useState(true);
  const [workspace, setWorkspace] = useState("");
  const [added, setAdded] = useState<{ token: RunnerToken; workspace: string } | null>(null);
  const add = useAction(async () => {
    const problem = nameProblem(name);
    if (problem !== null) throw new Error(t(`runners.nameProblems.${problem}`, { name }));
    setAdded({ token: await actions.addRunner(name, enrol, workspace), workspace: workspace.trim() });
    setName("");
    setWorkspace("");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <h4>{t("runners.connect")}</h4>
      <ReachNotice />
      <div className={styles.field}>
        <label htmlFor="runner-name">{t("runners.name")}</label>
        <div className={styles.row}>
          <input
            id="runner-name"
            placeholder="laptop"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            required
            aria-describedby="runner-name-rule"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <button type="submit" className="primary" disabled={add.busy}>
            {t("runners.add")}
          </button>
        </div>
        <p className="hint" id="runner-name-rule">
          {t("runners.nameProblems.rule")}
        </p>
      </div>
      <WorkspaceField value={workspace} onChange={setWorkspace} />
      <label className={styles.tick}>
        <input type="checkbox" checked={enrol} onChange={(event) => setEnrol(event.target.checked)} />
        {t("runners.enrol")}
      </label>
      <Problem text={add.error} />
      {added !== null && <TokenResult result={added.token} waiting workspace={added.workspace} onDone={() => setAdded(null)} />}
    </form>
  );
}
