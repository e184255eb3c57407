import { Circle, CircleCheck, CircleDot } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Todo } from "../types";
import styles from "./chat.module.css";

const ICON = { pending: Circle, in_progress: CircleDot, completed: CircleCheck } as const;

/** The model's to-do list as it was at this point of the chat. */
export function TodoItems({ items }: { items: Todo[] }) {
  const { t } = useTranslation("chat");
  return (
    <ul className={styles.todos} data-testid="todos">
      {items.map((item, at) => {
        const Icon = ICON[item.status];
        return (
          <li key={at} className={styles[item.status]}>
            <Icon role="img" aria-label={t(`todos.${item.status}`)} />
            <span>{item.content}</span>
          </li>
        );
      })}
    </ul>
  );
}
