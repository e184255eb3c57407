import { expect, test } from "vitest";
import { fitted, fitting, handlesIn, strangers } from "./handles";

const TEXT = `# for @nobody
1. @writer: Ask @coder what it is.
   - @critic belongs to the instruction
2) @写手：写
3、@coder-2, go
- @Editor do it
budget: 5 tokens
`;

test("the agents in a chain's text are recognized as the server recognizes them", () => {
  expect(handlesIn(TEXT)).toEqual(["writer", "写手", "coder-2", "Editor"]);
  expect(handlesIn("1.\n@writer")).toEqual([]);
});

test("a handle is replaced only by an equal handle, or by the only handle that contains it as a word", () => {
  expect(fitting("coder", ["Coder", "rust-coder"])).toBe("Coder");
  expect(fitting("coder", ["rust-coder", "writer"])).toBe("rust-coder");
  expect(fitting("coder", ["coder2"])).toBe("coder2");
  expect(fitting("coder", ["rust-coder", "go-coder"])).toBe("coder");
  expect(fitting("coder", ["decoder", "coders"])).toBe("coder");
  expect(fitting("coder", [])).toBe("coder");
});

test("only the agents of steps are replaced; the rest of the text stays", () => {
  expect(fitted(TEXT, ["my-writer", "EDITOR", "critic", "nobody", "coder"])).toBe(TEXT.replace("1. @writer", "1. @my-writer").replace("@Editor", "@EDITOR"));
});

test("a handle that is not in the group is listed once", () => {
  expect(strangers(["writer", "Coder", "writer", "", "critic"], ["coder"])).toEqual(["writer", "critic"]);
});
