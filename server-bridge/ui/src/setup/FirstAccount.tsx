import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, taken } from "../api";
import { keepSession } from "../api/session";
import { setupSecret, showSetup } from "../lib/location";
import { useAction } from "../lib/useAction";
import { PasswordField } from "../settings/PasswordField";
import { Field, Problem } from "../settings/parts";
import { useActions } from "../state/context";
import { Steps } from "./Steps";
import room from "../settings/settings.module.css";

/** The form for the first administrator's account, which requires the secret that the server printed. */
export default function FirstAccount({ onTaken }: { onTaken: () => Promise<void> }) {
  const { t } = useTranslation("setup");
  const actions = useActions();
  const [given] = useState(() => setupSecret(window.location.hash));
  const [secret, setSecret] = useState(given);
  const [name, setName] = useState("admin");
  const [password, setPassword] = useState("");
  const [repeated, setRepeated] = useState("");
  const create = useAction(async () => {
    if (password !== repeated) throw new Error(t("account.differ"));
    try {
      const body = { secret: secret.trim(), name: name.trim(), password };
      keepSession((await taken(actions.client.POST("/api/v1/setup", { body }))).token);
    } catch (error) {
      // Another visitor was first: the first account exists, so the login is shown.
      if (error instanceof ApiError && error.status === 409) return onTaken();
      throw error;
    }
    showSetup();
    await actions.resume();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void create.run();
  };
  return (
    <Steps step="account">
      <form className={room.stack} onSubmit={submit} aria-busy={create.busy}>
        {given === "" && (
          <Field label={t("account.secret")} hint={t("account.secretHint")}>
            {(id, hint) => (
              <input
                id={id}
                required
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
                aria-describedby={hint}
                value={secret}
                onChange={(event) => setSecret(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field label={t("account.name")}>
          {(id) => (
            <input
              id={id}
              required
              autoComplete="username"
              autoCapitalize="none"
              spellCheck={false}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <PasswordField label={t("account.password")} kind="new" autoFocus value={password} onChange={setPassword} />
        <PasswordField label={t("account.repeat")} kind="repeated" value={repeated} onChange={setRepeated} />
        <Problem text={create.error} />
        <div className={room.formEnd}>
          <button type="submit" className="primary" disabled={create.busy}>
            {t("account.create")}
          </button>
        </div>
      </form>
    </Steps>
  );
}
