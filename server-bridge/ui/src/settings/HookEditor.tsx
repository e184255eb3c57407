import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { EXAMPLE_HOOKS } from "./hookTexts";
import { Field, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { Callback, HookList } from "./types";

/** An editor for the user's own document of hooks, which keeps the text as written. */
export function HookEditor({ onSaved, callbacks }: { onSaved: (hooks: HookList) => void; callbacks: readonly Callback[] }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["hook-document"], requests.hookDocument);
  const known = (text: string | null, hooks: HookList) => {
    loaded.replace({ text });
    onSaved(hooks);
  };
  return (
    <section aria-labelledby="own-hooks">
      <h4 id="own-hooks">{t("hooks.own")}</h4>
      <Ready loaded={loaded}>{(document) => <DocumentForm first={document.text ?? ""} onSaved={known} />}</Ready>
      {callbacks.length > 0 && <Callbacks callbacks={callbacks} />}
    </section>
  );
}

/** The functions of the server that a hook may name. */
function Callbacks({ callbacks }: { callbacks: readonly Callback[] }) {
  const { t } = useTranslation("settings");
  return (
    <details>
      <summary>{t("hooks.callbacks")}</summary>
      <ul className={styles.cards}>
        {callbacks.map(({ name, about, events }) => (
          <li key={name} className={styles.plain}>
            <code>{`{ "type": "callback", "name": "${name}" }`}</code>
            <span>{about}</span>
            <span className="hint">{events.join(", ")}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The text being written survives a reload of the hooks, and an error. */
function DocumentForm({ first, onSaved }: { first: string; onSaved: (text: string | null, hooks: HookList) => void }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [text, setText] = useState(first);
  const [saved, setSaved] = useState<string | null>(null);
  const save = useAction(async () => {
    const wanted = text.trim() === "" ? null : text;
    onSaved(wanted, await requests.setHookDocument(wanted));
    setSaved(text);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <Field label={t("hooks.document")} hint={t("hooks.documentHint")} problem={save.error}>
        {(id, describedBy) => (
          <textarea
            id={id}
            className={styles.code}
            aria-describedby={describedBy}
            aria-invalid={save.error !== null}
            rows={14}
            placeholder={EXAMPLE_HOOKS}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        <span role="status" className="hint">
          {saved === text && t("saved")}
        </span>
      </div>
    </form>
  );
}
