/** The rule for runner names, as the server has it. */
const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const RESERVED = ["none", "auto"];

export const NAME_RULE =
  "Lower-case letters, digits and . _ - , starting with a letter or digit, at most 63. “none” and “auto” are taken.";

/** What is wrong with a name, or null. */
export function nameProblem(name: string): string | null {
  if (RESERVED.includes(name)) return `“${name}” has a meaning of its own. Choose another name.`;
  return NAME.test(name) ? null : NAME_RULE;
}
