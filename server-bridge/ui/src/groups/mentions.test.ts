import { expect, test } from "vitest";
import { matching, mentionAt, mentioned } from "./mentions";

test("a handle is completed at the caret, at the beginning and after a space or a bracket", () => {
  expect(mentionAt("@co", 3)).toEqual({ prefix: "co", start: 0 });
  expect(mentionAt("hello @", 7)).toEqual({ prefix: "", start: 6 });
  expect(mentionAt("（@写", 3)).toEqual({ prefix: "写", start: 1 });
  expect(mentionAt("mail ann@co", 11)).toBeNull();
  expect(mentionAt("@coder now", 10)).toBeNull();
});

test("the completed handle replaces what was written of it", () => {
  expect(matching(["coder", "Cook", "writer"], "co")).toEqual(["coder", "Cook"]);
  const mention = { prefix: "co", start: 3 };
  expect(mentioned("hi @co there", 6, mention, "coder")).toEqual({ text: "hi @coder there", caret: 10 });
});
