/** Handles in chains that were written for another group. Pure. */

/** The beginning of a step in a chain's text: `1. @writer`, also with `)` or `、` after the number, or with `-` in place of the number. */
const STEP = /^((?:\d+[.)、]|[-*])[^\S\n]*@)([\p{Alphabetic}\p{N}_-]+)/gmu;

/** The agents of the steps of a chain's text. */
export const handlesIn = (text: string): string[] => [...text.matchAll(STEP)].map((found) => found[2] ?? "");

/**
 * The agent of the group that a handle stands for, if that is obvious: the one with this handle in any case, or the only one that contains it
 * as a word, as `rust-coder` contains `coder`. Otherwise the handle unchanged.
 */
export function fitting(handle: string, agents: readonly string[]): string {
  const wanted = handle.toLowerCase();
  const same = agents.find((agent) => agent.toLowerCase() === wanted);
  if (same !== undefined) return same;
  const [named, ...others] = agents.filter((agent) => agent.toLowerCase().split(/[^\p{Alphabetic}]+/u).includes(wanted));
  return named !== undefined && others.length === 0 ? named : handle;
}

/** A chain's text with each handle replaced by the obvious agent of the group, if there is one. */
export const fitted = (text: string, agents: readonly string[]): string => text.replace(STEP, (_, before: string, handle: string) => before + fitting(handle, agents));

/** The handles that do not belong to an agent of the group, without duplicates. */
export function strangers(handles: readonly string[], agents: readonly string[]): string[] {
  const known = new Set(agents.map((agent) => agent.toLowerCase()));
  return [...new Set(handles)].filter((handle) => handle !== "" && !known.has(handle.toLowerCase()));
}
