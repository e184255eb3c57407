import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../api";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "../settings/parts";
import { useAppState } from "../state/context";
import { placeName } from "../state/where";
import { APPROVAL_MODES, type ApprovalMode } from "../types";
import { useGroupRequests } from "./requests";
import type { Group, GroupAgent } from "./types";
import { NO_DOCUMENTS, WorkspaceFields, filesOf } from "./WorkspaceFields";
import styles from "./groups.module.css";

interface Props {
  group: Group;
  /** The agent to change; null for a new one. */
  edited: GroupAgent | null;
  onSaved: () => Promise<void>;
}

/** The names in a list that a person wrote; "*" if there are none. */
function namesIn(text: string): string[] {
  const names = text.split(/[\s,，、]+/).filter((name) => name !== "");
  return names.length === 0 ? ["*"] : names;
}

/** The form that adds an agent on one of the user's machines, or changes it. */
export function AgentForm({ group, edited, onSaved }: Props) {
  const { t } = useTranslation("groups");
  const { t: modes } = useTranslation("chat");
  const requests = useGroupRequests();
  const { settings } = useAppState("settings");
  const places = (settings?.choices ?? []).filter((choice) => choice.kind === "runner" || choice.available).map((choice) => choice.name);
  const offered = edited !== null && !places.includes(edited.runner) ? [edited.runner, ...places] : places;
  const [handle, setHandle] = useState(edited?.handle ?? "");
  const [place, setPlace] = useState(edited?.runner ?? "");
  const runner = offered.includes(place) ? place : (offered[0] ?? "");
  const [approval, setApproval] = useState<ApprovalMode>((edited?.approval as ApprovalMode | undefined) ?? "ask");
  const [persona, setPersona] = useState(edited?.persona ?? "");
  const [model, setModel] = useState(edited?.model ?? "");
  const [tools, setTools] = useState((edited?.tools ?? []).join(", "));
  const [draft, setDraft] = useState(NO_DOCUMENTS);
  const files = filesOf(draft);
  const name = handle.trim().replace(/^@/, "");
  /** The folder that the user entered; null until then, so that it follows the handle. */
  const [ownFolder, setFolder] = useState(edited?.folder ?? null);
  const folder = ownFolder ?? (files.length > 0 && name !== "" ? `agents/${name}` : "");
  const save = useAction(async () => {
    await requests.putAgent(group.id, name, { runner, approval, model: model.trim() || null, persona, tools: namesIn(tools), folder: folder.trim() });
    if (files.length > 0) {
      // The agent has been added, even if its machine is offline; the texts stay in the form for the next attempt.
      await requests.makeWorkspace(group.id, name, files).catch((error: unknown) => {
        throw new Error(t("notMade", { handle: name, why: errorText(error) }));
      });
    }
    setHandle("");
    setModel("");
    setPersona("");
    setTools("");
    setFolder(null);
    setDraft(NO_DOCUMENTS);
    await onSaved();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form className={styles.card} onSubmit={submit} aria-labelledby="agent-form">
      <h3 id="agent-form">{edited === null ? t("addAgent") : t("editAgent", { handle: edited.handle })}</h3>
      {offered.length === 0 && <p className="caution">{t("noMachine")}</p>}
      <div className={styles.line}>
        <Field label={t("handle")}>
          {(id) => <input id={id} autoCapitalize="none" autoComplete="off" value={handle} placeholder="coder" disabled={edited !== null} onChange={(event) => setHandle(event.target.value)} />}
        </Field>
        <Field label={t("machine")}>
          {(id) => (
            <select id={id} value={runner} onChange={(event) => setPlace(event.target.value)}>
              {offered.map((name) => (
                <option key={name} value={name}>
                  {placeName(name)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t("model")}>{(id) => <input id={id} autoCapitalize="none" placeholder={t("usualModel")} value={model} onChange={(event) => setModel(event.target.value)} />}</Field>
        <Field label={t("approval")}>
          {(id) => (
            <select id={id} value={approval} onChange={(event) => setApproval(event.target.value as ApprovalMode)}>
              {APPROVAL_MODES.map((mode) => (
                <option key={mode} value={mode}>
                  {modes(`mode.${mode}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Field label={t("persona")} hint={t("personaHint")}>
        {(id, hint) => <textarea id={id} aria-describedby={hint} rows={2} value={persona} onChange={(event) => setPersona(event.target.value)} />}
      </Field>
      <Field label={t("tools")} hint={t("toolsHint")}>
        {(id, hint) => <input id={id} aria-describedby={hint} autoCapitalize="none" autoComplete="off" placeholder={t("allTools")} value={tools} onChange={(event) => setTools(event.target.value)} />}
      </Field>
      <Field label={t("folder")} hint={t("folderHint")}>
        {(id, hint) => (
          <input id={id} aria-describedby={hint} autoCapitalize="none" autoComplete="off" spellCheck={false} placeholder={t("wholeWorkspace")} value={folder} onChange={(event) => setFolder(event.target.value)} />
        )}
      </Field>
      {edited === null && <WorkspaceFields draft={draft} onChange={setDraft} />}
      <Problem text={save.error} />
      <div className={styles.line}>
        <button type="submit" className="primary" disabled={save.busy || handle.trim() === "" || runner === ""}>
          {edited === null ? t("addAgent") : t("save")}
        </button>
      </div>
    </form>
  );
}
