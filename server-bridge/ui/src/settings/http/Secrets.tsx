import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useAction } from "../../lib/useAction";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { HttpTool } from "../types";
import { useServer } from "./useServer";
import styles from "../settings.module.css";

interface Props {
  tool: HttpTool;
  onChanged: () => Promise<void>;
}

/** The secrets that a tool uses. Values can be set but never read. */
export function Secrets({ tool, onChanged }: Props) {
  return tool.secrets.map(({ name, is_set }) => (
    <Secret key={name} tool={tool} name={name} isSet={is_set} onChanged={onChanged} />
  ));
}

function Secret({ tool, name, isSet, onChanged }: Props & { name: string; isSet: boolean }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [value, setValue] = useState("");
  const set = useAction(async (next: string | null) => {
    await requests.setHttpToolSecret(tool.name, name, next);
    setValue("");
    await onChanged();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void set.run(value);
  };
  const server = useServer(tool);
  return (
    <form className={styles.stack} noValidate onSubmit={submit} aria-label={t("http.secretOf", { name })}>
      <p className={isSet ? "hint" : "caution"}>{t(isSet ? "http.secretSet" : "http.secretMissing", { name, server })}</p>
      <Field label={t("http.secretOf", { name })} hint={t("http.secretHint", { server })}>
        {(id, describedBy) => (
          <input
            id={id}
            type="password"
            aria-describedby={describedBy}
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        )}
      </Field>
      <div className={styles.actions}>
        <button type="submit" disabled={set.busy || value === ""}>
          {t("http.setSecret", { name })}
        </button>
        {isSet && (
          <ConfirmButton
            label={t("http.removeSecret", { name })}
            name={t("http.removeSecret", { name })}
            question={t("http.removeSecretQuestion", { name })}
            confirmLabel={t("remove")}
            onConfirm={() => void set.run(null)}
          />
        )}
      </div>
      <Problem text={set.error} />
    </form>
  );
}
