import type { Runner } from "../types";

/** A machine's facts, such as "laptop.local · linux · x86_64", as far as it reported them. */
export function machine(runner: Runner): string {
  return [runner.hostname, runner.os, runner.arch].filter((part) => part !== null).join(" · ");
}
