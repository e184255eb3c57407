import { expect, test } from "vitest";
import { EXAMPLE_HOOKS, plainly, shortHash } from "./hookTexts";

test("invisible characters and those that move others are shown as codes", () => {
  expect(plainly("ls\n\t-la")).toBe("ls\n\t-la");
  expect(plainly("a\u202eb\u200bc\u001b[2Jd\re")).toBe("a\\u{202e}b\\u{200b}c\\u{1b}[2Jd\\u{d}e");
  expect(plainly("检查 ✓")).toBe("检查 ✓");
});

test("a hash is shortened, and the example is JSON", () => {
  expect(shortHash("0123456789abcdef")).toBe("0123456789ab");
  expect(Object.keys((JSON.parse(EXAMPLE_HOOKS) as { hooks: object }).hooks)).toEqual(["PreToolUse"]);
});
