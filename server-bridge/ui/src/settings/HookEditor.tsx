import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { EXAMPLE_HOOKS } from "./hookTexts";
import { Field, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { HookList } from "./types";

/** An editor for the user's own document of hooks, which keeps the text as written. */
export function HookEditor({ onSaved }: { onSaved: (hooks: HookList) => void }) {
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
    </section>
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
