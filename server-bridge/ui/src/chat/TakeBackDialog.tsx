import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, errorText } from "../api";
import { Dialog } from "../kit/Dialog";
import { useActions } from "../state/context";
import type { Message } from "../types";
import styles from "./chat.module.css";

interface Props {
  message: Message;
  onClose: () => void;
}

/** Asks how to take a message back, and asks again if something else has changed one of its files since. */
export function TakeBackDialog({ message, onClose }: Props) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const [files, setFiles] = useState(true);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<{ text: string; isConflict: boolean } | null>(null);
  const takeBack = async (force: boolean) => {
    setBusy(true);
    try {
      await actions.takeBack(message, { files, force });
      onClose();
    } catch (error) {
      setProblem({ text: errorText(error), isConflict: error instanceof ApiError && error.status === 409 });
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("takeBack.title")} onClose={onClose}>
      <div className={styles.takeBack}>
        <p>{t("takeBack.about")}</p>
        <label className={styles.check}>
          <input type="checkbox" checked={files} onChange={(event) => setFiles(event.target.checked)} /> {t("takeBack.files")}
        </label>
        {problem !== null && (
          <p className="problem" role="alert">
            {problem.text}
          </p>
        )}
        {problem?.isConflict && <p className="caution">{t("takeBack.forceAbout")}</p>}
        <div className={styles.answers}>
          <button type="button" className="quiet" onClick={onClose}>
            {t("takeBack.keep")}
          </button>
          <button type="button" className="danger" disabled={busy} onClick={() => void takeBack(problem?.isConflict === true)}>
            {problem?.isConflict ? t("takeBack.force") : t("takeBack.confirm")}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
