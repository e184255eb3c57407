import { type ChangeEvent, type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { TURNS_AT_ONCE_MAX } from "../limits";
import { useAppState } from "../state/context";
import type { ServerSettings as Known } from "../types";
import { Choices, Field, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import { CONTEXT_MODES } from "./types";
import styles from "./settings.module.css";

/** The settings of the whole server, for administrators; changes by another administrator are shown at once. */
export default function ServerSettings() {
  const { server_settings: known } = useAppState("server_settings");
  const requests = useRequests();
  const loaded = useLoaded(["server settings"], requests.serverSettings, known);
  return (
    <Ready loaded={loaded}>
      {(known) => (
        <>
          <ContextMode known={known} onSaved={loaded.replace} />
          <Values known={known} onSaved={loaded.replace} />
        </>
      )}
    </Ready>
  );
}

interface Props {
  known: Known;
  onSaved: (settings: Known) => void;
}

function ContextMode({ known, onSaved }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const save = useAction(async (context_mode: Known["context_mode"]) =>
    onSaved(await requests.changeServerSettings({ context_mode })),
  );
  return (
    <>
      <Choices
        legend={t("serverSettings.context")}
        name="context-mode"
        value={known.context_mode}
        choices={CONTEXT_MODES.map((mode) => ({
          value: mode,
          label: t(`serverSettings.modes.${mode}`),
          hint: t(`serverSettings.modeHints.${mode}`),
        }))}
        disabled={save.busy}
        onChoose={(mode) => void save.run(mode)}
      />
      <Problem text={save.error} />
    </>
  );
}

function Values({ known, onSaved }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [turns, setTurns] = useState(String(known.turns_at_once));
  const [file, setFile] = useState(known.base_prompt ?? "");
  const [embedder, setEmbedder] = useState(known.embedder);
  const [saved, setSaved] = useState(false);
  // The current values, whether from this form, from the chosen default, or from another administrator.
  const [shown, setShown] = useState(known);
  if (shown !== known) {
    setShown(known);
    if (shown.turns_at_once !== known.turns_at_once) setTurns(String(known.turns_at_once));
    if (shown.base_prompt !== known.base_prompt) setFile(known.base_prompt ?? "");
    if (shown.embedder !== known.embedder) setEmbedder(known.embedder);
  }
  const edit = (set: (value: string) => void) => (event: ChangeEvent<HTMLInputElement>) => {
    set(event.target.value);
    setSaved(false);
  };
  const save = useAction(async () => {
    const wanted = turns.trim() === "" ? null : Number(turns);
    const name = file.trim() || null;
    // An unchanged field is not sent: a number that was never set keeps following the server's option.
    const turns_at_once = wanted === known.turns_at_once ? undefined : wanted;
    const base_prompt = name === known.base_prompt ? undefined : name;
    const chosen = embedder.trim() || null;
    const settings = await requests.changeServerSettings({
      turns_at_once,
      base_prompt,
      embedder: chosen === known.embedder ? undefined : chosen,
    });
    setTurns(String(settings.turns_at_once));
    setEmbedder(settings.embedder);
    onSaved(settings);
    setSaved(true);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  const problem = known.base_prompt_problem;
  return (
    <form className={styles.stack} onSubmit={submit}>
      <Field
        label={t("serverSettings.turns")}
        hint={t("serverSettings.turnsHint", { max: TURNS_AT_ONCE_MAX, count: known.turns_at_once_default })}
      >
        {(id, hint) => (
          <input
            id={id}
            type="number"
            min={1}
            max={TURNS_AT_ONCE_MAX}
            aria-describedby={hint}
            placeholder={String(known.turns_at_once_default)}
            value={turns}
            onChange={edit(setTurns)}
          />
        )}
      </Field>
      <Field
        label={t("serverSettings.basePrompt")}
        hint={t("serverSettings.basePromptHint")}
        problem={problem == null ? null : t("serverSettings.notUsed", { problem })}
      >
        {(id, hint) => (
          <input
            id={id}
            aria-describedby={hint}
            placeholder={t("serverSettings.builtIn")}
            value={file}
            onChange={edit(setFile)}
          />
        )}
      </Field>
      <Field
        label={t("serverSettings.embedder")}
        hint={t("serverSettings.embedderHint")}
        problem={known.embedder_problem ?? null}
      >
        {(id, hint) => (
          <input
            id={id}
            aria-describedby={hint}
            placeholder="built-in"
            value={embedder}
            onChange={edit(setEmbedder)}
          />
        )}
      </Field>
      <Problem text={save.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        <span role="status" className="hint">
          {saved && t("saved")}
        </span>
      </div>
    </form>
  );
}
