import { expect, test } from "vitest";
import { shellResult } from "./shellResult";

const ADVICE = "Do NOT retry the same command. Analyze the error, fix the root cause.";
const DENIED = "(the sandbox denied it something: files outside the workspace and other machines' secrets are out of reach)";

test("the ending and the advice to the model are removed from the output", () => {
  expect(shellResult(`no such file\n(exit code 2)\n${ADVICE}`)).toEqual({ output: "no such file", ending: { kind: "exited", code: 2 }, denied: false });
  expect(shellResult("a\nb\n(exit code 0)")).toEqual({ output: "a\nb", ending: { kind: "exited", code: 0 }, denied: false });
  expect(shellResult(`(killed by signal 9)\n${ADVICE}`)).toEqual({ output: "", ending: { kind: "signaled", signal: 9 }, denied: false });
  expect(shellResult(`x\n(exit code 1)\n${DENIED}\n${ADVICE}`)).toEqual({ output: "x", ending: { kind: "exited", code: 1 }, denied: true });
  expect(shellResult(`x\n(ended: it ran for 24 hours)\n${ADVICE}`).ending).toEqual({ kind: "expired" });
  expect(shellResult("half\n(cancelled by the user)")).toEqual({ output: "half", ending: null, denied: false });
});

test("output that only looks like an ending stays in the output", () => {
  expect(shellResult(`${ADVICE}\n(exit code 7)\n(exit code 0)`).output).toBe(`${ADVICE}\n(exit code 7)`);
  expect(shellResult("the runner is offline")).toEqual({ output: "the runner is offline", ending: null, denied: false });
  expect(shellResult("")).toEqual({ output: "", ending: null, denied: false });
});
