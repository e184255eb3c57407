import type { Runner } from "../types";

/** For example "laptop.local · linux · x86_64", as far as the machine reported it. */
export function machine(runner: Runner): string {
  return [runner.hostname, runner.os, runner.arch].filter((part) => part !== null).join(" · ");
}
