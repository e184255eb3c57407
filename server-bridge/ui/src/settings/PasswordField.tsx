import { useTranslation } from "react-i18next";
import { PASSWORD_MIN_CHARS } from "../limits";
import { Field } from "./parts";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** `new` is a password being chosen, for which the rule is shown; `repeated` is the same password again. */
  kind: "current" | "new" | "repeated";
  /** A hint, shown below the field. */
  hint?: string;
  autoFocus?: boolean;
}

/** A field for a password. */
export function PasswordField({ label, value, onChange, kind, hint, autoFocus }: Props) {
  const { t } = useTranslation("settings");
  const isNew = kind === "new";
  const rule = isNew ? t("account.passwordRule", { least: PASSWORD_MIN_CHARS }) : undefined;
  const hints = [rule, hint].filter((part) => part !== undefined).join(" ");
  return (
    <Field label={label} hint={hints || undefined}>
      {(id, describedBy) => (
        <input
          id={id}
          type="password"
          required
          autoFocus={autoFocus}
          minLength={isNew ? PASSWORD_MIN_CHARS : undefined}
          autoComplete={kind === "current" ? "current-password" : "new-password"}
          aria-describedby={describedBy}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
