import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useActions } from "../state/context";
import styles from "./frame.module.css";

/** Shown until the page knows whether a user is signed in. */
export function Splash() {
  const { t } = useTranslation("frame");
  const actions = useActions();
  const resume = useAction(actions.resume);
  const { run } = resume;
  const arrived = useRef(false);
  useEffect(() => {
    // Automatically only once; after that the user presses the button.
    if (arrived.current) return;
    arrived.current = true;
    void run();
  }, [run]);
  return (
    <main className={styles.centered} aria-busy={resume.busy}>
      <h1 className="unseen">Sandbridge</h1>
      <p role="status">{resume.error ?? t("connecting")}</p>
      {resume.error !== null && (
        <button type="button" className="primary" onClick={() => void resume.run()}>
          {t("tryAgain")}
        </button>
      )}
    </main>
  );
}
