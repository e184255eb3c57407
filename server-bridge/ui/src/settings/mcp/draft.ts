/** An MCP server being entered in a form. Pure. */
import type { McpServerEntry } from "../types";
import { splitWords } from "./commandLine";

export interface Draft {
  name: string;
  kind: "program" | "address";
  /** The program and its arguments. */
  command: string;
  /** Lines of `NAME=value`. */
  env: string;
  url: string;
  /** The runner through which it is reached; empty for the Sandbridge server itself. */
  via: string;
  /** Lines of `Name: value`. */
  headers: string;
  /** The ID of the client that gets tokens without a login; empty for none. */
  clientId: string;
  clientSecret: string;
  /** Scopes, separated by spaces. */
  scopes: string;
}

/** A field whose text can be invalid. */
export type DraftField = Exclude<keyof Draft, "kind">;

/** The problem with a field, and the line and the name that it concerns, if any. */
export interface DraftProblem {
  kind: "name" | "noCommand" | "openQuote" | "url" | "via" | "noClientId" | "noClientSecret" | "envLine" | "envTwice" | "headerLine" | "headerTwice";
  line?: number;
  name?: string;
}

export type DraftProblems = Partial<Record<DraftField, DraftProblem>>;

export const EMPTY_DRAFT: Draft = {
  name: "",
  kind: "program",
  command: "",
  env: "",
  url: "",
  via: "",
  headers: "",
  clientId: "",
  clientSecret: "",
  scopes: "",
};

/** Narrower than the server's rule, which also applies to files: other characters would become `_` in tool names. */
const NAME = /^(?=.*[A-Za-z0-9])[A-Za-z0-9_.-]{1,32}$/;
const ADDRESS = /^https?:\/\/\S+$/i;
/** The rule for the name of a place, the same as the server's. */
export const PLACE = /^(?!auto$)[a-z0-9_][a-z0-9_.-]{0,62}$/;
const VARIABLE = /^\s*(?<name>[^\s=]+)=(?<value>.*)$/;
const HEADER = /^\s*(?<name>[\w!#$%&'*+.^`|~-]+)\s*:\s*(?<value>.*?)\s*$/;

/** The definition to send, or the problems of the fields of its kind. */
export function entryOf(draft: Draft): { entry: McpServerEntry } | { problems: DraftProblems } {
  const problems: DraftProblems = NAME.test(draft.name.trim()) ? {} : { name: { kind: "name" } };
  const entry = draft.kind === "program" ? programOf(draft, problems) : addressOf(draft, problems);
  return Object.keys(problems).length === 0 ? { entry } : { problems };
}

function programOf(draft: Draft, problems: DraftProblems): McpServerEntry {
  const words = splitWords(draft.command);
  const [command = "", ...args] = words ?? [];
  if (words === null) problems.command = { kind: "openQuote" };
  else if (command === "") problems.command = { kind: "noCommand" };
  const { pairs: env, problem } = pairsOf(draft.env, VARIABLE, { other: "envLine", twice: "envTwice" });
  if (problem !== null) problems.env = problem;
  return { command, args, env };
}

function addressOf(draft: Draft, problems: DraftProblems): McpServerEntry {
  const url = draft.url.trim();
  if (!ADDRESS.test(url)) problems.url = { kind: "url" };
  const { pairs: headers, problem } = pairsOf(draft.headers, HEADER, { other: "headerLine", twice: "headerTwice" }, (name) => name.toLowerCase());
  if (problem !== null) problems.headers = problem;
  const via = draft.via.trim();
  if (via !== "" && !PLACE.test(via)) problems.via = { kind: "via" };
  const oauth = clientOf(draft, problems);
  return { url, headers, ...(via !== "" && { via }), ...(oauth !== null && { oauth }) };
}

/** The client credentials; null if there are none. */
function clientOf(draft: Draft, problems: DraftProblems): McpServerEntry["oauth"] {
  const [clientId, clientSecret] = [draft.clientId.trim(), draft.clientSecret.trim()];
  const scopes = draft.scopes.split(/\s+/).filter((scope) => scope !== "");
  if (clientId === "" && clientSecret === "" && scopes.length === 0) return null;
  if (clientId === "") problems.clientId = { kind: "noClientId" };
  else if (clientSecret === "") problems.clientSecret = { kind: "noClientSecret" };
  return { grantType: "client_credentials", clientId, clientSecret, scopes };
}

interface Pairs {
  pairs: Record<string, string>;
  problem: DraftProblem | null;
}

/** The kinds of problem for a line that has another form, and for a line that repeats a name. */
type LineKinds = Record<"other" | "twice", DraftProblem["kind"]>;

/** The names and values of lines; empty lines are skipped. Two names are the same if `folded` makes them equal. */
function pairsOf(text: string, pattern: RegExp, kinds: LineKinds, folded = (name: string) => name): Pairs {
  const found: [string, string][] = [];
  const seen = new Set<string>();
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const { name = "", value = "" } = pattern.exec(line)?.groups ?? {};
    if (name === "") return { pairs: {}, problem: { kind: kinds.other, line: at + 1 } };
    if (seen.has(folded(name))) return { pairs: {}, problem: { kind: kinds.twice, line: at + 1, name } };
    seen.add(folded(name));
    found.push([name, value]);
  }
  return { pairs: Object.fromEntries(found), problem: null };
}
