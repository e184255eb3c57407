/** The state of a runner's update, as far as this page requested it. Pure. */
import type { Runner } from "../../types";

/** A request for an update, and its answer. */
export interface Asked {
  /** The version that the machine has downloaded; null while it downloads. */
  version: string | null;
  /** Commands that were running there at that time. */
  running: number;
  /** The connection at the time of the request. */
  connectedAt: number | null;
}

/** `current`: there is nothing newer. `older`: there is, and no update was requested. */
export type Stage = "current" | "older" | "downloading" | "waiting" | "restarting" | "done" | "failed";

export function stageOf(asked: Asked | null, runner: Runner): Stage {
  if (runner.update === null) return asked === null ? "current" : "done";
  if (asked === null) return "older";
  if (asked.version === null) return "downloading";
  if (!runner.online) return "restarting";
  if (runner.connected_at === asked.connectedAt) return "waiting";
  // It is back unchanged: if it reports nothing about the update, it was restarted, and the update can be requested again.
  return runner.update_error === null ? "older" : "failed";
}
