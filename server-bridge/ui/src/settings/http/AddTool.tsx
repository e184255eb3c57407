import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { Choices, Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { HttpTool } from "../types";
import { WrittenField } from "../WrittenField";
import { type Draft, type DraftField, type DraftProblems, documentOf, EMPTY_DRAFT, METHODS } from "./draft";
import styles from "../settings.module.css";

interface Props {
  /** The document to begin with; null for an empty form. */
  document: string | null;
  /** The user's own tools. */
  own: readonly HttpTool[];
  onSaved: () => Promise<void>;
}

interface Saved {
  name: string;
  dropped: string;
  missing: string;
}

const KINDS = ["form", "json"] as const;

/** The fields of the form, in their order; those with rows have several lines. */
const FIELDS: { name: Exclude<DraftField, "json" | "name">; rows?: number; placeholder: string }[] = [
  { name: "description", placeholder: "The weather of a city" },
  { name: "url", placeholder: "https://api.example.com/v1/{{city}}" },
  { name: "headers", rows: 3, placeholder: "Authorization: Bearer {{secret.API_KEY}}" },
  { name: "query", rows: 2, placeholder: "units=metric" },
  { name: "body", rows: 4, placeholder: '{"city": "{{city}}"}' },
  { name: "parameters", rows: 3, placeholder: "city* string" },
  { name: "extract", placeholder: "data.items.0.name" },
  { name: "via", placeholder: "laptop" },
];

/** A form for one of the user's own tools, as fields or as a JSON document. */
export function AddTool({ document, own, onSaved }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [draft, setDraft] = useState<Draft>(document === null ? EMPTY_DRAFT : { ...EMPTY_DRAFT, kind: "json", json: document });
  const [problems, setProblems] = useState<DraftProblems>({});
  const [saved, setSaved] = useState<Saved | null>(null);
  const change = (changed: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changed }));
    setProblems(Object.fromEntries(Object.entries(problems).filter(([field]) => !(field in changed))));
  };
  const save = useAction(async () => {
    setSaved(null);
    const read = documentOf(draft);
    if ("problems" in read) return setProblems(read.problems);
    const { dropped_secrets, missing_secrets } = await requests.setHttpTool(read.name, read.text);
    setDraft({ ...EMPTY_DRAFT, kind: draft.kind });
    // The list is reloaded before success is shown, so that input that the user begins in a card is not lost with the old card.
    await onSaved();
    setSaved({ name: read.name, dropped: dropped_secrets.join(", "), missing: missing_secrets.join(", ") });
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  const read = documentOf(draft);
  const replaces = "name" in read && own.some((tool) => tool.name === read.name);
  const text = { draft, problems, change };
  return (
    <form className={`${styles.card} ${styles.stack}`} noValidate onSubmit={submit} aria-labelledby="add-http-tool">
      <h4 id="add-http-tool">{t("http.add")}</h4>
      <Choices
        legend={t("http.kind")}
        name="http-kind"
        value={draft.kind}
        choices={KINDS.map((kind) => ({ value: kind, label: t(`http.kinds.${kind}`), hint: t(`http.kindHints.${kind}`) }))}
        onChoose={(kind) => change({ kind })}
      />
      {draft.kind === "json" ? (
        <Text {...text} name="json" rows={14} label={t("http.json")} hint={t("http.jsonHint")} placeholder="{}" />
      ) : (
        <>
          <Text {...text} name="name" label={t("name")} hint={t(replaces ? "http.replaces" : "http.nameHint")} placeholder="weather" />
          <Field label={t("http.method")}>
            {(id) => (
              <select id={id} value={draft.method} onChange={(event) => change({ method: event.target.value })}>
                {METHODS.map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            )}
          </Field>
          {FIELDS.map(({ name, rows, placeholder }) => (
            <Text key={name} {...text} name={name} rows={rows} label={t(`http.${name}`)} hint={t(`http.${name}Hint`, AS_WRITTEN)} placeholder={placeholder} />
          ))}
        </>
      )}
      <Problem text={save.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t(replaces ? "http.replace" : "http.save")}
        </button>
        <span role="status" className="hint">
          {saved !== null && t(saved.missing === "" ? "http.saved" : "http.savedMissing", { name: saved.name, secrets: saved.missing })}
        </span>
      </div>
      {saved !== null && saved.dropped !== "" && <p className="caution">{t("http.savedDropped", { secrets: saved.dropped })}</p>}
    </form>
  );
}

/** Values with which the hints keep their example placeholders, such as `{{key}}`. */
const AS_WRITTEN = { key: "{{key}}", secret: { NAME: "{{secret.NAME}}" } };

interface TextProps {
  draft: Draft;
  problems: DraftProblems;
  change: (changed: Partial<Draft>) => void;
  name: DraftField;
  label: string;
  hint: string;
  placeholder: string;
  rows?: number;
}

/** A field whose text is taken exactly as typed, with its problem below it. */
function Text({ draft, problems, change, name, label, hint, placeholder, rows }: TextProps) {
  const { t } = useTranslation("settings");
  const problem = problems[name];
  const words = problem && t(`http.problems.${problem.kind}`, { line: problem.line ?? 0, name: problem.name ?? "" });
  const onChange = (value: string) => change({ [name]: value });
  return <WrittenField value={draft[name]} problem={words} {...{ label, hint, placeholder, rows, onChange }} />;
}
