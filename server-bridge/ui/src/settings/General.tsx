import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { LANGUAGES } from "../i18n";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { LanguageField } from "./LanguageField";
import { Field, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import type { Preferences } from "./types";
import styles from "./settings.module.css";

export default function General() {
  const requests = useRequests();
  const loaded = useLoaded(["preferences"], requests.preferences);
  return (
    <>
      <LanguageField />
      <Ready loaded={loaded}>{(preferences) => <AgentForm known={preferences} onSaved={loaded.replace} />}</Ready>
    </>
  );
}

/** The instructions for every agent. */
function AgentForm({ known, onSaved }: { known: Preferences; onSaved: (preferences: Preferences) => void }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [instructions, setInstructions] = useState(known.instructions ?? "");
  const [language, setLanguage] = useState(known.language ?? "");
  const [saved, setSaved] = useState<string | null>(null);
  const written = JSON.stringify([instructions, language]);
  const save = useAction(async () => {
    const wanted = { ...known, instructions: instructions.trim() || null, language: language.trim() || null };
    onSaved(await requests.setPreferences(wanted));
    setSaved(written);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form className={styles.stack} onSubmit={submit}>
      <h4>{t("general.agent")}</h4>
      <Field label={t("general.instructions")} hint={t("general.instructionsHint")}>
        {(id, hint) => (
          <textarea
            id={id}
            aria-describedby={hint}
            rows={6}
            value={instructions}
            onChange={(event) => setInstructions(event.target.value)}
          />
        )}
      </Field>
      <Field label={t("general.answerLanguage")} hint={t("general.answerLanguageHint")}>
        {(id, hint) => (
          <>
            <input
              id={id}
              list={`${id}-known`}
              aria-describedby={hint}
              placeholder={t("general.asIWrite")}
              value={language}
              onChange={(event) => setLanguage(event.target.value)}
            />
            <datalist id={`${id}-known`}>
              {Object.values(LANGUAGES).map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Problem text={save.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        <span role="status" className="hint">
          {saved === written && t("saved")}
        </span>
      </div>
    </form>
  );
}
