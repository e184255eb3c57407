import { ChevronRight } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import type { Todo } from "../types";
import { useFold } from "./folds";
import { TodoItems } from "./TodoItems";
import styles from "./chat.module.css";
import marks from "../kit/marks.module.css";

/** The to-do list, shown above the composer until everything is done. */
export function TodoPanel({ items }: { items: Todo[] }) {
  const { t } = useTranslation("chat");
  const list = useId();
  const [open, toggle] = useFold("todos", false);
  const current = items.find((item) => item.status === "in_progress") ?? items.find((item) => item.status === "pending");
  const done = items.filter((item) => item.status === "completed").length;
  return (
    <section className={styles.todoPanel} aria-label={t("todos.title")}>
      <button type="button" className="quiet" aria-expanded={open} aria-controls={list} onClick={toggle}>
        <ChevronRight className={marks.chevron} aria-hidden="true" />
        <strong>{t("todos.progress", { done, all: items.length })}</strong>
        {!open && <span className={styles.current}>{current?.content}</span>}
      </button>
      <div id={list} hidden={!open}>
        {open && <TodoItems items={items} />}
      </div>
    </section>
  );
}
