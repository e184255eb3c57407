import { Suspense, lazy, useState } from "react";
import { useTranslation } from "react-i18next";
import { forEditing } from "./text";
import styles from "./files.module.css";

const Difference = lazy(() => import("./Difference"));

/** The file's current content; null if the file was deleted or is no longer text. */
export interface Theirs {
  now: { text: string; hash: string } | null;
}

interface Props {
  mine: string;
  theirs: Theirs;
  busy: boolean;
  onOverwrite: () => void;
  onReload: (now: { text: string; hash: string }) => void;
  onGoOn: () => void;
}

/** Shown if the file has changed since it was opened: the possible actions, and the difference. */
export function Conflict({ mine, theirs, busy, onOverwrite, onReload, onGoOn }: Props) {
  const { t } = useTranslation("panels");
  const [isShown, setIsShown] = useState(false);
  const [isSure, setIsSure] = useState(false);
  const { now } = theirs;
  return (
    <div className={styles.fileConflict} role="alertdialog" aria-label={t("file.conflict")}>
      <p>{now === null ? t("file.conflictGone") : t("file.conflict")}</p>
      <div className={styles.fileButtons}>
        {now !== null && (
          <button type="button" aria-expanded={isShown} onClick={() => setIsShown(!isShown)}>
            {t("file.difference")}
          </button>
        )}
        <button type="button" className="danger" disabled={busy} onClick={onOverwrite}>
          {t("file.overwrite")}
        </button>
        {now !== null && (
          <button type="button" className="danger" onClick={() => (isSure ? onReload(now) : setIsSure(true))}>
            {isSure ? t("file.reallyTheirs") : t("file.theirs")}
          </button>
        )}
        <button type="button" className="quiet" onClick={onGoOn}>
          {t("file.goOn")}
        </button>
      </div>
      {isShown && now !== null && (
        <Suspense fallback={<p className="hint">{t("file.loading")}</p>}>
          <Difference theirs={forEditing(now.text)} mine={mine} />
        </Suspense>
      )}
    </div>
  );
}
