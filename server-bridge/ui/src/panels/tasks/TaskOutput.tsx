import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { plainText } from "../../lib/terminal";
import { TASKS_REFRESH_MS, TASK_HEAD_BYTES, TASK_TAIL_BYTES } from "../../limits";
import { useStickToEnd } from "../../lib/useStickToEnd";
import { type ExecView, execs } from "../requests";
import { bytesText } from "../size";
import styles from "./tasks.module.css";

/** The beginning and the end of a task's output, updated while it runs. */
export function TaskOutput({ task }: { task: ExecView }) {
  const { t } = useTranslation("panels");
  const isRunning = task.status === "running";
  const { data: report, error, refetch } = useQuery({
    queryKey: ["output of a task", task.exec_id],
    queryFn: () => execs.report(task.exec_id, TASK_HEAD_BYTES, TASK_TAIL_BYTES),
    refetchInterval: isRunning && TASKS_REFRESH_MS,
  });
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    // Loads the last part once the task has ended.
    if (wasRunning.current && !isRunning) void refetch();
    wasRunning.current = isRunning;
  }, [isRunning, refetch]);

  const [view, onScroll] = useStickToEnd<HTMLPreElement>(report?.output_bytes);
  if (error !== null) return <p className={`problem ${styles.taskOutput}`}>{errorText(error)}</p>;
  if (report === undefined) return <p className={`hint ${styles.taskOutput}`}>{t("task.loading")}</p>;
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
