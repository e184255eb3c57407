/** The rule for runner names, the same as the server's. */
const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const RESERVED = ["none", "auto"];

/** The problem with a name: it is reserved or breaks the rule; null if there is none. */
export function nameProblem(name: string): "reserved" | "rule" | null {
  if (RESERVED.includes(name)) return "reserved";
  return NAME.test(name) ? null : "rule";
}
