/** How the update of a runner stands, as far as this page asked for it. Pure. */
import type { Runner } from "../../types";

/** What was asked for, and answered. */
export interface Asked {
  /** The version that the machine has downloaded; null while it downloads. */
  version: string | null;
  /** Commands that ran there then. */
  running: number;
  /** The connection that was asked. */
  connectedAt: number | null;
}

/** `current`: there is nothing newer. `older`: there is, and nobody asked. */
export type Stage = "current" | "older" | "downloading" | "waiting" | "restarting" | "done" | "failed";

export function stageOf(asked: Asked | null, runner: Runner): Stage {
  if (runner.update === null) return asked === null ? "current" : "done";
  if (asked === null) return "older";
  if (asked.version === null) return "downloading";
  if (!runner.online) return "restarting";
  if (runner.connected_at === asked.connectedAt) return "waiting";
  // It is back as it was: where it says nothing of the update, it was started anew, and can be asked again.
  return runner.update_error === null ? "older" : "failed";
}
