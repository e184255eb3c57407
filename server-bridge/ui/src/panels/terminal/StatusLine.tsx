import { useTranslation } from "react-i18next";
import { useActions } from "../../state/context";
import { placeName } from "../../state/where";
import type { End } from "./link";
import type { TerminalView } from "./session";
import { terminals } from "./terminals";
import styles from "./terminal.module.css";

/** Below a terminal: its place, its state, and questions for the user. */
export function StatusLine({ view }: { view: TerminalView }) {
  const { t } = useTranslation("panels");
  const place = view.place === null ? null : placeName(view.place);
  return (
    <div className={styles.terminalStatus}>
      {view.copy !== null && <CopyQuestion view={view} text={view.copy} />}
      {view.paste_refused && (
        <p className="problem" role="alert">
          {t("term.pasteTooLarge")}
        </p>
      )}
      <div className={styles.terminalLine} data-testid="terminal-status" data-state={view.state.kind}>
        {place !== null && <strong title={t("term.where")}>{place}</strong>}
        <span className={styles.said} role="status">
          <State view={view} />
        </span>
        {view.link !== null && <span className={`hint ${styles.link}`}>{t("term.followLink", { address: view.link })}</span>}
        <Remedy view={view} />
      </div>
    </div>
  );
}

function State({ view }: { view: TerminalView }) {
  const { t } = useTranslation("panels");
  switch (view.state.kind) {
    case "connecting":
      return t("term.connecting");
    case "open":
      return view.title;
    case "away":
      return <span className="caution">{t("term.away")}</span>;
    case "lost":
      return <span className="caution">{t("term.lost")}</span>;
    case "ended":
      return <EndText end={view.state.end} />;
  }
}

function EndText({ end }: { end: End }) {
  const { t } = useTranslation("panels");
  if (end.type === "error") return <span className="problem">{end.message}</span>;
  if (end.cancelled) return t("term.wasEnded");
  if (end.signal !== null) return t("term.bySignal", { signal: end.signal });
  return t("term.exited", { code: end.code ?? "?" });
}

/** The actions for a terminal that is not connected. */
function Remedy({ view }: { view: TerminalView }) {
  const { t } = useTranslation("panels");
  const { exec_id: id, state } = view;
  if (state.kind === "lost") {
    return (
      <button type="button" onClick={() => terminals.find(id)?.retry()}>
        {t("term.tryNow")}
      </button>
    );
  }
  if (state.kind !== "ended") return null;
  return (
    <>
      {state.end.type === "error" && (
        <button type="button" onClick={() => terminals.reattach(id)}>
          {t("term.lookAgain")}
        </button>
      )}
      <button type="button" onClick={() => terminals.restart(id)}>
        {t("term.restart")}
      </button>
    </>
  );
}

/** Asks before a program's text is copied to the clipboard, because the user might paste a malicious command. */
function CopyQuestion({ view, text }: { view: TerminalView; text: string }) {
  const { t } = useTranslation("panels");
  const actions = useActions();
  const answer = (allow: boolean) => void terminals.find(view.exec_id)?.answerCopy(allow).catch(actions.report);
  return (
    <div className={styles.terminalQuestion} role="group" aria-label={t("term.copyQuestion")}>
      <p>{t("term.copyQuestion")}</p>
      <pre tabIndex={0} aria-label={t("term.copyText")}>
        {text}
      </pre>
      <button type="button" onClick={() => answer(true)}>
        {t("term.copyAllow")}
      </button>
      <button type="button" className="quiet" onClick={() => answer(false)}>
        {t("term.copyRefuse")}
      </button>
    </div>
  );
}
