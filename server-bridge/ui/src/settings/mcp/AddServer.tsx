import { type FormEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { Choices, Problem } from "../parts";
import { useRequests } from "../requests";
import type { McpServer } from "../types";
import { CheckResult } from "./CheckResult";
import { type Draft, type DraftProblems, EMPTY_DRAFT, entryOf } from "./draft";
import { TextField } from "./TextField";
import { useCheck } from "./useCheck";
import styles from "../settings.module.css";

interface Props {
  /** The user's own servers. */
  own: readonly McpServer[];
  /** The server that was added last, unless it has been removed. */
  added: McpServer | null;
  onAdded: (name: string) => Promise<void>;
  onChecked: () => Promise<void>;
}

const KINDS = ["program", "address"] as const;

/** The form that adds one of the user's own servers. It keeps its contents until they are saved. */
export function AddServer({ own, added, onAdded, onChecked }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [problems, setProblems] = useState<DraftProblems>({});
  const [form, focusOnProblem] = useFocusOnProblem();
  const change = (changed: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changed }));
    const untouched = Object.entries(problems).filter(([field]) => !(field in changed));
    setProblems(Object.fromEntries(untouched));
  };
  const add = useAction(async () => {
    const read = entryOf(draft);
    if ("problems" in read) {
      setProblems(read.problems);
      return focusOnProblem();
    }
    const name = draft.name.trim();
    await requests.setMcpServer(name, read.entry);
    setDraft({ ...EMPTY_DRAFT, kind: draft.kind });
    await onAdded(name);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  const replaces = own.some((server) => server.name === draft.name.trim());
  const field = { draft, problems, change };
  return (
    <form ref={form} className={`${styles.card} ${styles.stack}`} noValidate onSubmit={submit} aria-labelledby="add-mcp-server">
      <h4 id="add-mcp-server">{t("mcp.add")}</h4>
      <TextField {...field} name="name" label={t("name")} hint={t(replaces ? "mcp.replaces" : "mcp.nameHint")} placeholder="files" />
      <Choices
        legend={t("mcp.kind")}
        name="mcp-kind"
        value={draft.kind}
        choices={KINDS.map((kind) => ({ value: kind, label: t(`mcp.kinds.${kind}`), hint: t(`mcp.kindHints.${kind}`) }))}
        onChoose={(kind) => change({ kind })}
      />
      {draft.kind === "program" ? (
        <>
          <TextField {...field} name="command" rows={2} label={t("mcp.command")} hint={t("mcp.commandHint")} placeholder="npx -y @modelcontextprotocol/server-filesystem ." />
          <TextField {...field} name="env" rows={3} label={t("mcp.env")} hint={t("mcp.envHint")} placeholder="API_TOKEN=…" />
        </>
      ) : (
        <>
          <TextField {...field} name="url" label={t("mcp.url")} placeholder="https://mcp.example.com/mcp" />
          <TextField {...field} name="headers" rows={3} label={t("mcp.headers")} hint={t("mcp.headersHint")} placeholder="Authorization: Bearer …" />
          <TextField {...field} name="via" label={t("mcp.via")} hint={t("mcp.viaHint")} placeholder="laptop" />
          <details>
            <summary>{t("mcp.client")}</summary>
            <div className={styles.stack}>
              <TextField {...field} name="clientId" label={t("mcp.clientId")} hint={t("mcp.clientHint")} placeholder="sandbridge" />
              <TextField {...field} name="clientSecret" hidden label={t("mcp.clientSecret")} hint={t("mcp.clientSecretHint")} placeholder="" />
              <TextField {...field} name="scopes" label={t("mcp.scopes")} hint={t("mcp.scopesHint")} placeholder="tools:read tools:call" />
            </div>
          </details>
        </>
      )}
      <Problem text={add.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={add.busy}>
          {t(replaces ? "mcp.replace" : "mcp.save")}
        </button>
        <span role="status" className="hint">
          {added !== null && t("mcp.added", { name: added.name })}
        </span>
      </div>
      {added?.state === "ready" && <Offer key={added.hash} name={added.name} onChecked={onChecked} />}
    </form>
  );
}

/** Offers to check a server that was just added: nothing has started it yet. */
function Offer({ name, onChecked }: { name: string; onChecked: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const check = useCheck(name, onChecked);
  return (
    <>
      <button type="button" className={styles.start} disabled={check.busy} onClick={() => void check.run()}>
        {t("mcp.checkNow")}
      </button>
      <CheckResult name={name} check={check} />
    </>
  );
}

/** The form, and a function that focuses its first field with a problem once that is shown. */
function useFocusOnProblem() {
  const form = useRef<HTMLFormElement>(null);
  const [refusals, setRefusals] = useState(0);
  useEffect(() => {
    if (refusals > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refusals]);
  return [form, () => setRefusals((before) => before + 1)] as const;
}
