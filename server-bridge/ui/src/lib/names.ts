/** The rule for runner names, as the server has it. */
const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const RESERVED = ["none", "auto"];

/** What is wrong with a name, or null: it has a meaning of its own, or is against the rule. */
export function nameProblem(name: string): "reserved" | "rule" | null {
  if (RESERVED.includes(name)) return "reserved";
  return NAME.test(name) ? null : "rule";
}
