import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { plainText } from "../../lib/terminal";
import { TASKS_REFRESH_MS, TASK_HEAD_BYTES, TASK_TAIL_BYTES } from "../../limits";
import { useStickToEnd } from "../../lib/useStickToEnd";
import { type ExecReport, type ExecView, execs } from "../requests";
import { bytesText } from "../size";
import styles from "./tasks.module.css";

/** Beginning and end of a task's output, renewed while it runs. */
export function TaskOutput({ task }: { task: ExecView }) {
  const { t } = useTranslation("panels");
  const [report, setReport] = useState<ExecReport | null>(null);
  const [error, setError] = useState<string | null>(null);
  const isRunning = task.status === "running";
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let isWanted = true;
    const look = async () => {
      try {
        const found = await execs.report(task.exec_id, TASK_HEAD_BYTES, TASK_TAIL_BYTES);
        if (!isWanted) return;
        setReport(found);
        setError(null);
      } catch (problem) {
        if (isWanted) setError(errorText(problem));
      }
      if (isWanted && isRunning) timer = setTimeout(() => void look(), TASKS_REFRESH_MS);
    };
    void look();
    return () => {
      isWanted = false;
      if (timer !== null) clearTimeout(timer);
    };
  }, [task.exec_id, isRunning]);

  const [view, onScroll] = useStickToEnd<HTMLPreElement>(report?.output_bytes);
  if (error !== null) return <p className={`problem ${styles.taskOutput}`}>{error}</p>;
  if (report === null) return <p className={`hint ${styles.taskOutput}`}>{t("task.loading")}</p>;
  if (report.output_bytes === 0) return <p className={`hint ${styles.taskOutput}`}>{isRunning ? t("task.noOutput") : t("task.noOutputAtAll")}</p>;
  const leftOut = report.output_bytes - TASK_HEAD_BYTES - TASK_TAIL_BYTES;
  return (
    <pre className={styles.taskOutput} ref={view} onScroll={onScroll} tabIndex={0} aria-label={t("task.output", { command: task.command })}>
      {plainText(report.head)}
      {leftOut > 0 && <span className="hint">{`\n${t("task.leftOut", { size: bytesText(leftOut) })}\n`}</span>}
      {plainText(report.tail)}
    </pre>
  );
}
