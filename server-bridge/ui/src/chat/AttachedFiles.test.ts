import { expect, test } from "vitest";
import { splitAttached } from "./AttachedFiles";

test("attached files are read from the lines at the end of the text", () => {
  expect(splitAttached("look\n\n[attached: a/b.png on laptop]\n[attached: c.txt on __docker__]")).toEqual({
    text: "look",
    files: [
      { path: "a/b.png", place: "laptop" },
      { path: "c.txt", place: "__docker__" },
    ],
  });
  expect(splitAttached("[attached: a]\nno")).toEqual({ text: "[attached: a]\nno", files: [] });
});

test("files in messages from before the machine was recorded have no machine", () => {
  expect(splitAttached("[attached: a/on.png]")).toEqual({ text: "", files: [{ path: "a/on.png", place: null }] });
});
