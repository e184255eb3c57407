import { describe, expect, it } from "vitest";
import { around, citationOf, cited } from "./citation";

describe("passages", () => {
  it("are positions in bytes, in any script", () => {
    expect(around("保修期是两年。End", 12, 21)).toEqual(["保修期是", "两年。", "End"]);
    expect(around("abc", 0, 3)).toEqual(["", "abc", ""]);
  });

  it("are cited with or without their position on the page", () => {
    expect(citationOf("Two years [doc:12#3@0-240].")).toEqual({ document: 12, page: 3, start: 0, end: 240 });
    expect(citationOf("doc:7#1")).toEqual({ document: 7, page: 1, start: 0, end: 0 });
    expect(citationOf("doc:x#1")).toBeNull();
  });

  it("are found in a text, several in one pair of brackets too", () => {
    const found = (text: string) => cited(text).filter((part) => part.isCitation).map((part) => part.text);
    for (const [text, all] of [
      ["A [doc:1#2@0-9][doc:3#4].", ["[doc:1#2@0-9]", "[doc:3#4]"]],
      ["A [doc:1#2@0-9, doc:3#4; doc:5#6@1-2].", ["doc:1#2@0-9", "doc:3#4", "doc:5#6@1-2"]],
      ["两年【doc:1#2@0-9】，见【doc:3#4、doc:5#6】。", ["【doc:1#2@0-9】", "doc:3#4", "doc:5#6"]],
      ["[doc:1#2 and more] doc:1#2 [doc:x#1]", []],
    ] as const) {
      expect(found(text)).toEqual(all);
      expect(cited(text).map((part) => part.text).join("")).toBe(text);
    }
  });
});
