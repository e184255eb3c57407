/** Changes of a chain's list of steps. */
import { randomId } from "../lib/randomId";
import type { Step } from "./types";

/** A step with a key that stays while it is moved. */
export interface KeyedStep {
  key: string;
  step: Step;
}

export const keyed = (steps: Step[]): KeyedStep[] => steps.map((step) => ({ key: randomId(), step }));

export const emptyStep = (agent: string): Step => ({ agent, instruction: "", gate: false, retries: 0 });

/** The list with the step at `from` moved to `to`; unchanged if one of them is not in it. */
export function moved<T>(steps: readonly T[], from: number, to: number): T[] {
  const rest = steps.filter((_, at) => at !== from);
  const step = steps[from];
  if (step === undefined || to < 0 || to >= steps.length) return [...steps];
  return [...rest.slice(0, to), step, ...rest.slice(to)];
}

/** The outputs that a step hands to the next one, from a field. */
export const pathsOf = (text: string): string[] => text.split(",").map((path) => path.trim()).filter((path) => path !== "");

/** A time in seconds as minutes in a form, and back; empty for the usual one. */
export const minutesOf = (seconds: number | null | undefined): string => (seconds == null ? "" : String(Math.round(seconds / 6) / 10));
export function secondsOf(minutes: string): number | undefined {
  const value = Number(minutes);
  return minutes.trim() === "" || Number.isNaN(value) ? undefined : Math.round(value * 60);
}
