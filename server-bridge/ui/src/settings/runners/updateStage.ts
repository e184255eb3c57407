/** The state of a runner's update, as far as this page requested it. Pure. */
import type { Runner } from "../../types";

/** A request for an update, and its answer. */
export interface Asked {
  /** The version that the machine has downloaded; null while it downloads. */
  version: string | null;
  /** The number of commands that were running at that time. */
  running: number;
  /** The connection at the time of the request. */
  connectedAt: number | null;
}

/** `current`: no newer version is offered. `older`: one is offered, and no update was requested. */
export type Stage = "current" | "older" | "downloading" | "waiting" | "restarting" | "done" | "failed";

export function stageOf(asked: Asked | null, runner: Runner): Stage {
  if (runner.update === null) return asked === null ? "current" : "done";
  if (asked === null) return "older";
  if (asked.version === null) return "downloading";
  if (!runner.online) return "restarting";
  if (runner.connected_at === asked.connectedAt) return "waiting";
  // The runner returned unchanged. Without a reported error it was only restarted, and the update can be requested again.
  return runner.update_error === null ? "older" : "failed";
}
