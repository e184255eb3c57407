import { expect, test } from "vitest";
import { blocksOf, isOpenCode } from "./blocks";

const texts = (text: string) => blocksOf(text).map((block) => block.text);

test("paragraphs, headings and code are separate blocks", () => {
  const text = "# Title\n\nOne\nline.\n\n```js\na\n\nb\n```\n\nEnd.";
  expect(texts(text)).toEqual(["# Title\n\n", "One\nline.\n\n", "```js\na\n\nb\n```\n\n", "End."]);
});

test("a list stays whole, with its paragraphs", () => {
  expect(texts("1. a\n\n   more of a\n\n2. b\n\nAfter.")).toEqual(["1. a\n\n   more of a\n\n2. b\n\n", "After."]);
});

test("a fence ends only with a matching fence", () => {
  expect(texts("````\n```\n\nx\n````\n\ny")).toEqual(["````\n```\n\nx\n````\n\n", "y"]);
  expect([isOpenCode("```\nx"), isOpenCode("```\nx\n```"), isOpenCode("````\n```"), isOpenCode("~~~\n```")]).toEqual([true, false, true, true]);
});

test("a text with link definitions is not split", () => {
  expect(texts("See [a].\n\nMore.\n\n[a]: https://example.org")).toHaveLength(1);
});

test("the blocks add up to the text, and earlier blocks do not change while it grows", () => {
  const text = "# T\n\npara\n\n- a\n\n  b\n- c\n\n```sh\nls\n\npwd\n```\n\n| a |\n|---|\n| 1 |\n\nend\n\n\n\nfin";
  let earlier: string[] = [];
  for (let length = 1; length <= text.length; length += 1) {
    const now = texts(text.slice(0, length));
    expect(now.join("")).toBe(text.slice(0, length));
    // Only the last block, and the empty lines after it, may change.
    expect(now.slice(0, Math.max(0, earlier.length - 1))).toEqual(earlier.slice(0, -1));
    earlier = now;
  }
});
