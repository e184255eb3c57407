/**
 * Opens a panel from anywhere on the page: a card of the chat, another panel. The page around the panels listens with
 * `onPanelWanted`; what a panel is to show is left here for it, since its chunk may not be there yet.
 */
import type { Panel } from ".";

/** What to show: a terminal that runs already, or a path of the workspace. */
export interface Target {
  terminal?: { exec_id: string; place: string | null };
  path?: string;
  /** A shell at once, where no terminal is there yet: somebody asked for the panel, and it was not just kept open. */
  shell?: true;
}

type Listener = (panel: Panel["id"]) => void;

const listeners = new Set<Listener>();
const targets = new Map<Panel["id"], Target>();
const targetListeners = new Set<Listener>();

export function openPanel(panel: Panel["id"], target?: Target): void {
  if (target !== undefined) targets.set(panel, target);
  for (const listener of listeners) listener(panel);
  for (const listener of targetListeners) listener(panel);
}

/** Leaves word for the panel of terminals, unless it is to show one that runs already. */
export function askForShell(): void {
  if (!targets.has("terminal")) targets.set("terminal", { shell: true });
}

/** Calls `listener` whenever a panel is to be shown; returns how to stop that. */
export function onPanelWanted(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** For a panel: calls `show` with what it was opened for, now and later; returns how to stop that. */
export function onTarget(panel: Panel["id"], show: (target: Target) => void): () => void {
  const take = (wanted: Panel["id"]) => {
    const target = targets.get(panel);
    if (wanted !== panel || target === undefined) return;
    targets.delete(panel);
    show(target);
  };
  take(panel);
  targetListeners.add(take);
  return () => targetListeners.delete(take);
}
