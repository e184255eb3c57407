import type { Todo } from "../types";

const MARK: Record<Todo["status"], string> = { pending: "○", in_progress: "◐", completed: "●" };
const WORD: Record<Todo["status"], string> = { pending: "to do", in_progress: "under way", completed: "done" };

/** What the model wants to do, as it stands at that point of the chat. */
export function TodoList({ items }: { items: Todo[] }) {
  return (
    <ul className="todos" data-testid="todos">
      {items.map((item, at) => (
        <li key={at} className={item.status}>
          <span aria-label={WORD[item.status]}>{MARK[item.status]}</span> {item.content}
        </li>
      ))}
    </ul>
  );
}
