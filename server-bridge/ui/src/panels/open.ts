/**
 * Opens a panel from anywhere on the page: from a card of the chat or another panel. The page around the panels listens with
 * `onPanelWanted`; the panel's target is stored here, since its chunk may not be loaded yet.
 */
import type { Panel } from ".";

/** The target to show: a running terminal, or a path in the workspace. */
export interface Target {
  terminal?: { exec_id: string; place: string | null };
  path?: string;
  /** Opens a shell at once if there is no terminal yet. Set if the user asked for the panel, not if it stayed open across a reload. */
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

/** Requests a shell from the terminal panel, unless it already has a target. */
export function askForShell(): void {
  if (!targets.has("terminal")) targets.set("terminal", { shell: true });
}

/** Calls `listener` whenever a panel should be shown; returns a function that stops it. */
export function onPanelWanted(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** For a panel: calls `show` with its target, now and later; returns a function that stops it. */
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
