import { type FormEvent, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { onConfirmation } from "../api/confirmation";
import { Dialog } from "../kit/Dialog";
import { useAction } from "../lib/useAction";
import { PasswordField } from "../settings/PasswordField";
import { Problem } from "../settings/parts";
import { useActions, useAppState } from "../state/context";
import dialogs from "../kit/Dialog.module.css";

/** Asks for the password again when the server requires it; the interrupted action continues after it. */
export function PasswordPrompt() {
  const [answer, setAnswer] = useState<((isGiven: boolean) => void) | null>(null);
  useEffect(() => onConfirmation(() => new Promise((resolve) => setAnswer(() => resolve))), []);
  if (answer === null) return null;
  const end = (isGiven: boolean) => {
    setAnswer(null);
    answer(isGiven);
  };
  return <Prompt onEnd={end} />;
}

function Prompt({ onEnd }: { onEnd: (isGiven: boolean) => void }) {
  const { t } = useTranslation("frame");
  const { me } = useAppState("me");
  const { confirm } = useActions();
  const [password, setPassword] = useState("");
  const give = useAction(() => confirm(password));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    // React would pass the event on to a form that contains this dialog in the React tree.
    event.stopPropagation();
    if (await give.run()) onEnd(true);
  };
  return (
    <Dialog title={t("confirm.title")} onClose={() => onEnd(false)}>
      <form className={dialogs.form} onSubmit={(event) => void submit(event)} aria-busy={give.busy}>
        <p className="hint">{t("confirm.why")}</p>
        <input type="text" autoComplete="username" value={me?.name ?? ""} readOnly hidden />
        <PasswordField label={t("password")} kind="current" autoFocus value={password} onChange={setPassword} />
        <Problem text={give.error} />
        <div>
          <button type="submit" className="primary" disabled={give.busy}>
            {t("confirm.go")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
