/** The list of a group's runs, which is loaded in parts. */
import type { Run } from "./types";

/** The maximum number of runs in one response of the server. */
export const RUNS_AT_ONCE = 20;

/** The newest part as just loaded, followed by the parts loaded earlier, newest first, without duplicates. */
export function merged(newest: readonly Run[], before: readonly Run[]): Run[] {
  const known = new Set(newest.map(({ id }) => id));
  return [...newest, ...before.filter(({ id }) => !known.has(id))].sort((one, other) => other.id - one.id);
}
