import { useTranslation } from "react-i18next";
import { fileUrl } from "../../api";
import { DownloadLink } from "../../kit/DownloadLink";
import { useAction } from "../../lib/useAction";
import { useActions } from "../../state/context";
import type { LiveOutput } from "../../state/output";
import type { Exec, Message } from "../../types";
import { execSummary } from "./execSummary";
import { OutputView } from "./OutputView";
import { classes } from "../../lib/classes";
import styles from "./cards.module.css";

interface Props {
  message: Message;
  exec: Exec;
  live: LiveOutput | undefined;
}

/** One command: its text, its output, and how and where it ended. */
export function ExecCard({ message, exec, live }: Props) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const cancel = useAction(actions.cancel);
  const { text, tone } = execSummary(exec, t);
  return (
    <div className={classes(styles.execCard, styles[tone])} data-tone={tone}>
      {/* A long command scrolls, by keys, too. */}
      <pre className={styles.command} role="group" tabIndex={0} aria-label={t("command")}>
        <span className={styles.prompt} aria-hidden="true">
          ${" "}
        </span>
        <code>{exec.command}</code>
      </pre>
      <OutputView text={message.text} live={live} />
      {exec.error !== null && <p className="problem">{exec.error}</p>}
      <footer>
        <span className={styles.status} data-testid="exec-status">
          {text}
        </span>
        {exec.output_path !== null && (
          <DownloadLink address={fileUrl(exec.output_path, exec.runner)}>{t("wholeOutput")}</DownloadLink>
        )}
        {exec.status === "running" && (
          <button type="button" disabled={cancel.busy} onClick={() => void cancel.run(message.chat_id)}>
            {cancel.busy ? t("turn.cancelling") : t("turn.cancel")}
          </button>
        )}
        {cancel.error !== null && (
          <span className="problem" role="alert">
            {cancel.error}
          </span>
        )}
      </footer>
    </div>
  );
}
