import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { duration } from "../../lib/format";
import { useAction } from "../../lib/useAction";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { placeName } from "../../state/where";
import { openPanel } from "../open";
import { type ExecView, execs } from "../requests";
import { TaskOutput } from "./TaskOutput";
import { useTasks } from "./useTasks";
import { classes } from "../../lib/classes";
import styles from "./tasks.module.css";
import marks from "../../kit/marks.module.css";

/** All running tasks of the user, and ended background tasks. */
export default function TasksPanel() {
  const { t } = useTranslation("panels");
  const { running, ended, error, reload } = useTasks();
  if (running === null || ended === null) {
    return error === null ? <p className={`hint ${styles.tasksNone}`}>{t("task.loading")}</p> : <p className={`problem ${styles.tasksNone}`}>{error}</p>;
  }
  return (
    <div className={styles.tasks} role="region" aria-label={t("task.list")} tabIndex={0}>
      {error !== null && (
        <p className={`problem ${styles.tasksNone}`} role="alert">
          {error}
        </p>
      )}
      <Section title={t("task.running")} empty={t("task.none")} tasks={running} onChange={reload} />
      <Section title={t("task.ended")} empty={t("task.noneEnded")} tasks={ended} onChange={reload} />
    </div>
  );
}

function Section({ title, empty, tasks, onChange }: { title: string; empty: string; tasks: ExecView[]; onChange: () => void }) {
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className={marks.badge}>{tasks.length}</span>
      </h3>
      {tasks.length === 0 ? (
        <p className={`hint ${styles.tasksNone}`}>{empty}</p>
      ) : (
        <ul>
          {tasks.map((task) => (
            <Task key={task.exec_id} task={task} onChange={onChange} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Task({ task, onChange }: { task: ExecView; onChange: () => void }) {
  const { t } = useTranslation("panels");
  const { absolute, relative } = useTimeWords();
  const [isOpen, setIsOpen] = useState(false);
  const now = useNow();
  const kill = useAction(async () => {
    await execs.cancel(task.exec_id);
    onChange();
  });
  const isRunning = task.status === "running";
  const name = task.command;
  const time = task.finished_at === null ? null : duration(task.finished_at - task.started_at);
  const details: ReactNode[] = [
    <StatusText task={task} key="status" />,
    task.runner === null ? null : <strong key="place">{placeName(task.runner)}</strong>,
    <time key="time" dateTime={new Date(task.started_at).toISOString()} title={absolute(task.started_at)}>
      {t("task.startedAt", { time: relative(task.started_at, now) })}
    </time>,
    time === null ? null : <span key="duration">{time}</span>,
    <span key="kind">{kindOf(task, t)}</span>,
  ];
  return (
    <li className={classes(styles.task, styles[toneOf(task)])} data-testid="task" data-status={task.status}>
      <div className={styles.taskHead}>
        <button type="button" className={`quiet ${styles.toggle}`} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
          <code>{name}</code>
        </button>
        {isRunning && task.terminal && (
          <button
            type="button"
            className="quiet"
            onClick={() => openPanel("terminal", { terminal: { exec_id: task.exec_id, place: task.runner } })}
          >
            {t("task.show")}
          </button>
        )}
        {isRunning &&
          (kill.busy ? (
            <span className="hint" role="status">
              {t("task.ending")}
            </span>
          ) : (
            <ConfirmButton
              label={t("task.kill")}
              name={t("task.killOf", { command: name })}
              question={t("task.killQuestion")}
              confirmLabel={t("task.killYes")}
              onConfirm={() => void kill.run()}
            />
          ))}
      </div>
      <p className={styles.taskFacts}>{details}</p>
      {task.error !== null && <p className="problem">{task.error}</p>}
      {kill.error !== null && (
        <p className="problem" role="alert">
          {kill.error}
        </p>
      )}
      {isOpen && <TaskOutput task={task} />}
    </li>
  );
}

function StatusText({ task }: { task: ExecView }) {
  const { t } = useTranslation("panels");
  const code = task.status === "signaled" ? task.signal : task.code;
  return (
    <span className={styles.status} data-testid="task-status">
      {t(`task.status.${task.status}`, { code: code ?? "?" })}
    </span>
  );
}

function kindOf(task: ExecView, t: (key: "task.terminal" | "task.inChat" | "task.background") => string): string {
  if (task.terminal) return t("task.terminal");
  return task.chat_id === null || (task.detached && !task.in_chat) ? t("task.background") : t("task.inChat");
}

function toneOf(task: ExecView): string {
  if (task.status === "running") return "running";
  return task.status === "exited" && task.code === 0 ? "good" : "bad";
}
