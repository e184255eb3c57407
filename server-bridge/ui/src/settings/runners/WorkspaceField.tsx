import { useTranslation } from "react-i18next";
import { Field } from "../parts";

/** The machine's directory for commands; empty for the directory in which the command is pasted. */
export function WorkspaceField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation("settings");
  return (
    <Field label={t("runners.workspace")} hint={t("runners.workspaceHint")}>
      {(id, hint) => (
        <input
          id={id}
          placeholder="~/project"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-describedby={hint}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
