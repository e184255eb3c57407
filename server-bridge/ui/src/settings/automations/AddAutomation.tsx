import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { Choices, Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { Automation, AutomationSaved } from "../types";
import { WrittenField } from "../WrittenField";
import { type Draft, draftOf, emptyDraft, putOf } from "./draft";
import styles from "../settings.module.css";

interface Props {
  /** The automation to change; null for a new one. */
  edited: Automation | null;
  onSaved: (saved: AutomationSaved) => Promise<void>;
}

const KINDS = ["schedule", "trigger"] as const;
const WHENS = ["cron", "every", "at"] as const;
const MISSED = ["once", "skip", "all"] as const;
const SOURCES = ["github", "standard", "gitlab", "slack", "bearer"] as const;
const MODES = ["plan", "ask", "auto-edit", "full"] as const;
const CHATS = ["one", "each"] as const;
const OVERLAPS = ["skip", "queue"] as const;

const PLACEHOLDERS = { cron: "0 9 * * 1-5", every: "1h", at: "2027-01-31T09:00", zone: "Europe/Berlin" };

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The form that adds or changes an automation. */
export function AddAutomation({ edited, onSaved }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [draft, setDraft] = useState<Draft>(() => (edited === null ? emptyDraft(ownZone()) : draftOf(edited, ownZone())));
  const [badLine, setBadLine] = useState<string | null>(null);
  const [saved, setSaved] = useState<string | null>(null);
  const change = (changed: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changed }));
    setBadLine(null);
  };
  const save = useAction(async () => {
    setSaved(null);
    const read = putOf(draft);
    if ("line" in read) return setBadLine(read.line);
    const answer = await requests.putAutomation(draft.name.trim(), read.put);
    setDraft({ ...emptyDraft(draft.zone), kind: draft.kind });
    await onSaved(answer);
    setSaved(answer.automation.name);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  const { kind } = draft;
  const text = (name: TextName, placeholder: string, more: { rows?: number; hint?: string; problem?: string } = {}) => (
    <WrittenField label={t(`automations.${name}`)} value={draft[name]} placeholder={placeholder} {...more} onChange={(value) => change({ [name]: value })} />
  );
  return (
    <form className={`${styles.card} ${styles.stack}`} noValidate onSubmit={submit} aria-labelledby="add-automation">
      <h4 id="add-automation">{edited === null ? t("automations.add") : t("automations.change", { name: edited.name })}</h4>
      <Choices
        legend={t("automations.kind")}
        name="automation-kind"
        value={kind}
        disabled={edited !== null}
        choices={KINDS.map((value) => ({ value, label: t(`automations.kinds.${value}`), hint: t(`automations.kindHints.${value}`) }))}
        onChoose={(value) => change({ kind: value })}
      />
      <WrittenField label={t("name")} hint={t("automations.nameHint")} value={draft.name} placeholder="morning" onChange={(name) => change({ name })} />
      {text("text", "", { rows: 3, hint: t(`automations.textHint.${kind}`) })}
      {kind === "schedule" ? (
        <>
          <Choices
            legend={t("automations.when")}
            name="automation-when"
            value={draft.when}
            choices={WHENS.map((value) => ({ value, label: t(`automations.whens.${value}`) }))}
            onChoose={(when) => change({ when })}
          />
          {draft.when === "at" ? text("at", PLACEHOLDERS.at) : text(draft.when, PLACEHOLDERS[draft.when], { hint: t(`automations.${draft.when}Hint`) })}
          {draft.when !== "every" && text("zone", PLACEHOLDERS.zone)}
          <Select label={t("automations.missed")} value={draft.missed} values={MISSED} words={(value) => t(`automations.missedWords.${value}`)} onChoose={(missed) => change({ missed })} />
        </>
      ) : (
        <>
          <Select label={t("automations.from")} value={draft.from} values={SOURCES} words={(value) => t(`automations.sources.${value}`)} onChoose={(from) => change({ from })} />
          <Field label={t("automations.secret")} hint={t("automations.secretHint")}>
            {(id, hint) => (
              <input id={id} aria-describedby={hint} type="password" autoComplete="off" value={draft.secret} onChange={(event) => change({ secret: event.target.value })} />
            )}
          </Field>
          {text("events", "push", { rows: 2, hint: t("automations.eventsHint") })}
          {text("onlyIf", "/ref=refs/heads/main", {
            rows: 2,
            hint: t("automations.onlyIfHint"),
            problem: badLine === null ? undefined : t("automations.onlyIfProblem", { line: badLine }),
          })}
          {text("fields", "/repository/full_name", { rows: 2, hint: t("automations.fieldsHint") })}
        </>
      )}
      {text("runner", "laptop", { hint: t("automations.runnerHint") })}
      <Select
        label={t("automations.approval")}
        value={draft.approval ?? ""}
        values={["", ...MODES]}
        words={(value) => (value === "" ? t(`automations.usual.${kind}`) : t(`approvals.modes.${value}`))}
        onChoose={(approval) => change({ approval })}
      />
      <Select label={t("automations.chats")} value={draft.chats} values={CHATS} words={(value) => t(`automations.chatWords.${value}`)} onChoose={(chats) => change({ chats })} />
      <Select
        label={t("automations.overlap")}
        value={draft.overlap || (kind === "schedule" ? "skip" : "queue")}
        values={OVERLAPS}
        words={(value) => t(`automations.overlapWords.${value}`)}
        onChoose={(overlap) => change({ overlap })}
      />
      <Problem text={save.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        <span role="status" className="hint">
          {saved !== null && t("automations.saved", { name: saved })}
        </span>
      </div>
    </form>
  );
}

type TextName = "text" | "cron" | "every" | "at" | "zone" | "events" | "onlyIf" | "fields" | "runner";

interface SelectProps<T extends string> {
  label: string;
  value: T;
  values: readonly T[];
  words: (value: T) => string;
  onChoose: (value: T) => void;
}

function Select<T extends string>({ label, value, values, words, onChoose }: SelectProps<T>) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => onChoose(event.target.value as T)}>
          {values.map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
