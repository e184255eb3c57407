/** The list of a group's runs, which is read in parts. */
import type { Run } from "./types";

/** The most runs that the server sends at once. */
export const RUNS_AT_ONCE = 20;

/** The newest part, as it is now, and what was read before, the newest first; each run once. */
export function merged(newest: readonly Run[], before: readonly Run[]): Run[] {
  const known = new Set(newest.map(({ id }) => id));
  return [...newest, ...before.filter(({ id }) => !known.has(id))].sort((one, other) => other.id - one.id);
}
