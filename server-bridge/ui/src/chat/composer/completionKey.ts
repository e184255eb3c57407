/** The keys of a field whose word at the caret can be completed. */
import type { KeyboardEvent } from "react";
import type { Completion } from "./completion";

export interface Marked {
  found: Completion[];
  marked: number;
  /** True if the marked completion is what is written already: Enter sends it. */
  isWhole: boolean;
  mark: (at: number) => void;
  /** Not for this word. */
  dismiss: () => void;
}

/** True if a key was for the list of completions. */
export function completionKey(event: KeyboardEvent, { found, marked, isWhole, mark, dismiss }: Marked, choose: (completion: Completion) => void): boolean {
  const current = found[marked];
  if (current === undefined) return false;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    mark((marked + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length);
    return true;
  }
  if (event.key === "Escape") {
    dismiss();
    return true;
  }
  if (event.key !== "Tab" && (event.key !== "Enter" || event.shiftKey || isWhole)) return false;
  choose(current);
  return true;
}
