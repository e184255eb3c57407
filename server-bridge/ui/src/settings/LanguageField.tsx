import { useTranslation } from "react-i18next";
import { chooseLanguage, LANGUAGES, type Language } from "../i18n";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "./parts";

/** The language of the page, which takes effect at once. */
export function LanguageField() {
  const { t, i18n } = useTranslation("settings");
  const choose = useAction(chooseLanguage);
  return (
    <>
      <Field label={t("general.language")}>
        {(id) => (
          <select id={id} value={i18n.language} disabled={choose.busy} onChange={(event) => void choose.run(event.target.value as Language)}>
            {Object.entries(LANGUAGES).map(([language, name]) => (
              <option key={language} value={language} lang={language}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Problem text={choose.error} />
    </>
  );
}
