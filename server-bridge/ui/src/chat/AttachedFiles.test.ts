import { expect, test } from "vitest";
import { splitAttached } from "./AttachedFiles";

test("attached files are those of the lines at the end", () => {
  expect(splitAttached("look\n\n[attached: a/b.png]\n[attached: c d.txt]")).toEqual({ text: "look", paths: ["a/b.png", "c d.txt"] });
  expect(splitAttached("[attached: a]\nno")).toEqual({ text: "[attached: a]\nno", paths: [] });
});
