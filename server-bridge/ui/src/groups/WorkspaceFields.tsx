import { useTranslation } from "react-i18next";
import { useLoaded } from "../lib/useLoaded";
import { Field, Ready } from "../settings/parts";
import { useGroupRequests } from "./requests";
import type { Template } from "./types";
import styles from "./groups.module.css";

/** The documents to create, as chosen and edited. */
export interface WorkspaceDraft {
  /** The name of the template; `OWN` for texts without one, and empty for no documents. */
  template: string;
  texts: Record<string, string>;
}

/** The value of the choice to write the texts without a template. */
export const OWN = "own";
export const NO_DOCUMENTS: WorkspaceDraft = { template: "", texts: {} };

/** The documents for the request: only those with a text. */
export function filesOf({ texts }: WorkspaceDraft): { name: string; text: string }[] {
  return Object.entries(texts)
    .filter(([, text]) => text.trim() !== "")
    .map(([name, text]) => ({ name, text }));
}

interface Props {
  draft: WorkspaceDraft;
  onChange: (draft: WorkspaceDraft) => void;
  /** Only these documents can be edited; all of them if not given. */
  only?: string[];
}

/** The choice of a template, and a preview of its documents, which can be edited before they are created. */
export function WorkspaceFields(props: Props) {
  const requests = useGroupRequests();
  const templates = useLoaded(["agent-templates", document.documentElement.lang], requests.templates);
  return <Ready loaded={templates}>{(all) => <Fields {...props} templates={all} />}</Ready>;
}

function Fields({ draft, onChange, only, templates }: Props & { templates: Template[] }) {
  const { t } = useTranslation("groups");
  const names = (templates[0]?.files ?? []).map((file) => file.name).filter((name) => only?.includes(name) ?? true);
  const chosen = templates.find((template) => template.name === draft.template);
  const choose = (template: string) => {
    const files = templates.find((one) => one.name === template)?.files ?? [];
    // Without a template, the fields keep the texts that are in the form.
    const texts = template === OWN ? draft.texts : Object.fromEntries(files.filter((file) => names.includes(file.name)).map((file) => [file.name, file.text]));
    onChange({ template, texts });
  };
  return (
    <>
      <Field label={t("template")} hint={chosen?.about}>
        {(id, hint) => (
          <select id={id} aria-describedby={hint} value={draft.template} onChange={(event) => choose(event.target.value)}>
            <option value="">{t("noTemplate")}</option>
            {templates.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
            <option value={OWN}>{t("ownTexts")}</option>
          </select>
        )}
      </Field>
      {draft.template !== "" && (
        <fieldset className={styles.documents}>
          <legend>{t("documents")}</legend>
          <p className="hint">{t("documentsHint")}</p>
          {names.map((name) => (
            <Field key={name} label={name}>
              {(id) => (
                <textarea
                  id={id}
                  rows={6}
                  spellCheck={false}
                  value={draft.texts[name] ?? ""}
                  onChange={(event) => onChange({ ...draft, texts: { ...draft.texts, [name]: event.target.value } })}
                />
              )}
            </Field>
          ))}
        </fieldset>
      )}
    </>
  );
}
