import { useTranslation } from "react-i18next";
import { Field } from "../parts";
import type { Draft, DraftField, DraftProblems } from "./draft";
import styles from "../settings.module.css";

interface Props {
  draft: Draft;
  problems: DraftProblems;
  change: (changed: Partial<Draft>) => void;
  name: DraftField;
  label: string;
  hint?: string;
  placeholder: string;
  /** For several lines. */
  rows?: number;
}

/** A field of the form whose text is taken as it is written, with its problem in words. */
export function TextField({ draft, problems, change, name, label, hint, placeholder, rows }: Props) {
  const { t } = useTranslation("settings");
  const problem = problems[name];
  const words = problem && t(`mcp.problems.${problem.kind}`, { line: problem.line ?? 0, name: problem.name ?? "" });
  return (
    <Field label={label} hint={hint} problem={words}>
      {(id, describedBy) => {
        const common = {
          id,
          placeholder,
          "aria-describedby": describedBy,
          "aria-invalid": problem !== undefined,
          autoComplete: "off",
          autoCapitalize: "none",
          spellCheck: false,
          value: draft[name],
          onChange: (event: { target: { value: string } }) => change({ [name]: event.target.value }),
        };
        return rows === undefined ? <input {...common} /> : <textarea {...common} rows={rows} className={styles.code} />;
      }}
    </Field>
  );
}
