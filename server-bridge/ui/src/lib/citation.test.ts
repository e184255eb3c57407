import { describe, expect, it } from "vitest";
import { around, citationOf } from "./citation";

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
});
