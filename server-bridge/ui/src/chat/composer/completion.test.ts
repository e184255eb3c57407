import { expect, test } from "vitest";
import { completed, matchingCommands, matchingPaths, matchingValues, wantedAt } from "./completion";

test("a command is completed only at the beginning, a path after an at sign", () => {
  expect(wantedAt("/un", 3)).toEqual({ kind: "command", prefix: "un", start: 0 });
  expect(wantedAt("/undo x", 7)).toBeNull();
  expect(wantedAt("see /un", 7)).toBeNull();
  expect(wantedAt("see @src/m now", 10)).toEqual({ kind: "path", prefix: "src/m", start: 4 });
  expect(wantedAt("mail a@b", 8)).toBeNull();
  expect(wantedAt("@", 1)).toEqual({ kind: "path", prefix: "", start: 0 });
});

test("arguments are completed for the commands of extensions", () => {
  expect(wantedAt("/git:re", 7)).toEqual({ kind: "command", prefix: "git:re", start: 0 });
  expect(wantedAt("/git:review ma", 14)).toEqual({ kind: "argument", prefix: "/git:review ma", start: 12 });
  expect(wantedAt("/git:review main by=Al", 22)).toEqual({ kind: "argument", prefix: "/git:review main by=Al", start: 20 });
  expect(wantedAt("/git:review @sr", 15)).toEqual({ kind: "path", prefix: "sr", start: 12 });
  expect(matchingValues(["main", "old one"]).map((found) => found.insert)).toEqual(["main ", '"old one" ']);
});

test("a command with several lines in the help is offered once", () => {
  const commands = [
    { word: "undo", usage: "/undo", about: "a" },
    { word: "undo", usage: "/undo force", about: "b" },
    { word: "new", usage: "/new", about: "c" },
  ];
  expect(matchingCommands(commands, "u").map((found) => found.insert)).toEqual(["/undo "]);
});

test("completing a file ends the word, completing a directory does not", () => {
  const [file, directory] = matchingPaths([{ path: "src/main.rs", kind: "file" }, { path: "src", kind: "directory" }]);
  const wanted = wantedAt("see @s now", 6);
  if (!file || !directory || !wanted) throw new Error("nothing found");
  expect(completed("see @s now", 6, wanted, file)).toEqual({ text: "see @src/main.rs now", caret: 17 });
  expect(completed("see @s now", 6, wanted, directory)).toEqual({ text: "see @src/ now", caret: 9 });
});
