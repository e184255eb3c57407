import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { PasswordField } from "../PasswordField";
import { Field, Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import { UserCard } from "./UserCard";
import styles from "../settings.module.css";

export default function Users() {
  const requests = useRequests();
  const loaded = useLoaded(["users"], requests.users);
  return (
    <>
      <AddUser onAdded={loaded.reload} />
      <Ready loaded={loaded}>
        {(users) => (
          <ul className={styles.cards}>
            {users.map((user) => (
              <UserCard key={user.name} user={user} onChanged={loaded.reload} />
            ))}
          </ul>
        )}
      </Ready>
    </>
  );
}

function AddUser({ onAdded }: { onAdded: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [admin, setAdmin] = useState(false);
  const [added, setAdded] = useState<string | null>(null);
  const add = useAction(async () => {
    setAdded(null);
    const user = await requests.addUser(name.trim(), password, admin);
    setAdded(user.name);
    setName("");
    setPassword("");
    setAdmin(false);
    await onAdded();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <h4>{t("users.add")}</h4>
      <div className={styles.fields}>
        <Field label={t("name")}>
          {(id) => (
            <input
              id={id}
              required
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <PasswordField label={t("users.password")} kind="new" value={password} onChange={setPassword} />
      </div>
      <label className={styles.tick}>
        <input type="checkbox" checked={admin} onChange={(event) => setAdmin(event.target.checked)} />
        {t("users.makeAdmin")}
      </label>
      <Problem text={add.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={add.busy}>
          {t("users.addButton")}
        </button>
        <span role="status" className="hint">
          {added !== null && t("users.added", { name: added })}
        </span>
      </div>
    </form>
  );
}
