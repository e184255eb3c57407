/** Functions that change a chain's list of steps. */
import { randomId } from "../lib/randomId";
import type { Step } from "./types";

/** A step with a key that stays while it is moved. */
export interface KeyedStep {
  key: string;
  step: Step;
}

export const keyed = (steps: Step[]): KeyedStep[] => steps.map((step) => ({ key: randomId(), step }));

export const emptyStep = (agent: string): Step => ({ agent, instruction: "", gate: false, retries: 0 });

/** The handles that no agent of the group has in any case, each once. */
export function strangers(handles: readonly string[], agents: readonly string[]): string[] {
  const known = new Set(agents.map((agent) => agent.toLowerCase()));
  return [...new Set(handles)].filter((handle) => handle !== "" && !known.has(handle.toLowerCase()));
}

/** The list with the step at `from` moved to `to`; unchanged if one of them is not in it. */
export function moved<T>(steps: readonly T[], from: number, to: number): T[] {
  const rest = steps.filter((_, at) => at !== from);
  const step = steps[from];
  if (step === undefined || to < 0 || to >= steps.length) return [...steps];
  return [...rest.slice(0, to), step, ...rest.slice(to)];
}

/** The paths of the outputs that a step hands to the next step, from a comma-separated field. */
export const pathsOf = (text: string): string[] => text.split(",").map((path) => path.trim()).filter((path) => path !== "");

/** A time in seconds as minutes in a form, and back; empty for the default. */
export const minutesOf = (seconds: number | null | undefined): string => (seconds == null ? "" : String(Math.round(seconds / 6) / 10));
/** The number of tokens entered in a form; undefined if the field is empty. */
export function tokensOf(text: string): number | undefined {
  const value = Number(text.replaceAll(/[\s,]/gu, ""));
  return text.trim() === "" || Number.isNaN(value) ? undefined : Math.round(value);
}
/** Millionths of a dollar as dollars in a form, and back; empty for none. */
export const dollarsOf = (micros: number | null | undefined): string => (micros == null ? "" : (micros / 1_000_000).toFixed(2));
export function microsOf(dollars: string): number | undefined {
  const value = Number(dollars.replace("$", ""));
  return dollars.trim() === "" || Number.isNaN(value) ? undefined : Math.round(value * 1_000_000);
}
export function secondsOf(minutes: string): number | undefined {
  const value = Number(minutes);
  return minutes.trim() === "" || Number.isNaN(value) ? undefined : Math.round(value * 60);
}
