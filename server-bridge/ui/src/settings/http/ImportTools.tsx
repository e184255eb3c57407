import { type ChangeEvent, type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { OPENAPI_BYTES } from "../../limits";
import { plainly } from "../hookTexts";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { HttpToolImported } from "../types";
import { WrittenField } from "../WrittenField";
import { pairs } from "./draft";
import styles from "../settings.module.css";

/** A form that imports tools from an OpenAPI document, and lists the operations that were left out. */
export function ImportTools({ onImported }: { onImported: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [file, setFile] = useState<File | null>(null);
  const [server, setServer] = useState("");
  const [via, setVia] = useState("");
  const [secrets, setSecrets] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [imported, setImported] = useState<HttpToolImported | null>(null);
  const start = useAction(async () => {
    setImported(null);
    const read = pairs(secrets, "=");
    if ("problem" in read) return setProblem(t(`http.problems.${read.problem.kind}`, { line: read.problem.line ?? 0, name: read.problem.name ?? "" }));
    if (file === null) return setProblem(t("http.problems.noFile"));
    if (file.size > OPENAPI_BYTES) return setProblem(t("http.fileTooLarge"));
    const document = { text: await file.text(), server: server.trim() || undefined, via: via.trim() || undefined, only: [], secrets: read.value, dry_run: false };
    setImported(await requests.importHttpTools(document));
    setSecrets("");
    await onImported();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblem(null);
    void start.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} noValidate onSubmit={submit} aria-labelledby="import-http-tools">
      <h4 id="import-http-tools">{t("http.import")}</h4>
      <p className="hint">{t("http.importAbout")}</p>
      <Field label={t("http.file")}>
        {(id) => (
          <input
            id={id}
            type="file"
            accept=".json,application/json"
            onChange={(event: ChangeEvent<HTMLInputElement>) => setFile(event.target.files?.[0] ?? null)}
          />
        )}
      </Field>
      <Field label={t("http.server")} hint={t("http.serverHint")}>
        {(id, describedBy) => (
          <input
            id={id}
            aria-describedby={describedBy}
            autoComplete="off"
            spellCheck={false}
            placeholder="https://api.example.com/v1"
            value={server}
            onChange={(event) => setServer(event.target.value)}
          />
        )}
      </Field>
      <WrittenField label={t("http.via")} hint={t("http.viaHint")} placeholder="laptop" value={via} onChange={setVia} />
      <Field label={t("http.importSecrets")} hint={t("http.importSecretsHint")}>
        {(id, describedBy) => (
          <textarea
            id={id}
            rows={2}
            className={styles.code}
            aria-describedby={describedBy}
            autoComplete="off"
            spellCheck={false}
            value={secrets}
            onChange={(event) => setSecrets(event.target.value)}
          />
        )}
      </Field>
      <Problem text={problem ?? start.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={start.busy}>
          {t("http.startImport")}
        </button>
        <span role="status" className="hint">
          {imported !== null && t("http.imported", { count: imported.added.length })}
        </span>
      </div>
      {imported !== null && imported.missing_secrets.length > 0 && (
        <p className="caution">{t("http.importMissing", { secrets: imported.missing_secrets.join(", ") })}</p>
      )}
      {imported?.problems.map((text, at) => (
        <p key={at} className="caution">
          {plainly(text)}
        </p>
      ))}
    </form>
  );
}
