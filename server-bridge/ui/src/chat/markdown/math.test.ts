import { expect, test } from "vitest";
import { withDollars } from "./math";

test("TeX's brackets become dollars outside of code", () => {
  expect(withDollars("so \\(a_1\\) is")).toBe("so $a_1$ is");
  expect(withDollars("\\[\nx^2\n\\]")).toBe("\n$$\nx^2\n$$\n");
  const code = ["`\\(a\\)`", "```\n\\[x\\]\n```", "~~~tex\n\\(x\\)\n", "``a ` \\(b\\)``"];
  for (const text of code) expect(withDollars(text)).toBe(text);
  const none = ["\\(never closed", "\\\\(x\\\\)", "\\(\\)", "[a](b)", "\\(a $ b\\)"];
  for (const text of none) expect(withDollars(text)).toBe(text);
});

test("hostile and huge texts are read quickly", () => {
  const start = performance.now();
  for (const text of ["\\(".repeat(50_000), "\\[".repeat(50_000), "`".repeat(100_000), "`\\(a".repeat(20_000), "```\n\\(".repeat(20_000)]) withDollars(text);
  expect(performance.now() - start).toBeLessThan(2_000);
});
