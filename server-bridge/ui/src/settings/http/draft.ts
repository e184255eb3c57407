/** The form for one of the user's own tools, and its conversion to a document. */

export interface Draft {
  kind: "form" | "json";
  name: string;
  description: string;
  method: string;
  url: string;
  /** The runner through which it is reached; empty for the Sandbridge server itself. */
  via: string;
  headers: string;
  query: string;
  body: string;
  parameters: string;
  extract: string;
  json: string;
}

export type DraftField = Exclude<keyof Draft, "kind" | "method">;

export interface DraftProblem {
  kind: "headerLine" | "pairLine" | "twice" | "parameterLine" | "json";
  line?: number;
  name?: string;
}

export type DraftProblems = Partial<Record<DraftField, DraftProblem>>;

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

const TYPES = ["string", "number", "integer", "boolean", "array", "object"];

export const EMPTY_DRAFT: Draft = {
  kind: "form",
  name: "",
  description: "",
  method: "GET",
  url: "",
  via: "",
  headers: "",
  query: "",
  body: "",
  parameters: "",
  extract: "",
  json: "",
};

type Read<T> = { value: T } | { problem: DraftProblem };

/** The name and the document of a draft, or its problems; the server checks the rest. */
export function documentOf(draft: Draft): { name: string; text: string } | { problems: DraftProblems } {
  if (draft.kind === "json") {
    const name = nameIn(draft.json);
    return name === null ? { problems: { json: { kind: "json" } } } : { name, text: draft.json };
  }
  const [headers, query, parameters] = [pairs(draft.headers, ":"), pairs(draft.query, "="), parametersOf(draft.parameters)];
  const problems: DraftProblems = {};
  if ("problem" in headers) problems.headers = headers.problem;
  if ("problem" in query) problems.query = query.problem;
  if ("problem" in parameters) problems.parameters = parameters.problem;
  if ("problem" in headers || "problem" in query || "problem" in parameters) return { problems };
  const name = draft.name.trim();
  const document = {
    name,
    description: draft.description.trim(),
    method: draft.method,
    url: draft.url.trim(),
    headers: headers.value,
    queryParams: query.value,
    ...(draft.body.trim() !== "" && { bodyTemplate: draft.body }),
    parameters: parameters.value,
    ...(draft.via.trim() !== "" && { via: draft.via.trim() }),
    ...(draft.extract.trim() !== "" && { responseExtract: draft.extract.trim() }),
  };
  return { name, text: JSON.stringify(document, null, 2) };
}

/** Names and values, one pair per line; a name may occur once. */
export function pairs(text: string, mark: ":" | "="): Read<Record<string, string>> {
  // A map accepts every name, even a property that all objects inherit.
  const value = new Map<string, string>();
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const end = line.indexOf(mark);
    const name = line.slice(0, Math.max(end, 0)).trim();
    if (name === "") return { problem: { kind: mark === ":" ? "headerLine" : "pairLine", line: at + 1 } };
    if (value.has(name)) return { problem: { kind: "twice", line: at + 1, name } };
    value.set(name, mark === ":" ? line.slice(end + 1).trim() : line.slice(end + 1));
  }
  return { value: Object.fromEntries(value) };
}

/** Parameters, one per line: `city* string The name of the city`. */
function parametersOf(text: string): Read<object[]> {
  const value: object[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const [, name, star, type, description = ""] = /^\s*([\w.-]+)(\*?)\s+(\w+)\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || type === undefined || !TYPES.includes(type)) return { problem: { kind: "parameterLine", line: at + 1 } };
    value.push({ name, type, ...(description.trim() !== "" && { description: description.trim() }), required: star === "*" });
  }
  return { value };
}

/** The name in a document; null if it is not a valid document. */
function nameIn(text: string): string | null {
  try {
    const document: unknown = JSON.parse(text);
    const name = typeof document === "object" && document !== null && "name" in document ? document.name : null;
    return typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}

/** The names of a document's parameters. */
export function parameterNames(text: string): string[] {
  try {
    const { parameters } = JSON.parse(text) as { parameters?: unknown };
    if (Array.isArray(parameters)) return parameters.map((parameter: { name?: unknown }) => String(parameter.name));
    if (typeof parameters !== "object" || parameters === null) return [];
    const { type, properties } = parameters as { type?: unknown; properties?: object };
    return Object.keys(type === "object" ? (properties ?? {}) : parameters);
  } catch {
    return [];
  }
}
