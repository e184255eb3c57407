/** The result of a Shell call as the model reads it, split up for display. Pure. */

/** How the command ended, as far as its result shows. */
export type ShellEnding = { kind: "exited"; code: number } | { kind: "signaled"; signal: number } | { kind: "expired" };

export interface ShellResult {
  /** The output of the command, without the lines that the server appended. */
  output: string;
  ending: ShellEnding | null;
  /** True if the sandbox denied the command something. */
  denied: boolean;
}

/** Advice to the model that is of no use to the user. */
const ADVICE = /^Do NOT retry the same command\./;
const DENIED = /^\(the sandbox denied it something: .*\)$/;
const CANCELLED = "(cancelled by the user)";

/**
 * Removes the lines that the server appends to the output, from the last line up: at most one of each, in order, so that no line of
 * the output itself is mistaken for one.
 */
export function shellResult(text: string): ShellResult {
  const lines = text.split("\n");
  const takes = (isIt: (line: string) => boolean) => lines.length > 0 && isIt(lines.at(-1) ?? "") && lines.pop() !== undefined;
  takes((line) => ADVICE.test(line));
  const denied = takes((line) => DENIED.test(line));
  const ending = endingOf(lines.at(-1) ?? "");
  if (ending === null && lines.at(-1) !== CANCELLED) return denied ? { output: lines.join("\n"), ending, denied } : { output: text, ending, denied };
  lines.pop();
  return { output: lines.join("\n"), ending, denied };
}

function endingOf(line: string): ShellEnding | null {
  const code = /^\(exit code (-?\d+)\)$/.exec(line)?.[1];
  if (code !== undefined) return { kind: "exited", code: Number(code) };
  const signal = /^\(killed by signal (\d+)\)$/.exec(line)?.[1];
  if (signal !== undefined) return { kind: "signaled", signal: Number(signal) };
  return /^\(ended: it ran for \d+ hours\)$/.test(line) ? { kind: "expired" } : null;
}
