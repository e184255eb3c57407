import { Field } from "./parts";
import styles from "./settings.module.css";

interface Props {
  label: string;
  hint?: string;
  /** The problem with the text, if there is one. */
  problem?: string;
  value: string;
  onChange: (value: string) => void;
  placeholder: string;
  /** The height in lines, for a text of several lines. */
  rows?: number;
  /** True for a secret: its text is not shown. */
  hidden?: boolean;
}

/** A field whose text is taken exactly as typed: the browser neither corrects nor completes it. */
export function WrittenField({ label, hint, problem, value, onChange, placeholder, rows, hidden = false }: Props) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(id, describedBy) => {
        const common = {
          id,
          placeholder,
          "aria-describedby": describedBy,
          "aria-invalid": problem !== undefined,
          autoComplete: "off",
          autoCapitalize: "none",
          spellCheck: false,
          value,
          onChange: (event: { target: { value: string } }) => onChange(event.target.value),
        };
        if (hidden) return <input {...common} type="password" autoComplete="new-password" />;
        return rows === undefined ? <input {...common} /> : <textarea {...common} rows={rows} className={styles.code} />;
      }}
    </Field>
  );
}
