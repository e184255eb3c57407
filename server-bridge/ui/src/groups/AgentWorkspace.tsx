import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { Problem, Ready } from "../settings/parts";
import { useGroupRequests } from "./requests";
import type { Group, GroupAgent, Workspace, WorkspaceFile } from "./types";
import { useOfGroup } from "./useGroups";
import { NO_DOCUMENTS, WorkspaceFields, filesOf } from "./WorkspaceFields";
import styles from "./groups.module.css";

interface Props {
  group: Group;
  agent: GroupAgent;
}

/** The workspace of one of the user's agents: shows its folder and documents, and creates missing documents. */
export function AgentWorkspace({ group, agent }: Props) {
  const { t } = useTranslation("groups");
  const [isOpen, setOpen] = useState(false);
  const folder = agent.folder === "" ? t("wholeWorkspace") : agent.folder;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("workspace", { folder })}</summary>
      {isOpen && <Inside group={group} agent={agent} />}
    </details>
  );
}

function Inside({ group, agent }: Props) {
  const requests = useGroupRequests();
  const { handle, runner, folder } = agent;
  const loaded = useOfGroup(group.id, `workspace ${JSON.stringify([handle, runner, folder])}`, () => requests.workspace(group.id, handle));
  return <Ready loaded={loaded}>{(workspace) => <Documents group={group} agent={agent} workspace={workspace} onMade={loaded.reload} />}</Ready>;
}

function Documents({ group, agent, workspace, onMade }: Props & { workspace: Workspace; onMade: () => Promise<void> }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [draft, setDraft] = useState(NO_DOCUMENTS);
  const [made, setMade] = useState<string[]>([]);
  const missing = workspace.files.filter((file) => file.state === "missing").map((file) => file.name);
  const make = useAction(async () => {
    const files = filesOf(draft).filter((file) => missing.includes(file.name));
    try {
      const { files: now } = await requests.makeWorkspace(group.id, agent.handle, files);
      setMade(now.filter((file) => file.made).map((file) => file.name));
      setDraft(NO_DOCUMENTS);
    } finally {
      await onMade();
    }
  });
  const stateOf = (file: WorkspaceFile) => (made.includes(file.name) ? t("fileStates.made") : t(`fileStates.${file.state}`));
  return (
    <div className={styles.rows}>
      {!workspace.exists && <p className="hint">{t("noFolder")}</p>}
      <ul className={styles.rows}>
        {workspace.files.map((file) => (
          <li key={file.name} data-testid="workspace-file" data-state={file.state}>
            <code>{file.name}</code> <span className="hint">{stateOf(file)}</span>
            {file.reason !== "" && <span className="hint">{file.reason}</span>}
          </li>
        ))}
      </ul>
      {missing.length > 0 && (
        <>
          <WorkspaceFields draft={draft} onChange={setDraft} only={missing} />
          <div className={styles.line}>
            <button type="button" disabled={make.busy || filesOf(draft).length === 0} onClick={() => void make.run()}>
              {t("makeMissing")}
            </button>
          </div>
        </>
      )}
      <Problem text={make.error} />
    </div>
  );
}
