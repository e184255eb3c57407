/** The keys that control the list of completions while the focus stays in the field. */
import type { KeyboardEvent } from "react";
import type { Completion } from "./completion";

export interface Marked {
  found: Completion[];
  marked: number;
  /** True if the text already equals the marked completion: Enter then sends it. */
  isWhole: boolean;
  mark: (at: number) => void;
  /** Closes the list for this word. */
  dismiss: () => void;
}

/** Handles a key that is meant for the list of completions; returns whether it was. */
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
