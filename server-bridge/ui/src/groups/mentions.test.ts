import { expect, test } from "vitest";
import { matching, mentionAt } from "./mentions";

test("a handle is completed at the caret, at the beginning and after a space or a bracket", () => {
  expect(mentionAt("@co", 3)).toEqual({ prefix: "co", start: 0 });
  expect(mentionAt("hello @", 7)).toEqual({ prefix: "", start: 6 });
  expect(mentionAt("（@写", 3)).toEqual({ prefix: "写", start: 1 });
  expect(mentionAt("mail ann@co", 11)).toBeNull();
  expect(mentionAt("@coder now", 10)).toBeNull();
});

test("handles are found by their beginning, in any case", () => {
  expect(matching(["coder", "Cook", "writer"], "co")).toEqual(["coder", "Cook"]);
});
