/** The rule for runner names, as the server has it. */
const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const RESERVED = ["none", "auto"];

/** The problem with a name, or null: it is reserved, or breaks the rule. */
export function nameProblem(name: string): "reserved" | "rule" | null {
  if (RESERVED.includes(name)) return "reserved";
  return NAME.test(name) ? null : "rule";
}
