import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useActions, useAppState } from "../state/context";
import { PasswordField } from "./PasswordField";
import { Problem } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import marks from "../kit/marks.module.css";

export default function Account() {
  const { t } = useTranslation("settings");
  const { me } = useAppState("me");
  const actions = useActions();
  return (
    <>
      <div className={`${styles.card} ${styles.accountCard}`}>
        <p>
          <strong>{me?.name}</strong>
          {me?.admin && <span className={marks.badge}>{t("account.admin")}</span>}
        </p>
        <button type="button" onClick={() => void actions.logout().catch(actions.report)}>
          {t("account.signOut")}
        </button>
      </div>
      <PasswordForm user={me?.name ?? ""} />
    </>
  );
}

function PasswordForm({ user }: { user: string }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [repeated, setRepeated] = useState("");
  const [changed, setChanged] = useState(false);
  const change = useAction(async () => {
    setChanged(false);
    if (next !== repeated) throw new Error(t("account.differ"));
    await requests.changePassword(current, next);
    for (const clear of [setCurrent, setNext, setRepeated]) clear("");
    setChanged(true);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void change.run();
  };
  return (
    <form className={`${styles.stack} ${styles.narrow}`} onSubmit={submit}>
      <h4>{t("account.password")}</h4>
      <input type="text" autoComplete="username" value={user} readOnly hidden />
      <PasswordField label={t("account.current")} kind="current" value={current} onChange={setCurrent} />
      <PasswordField label={t("account.next")} kind="new" value={next} onChange={setNext} />
      <PasswordField label={t("account.repeat")} kind="repeated" value={repeated} onChange={setRepeated} />
      <p className="hint">{t("account.passwordHint")}</p>
      <Problem text={change.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={change.busy}>
          {t("account.change")}
        </button>
        <span role="status" className="hint">
          {changed && t("account.changed")}
        </span>
      </div>
    </form>
  );
}
