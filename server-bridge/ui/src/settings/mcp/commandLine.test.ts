import { expect, test } from "vitest";
import { splitWords } from "./commandLine";

test("words are split at spaces, and quotes keep them together", () => {
  expect(splitWords("  npx -y  @acme/server\t.\n")).toEqual(["npx", "-y", "@acme/server", "."]);
  expect(splitWords(`run 'a  b' "c 'd'" e" f"'g'`)).toEqual(["run", "a  b", "c 'd'", "e fg"]);
  expect(splitWords(`run "" ''`)).toEqual(["run", "", ""]);
  expect(splitWords("启动 '文件 夹'")).toEqual(["启动", "文件 夹"]);
  expect(splitWords(" \n ")).toEqual([]);
  expect(splitWords("")).toEqual([]);
});

test("a backslash quotes the next character, as in a shell", () => {
  expect(splitWords(String.raw`a\ b \"c\' \\`)).toEqual(["a b", `"c'`, "\\"]);
  expect(splitWords(String.raw`"a\"b\\c\$d\n" 'e\f'`)).toEqual([String.raw`a"b\c$d\n`, String.raw`e\f`]);
  expect(splitWords('npx -y \\\n  server "on\\\ne"')).toEqual(["npx", "-y", "server", "one"]);
  expect(splitWords("end\\")).toEqual(["end\\"]);
});

test("no other shell syntax is interpreted", () => {
  expect(splitWords("sh -c 'ls | wc' ${HOME:-/tmp} $(id) `id` a&&b > c # d")).toEqual([
    "sh", "-c", "ls | wc", "${HOME:-/tmp}", "$(id)", "`id`", "a&&b", ">", "c", "#", "d",
  ]);
});

test("an unclosed quote is detected", () => {
  for (const line of ["'", '"', "run 'a", 'run "a\\"', `run 'a' b"c`, `it's`]) expect(splitWords(line), line).toBeNull();
});
