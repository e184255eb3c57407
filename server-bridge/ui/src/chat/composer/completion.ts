/** The composer's completions at the caret: slash commands, arguments of extensions' commands, and file paths. Pure. */
import type { CommandLine, PathEntry } from "../../types";

/** A word to be completed, from `start` to the caret. */
export interface Wanted {
  kind: "command" | "argument" | "path";
  /** The word without its `/` or `@`; for an argument, the whole text before the caret. */
  prefix: string;
  start: number;
}

export interface Completion {
  /** The text that replaces the word. */
  insert: string;
  label: string;
  about: string;
  /** True for a directory, whose contents can be completed next. */
  goesOn: boolean;
}

/** The word at the caret, if there is something to complete. */
export function wantedAt(text: string, caret: number): Wanted | null {
  const before = text.slice(0, caret);
  const command = /^\/([\w:-]*)$/.exec(before);
  if (command) return { kind: "command", prefix: command[1] ?? "", start: 0 };
  const path = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (path) return { kind: "path", prefix: path[1] ?? "", start: caret - (path[1] ?? "").length - 1 };
  const argument = /^\/[\w-]+:[\w-]+ (?:.*\s)?(?:[\w-]+=)?([^\s=]*)$/.exec(before);
  return argument ? { kind: "argument", prefix: before, start: caret - (argument[1] ?? "").length } : null;
}

/** Commands whose word begins with the prefix; a command with several lines in the help is listed once. */
export function matchingCommands(commands: CommandLine[], prefix: string): Completion[] {
  const words = [...new Set(commands.map((command) => command.word))].filter((word) => word.startsWith(prefix));
  return words.map((word) => {
    const line = commands.find((command) => command.word === word);
    return { insert: `/${word} `, label: line?.usage ?? `/${word}`, about: line?.about ?? "", goesOn: false };
  });
}

export function matchingPaths(entries: PathEntry[]): Completion[] {
  return entries.map(({ path, kind }) => {
    const isDirectory = kind === "directory";
    const whole = isDirectory && !path.endsWith("/") ? `${path}/` : path;
    return { insert: isDirectory ? `@${whole}` : `@${whole} `, label: whole, about: "", goesOn: isDirectory };
  });
}

/** Suggested values of an argument; a value with spaces is put in quotes. */
export function matchingValues(values: string[]): Completion[] {
  return values.map((value) => ({ insert: /\s/.test(value) ? `"${value}" ` : `${value} `, label: value, about: "", goesOn: false }));
}

/** A text with a word completed, and the new position of the caret. */
export function completed(text: string, caret: number, wanted: Pick<Wanted, "start">, completion: Completion): { text: string; caret: number } {
  const before = text.slice(0, wanted.start) + completion.insert;
  return { text: before + text.slice(caret).replace(/^ /, completion.goesOn ? " " : ""), caret: before.length };
}
