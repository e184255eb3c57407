import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useAction } from "../../lib/useAction";
import { useTimeWords } from "../../lib/useTimeWords";
import { useAppState } from "../../state/context";
import { PasswordField } from "../PasswordField";
import { Problem } from "../parts";
import { useRequests } from "../requests";
import type { User } from "../types";
import styles from "../settings.module.css";
import marks from "../../kit/marks.module.css";

export function UserCard({ user, onChanged }: { user: User; onChanged: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const { me } = useAppState("me");
  const requests = useRequests();
  const [resetting, setResetting] = useState(false);
  const work = useAction(async (change: () => Promise<unknown>) => {
    await change();
    await onChanged();
  });
  const own = user.name === me?.name;
  return (
    <li className={styles.card} data-testid="user">
      <header>
        <h4>{user.name}</h4>
        {user.admin && <span className={marks.badge}>{t("account.admin")}</span>}
        {own && <span className={`${marks.badge} ${marks.active}`}>{t("users.you")}</span>}
        <span className="hint">{t("users.since", { when: absolute(user.created_at) })}</span>
      </header>
      {!own && (
        <div className={styles.actions}>
          <button
            type="button"
            className="quiet"
            disabled={work.busy}
            onClick={() => void work.run(() => requests.changeUser(user.name, { admin: !user.admin }))}
          >
            {t(user.admin ? "users.takeAdmin" : "users.giveAdmin")}
          </button>
          <button type="button" className="quiet" aria-expanded={resetting} onClick={() => setResetting(!resetting)}>
            {t("users.setPassword")}
          </button>
          <ConfirmButton
            label={t("remove")}
            name={t("users.removeName", { name: user.name })}
            question={t("users.question", { name: user.name })}
            confirmLabel={t("remove")}
            onConfirm={() => void work.run(() => requests.removeUser(user.name))}
          />
        </div>
      )}
      <Problem text={work.error} />
      {resetting && <ResetPassword name={user.name} onDone={() => setResetting(false)} />}
    </li>
  );
}

function ResetPassword({ name, onDone }: { name: string; onDone: () => void }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [password, setPassword] = useState("");
  const save = useAction(async () => {
    await requests.changeUser(name, { password });
    onDone();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form className={`${styles.stack} ${styles.narrow}`} onSubmit={submit}>
      <PasswordField
        label={t("users.newPassword", { name })}
        hint={t("users.newPasswordHint")}
        kind="new"
        autoFocus
        value={password}
        onChange={setPassword}
      />
      <Problem text={save.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        <button type="button" className="quiet" onClick={onDone}>
          {t("cancel")}
        </button>
      </div>
    </form>
  );
}
