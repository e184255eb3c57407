import { expect, test } from "vitest";
import { type Draft, EMPTY_DRAFT, entryOf } from "./draft";

const program = (change: Partial<Draft>) => entryOf({ ...EMPTY_DRAFT, name: "files", command: "server", ...change });
const address = (change: Partial<Draft>) => entryOf({ ...EMPTY_DRAFT, name: "far", kind: "address", url: "https://x.example/mcp", ...change });

test("a program has words and variables, and none of the fields of an address", () => {
  expect(program({ command: "npx -y 'my server'", env: "A=1\n\n  B_2= x = y \nC=", url: "no", headers: "no" })).toEqual({
    entry: { command: "npx", args: ["-y", "my server"], env: { A: "1", B_2: " x = y ", C: "" } },
  });
});

test("an address has headers, and none of the fields of a program", () => {
  expect(address({ url: " http://127.0.0.1:1/mcp?a=b&c ", headers: "Authorization:  Bearer a:b \nX-Empty:", command: "'", env: "no" })).toEqual({
    entry: { url: "http://127.0.0.1:1/mcp?a=b&c", headers: { Authorization: "Bearer a:b", "X-Empty": "" } },
  });
});

test("an address may be reached through a runner, and with client credentials", () => {
  expect(address({ via: " laptop ", clientId: "me", clientSecret: " s3cret ", scopes: "a  b" })).toEqual({
    entry: {
      url: "https://x.example/mcp",
      headers: {},
      via: "laptop",
      oauth: { grantType: "client_credentials", clientId: "me", clientSecret: "s3cret", scopes: ["a", "b"] },
    },
  });
  expect(address({ via: "auto" })).toEqual({ problems: { via: { kind: "via" } } });
  expect(address({ via: "My laptop" })).toEqual({ problems: { via: { kind: "via" } } });
  expect("entry" in address({ via: "__docker__" })).toBe(true);
  expect(address({ clientId: "me" })).toEqual({ problems: { clientSecret: { kind: "noClientSecret" } } });
  expect(address({ scopes: "a" })).toEqual({ problems: { clientId: { kind: "noClientId" } } });
});

test("each wrong field is reported, with its line", () => {
  expect(program({ name: "a b", command: " ", env: "A=1\n\nexport B=2" })).toEqual({
    problems: { name: { kind: "name" }, command: { kind: "noCommand" }, env: { kind: "envLine", line: 3 } },
  });
  expect(program({ name: "", command: "it's" })).toMatchObject({ problems: { name: { kind: "name" }, command: { kind: "openQuote" } } });
  expect(program({ command: "'' a" })).toEqual({ problems: { command: { kind: "noCommand" } } });
  expect(program({ env: "A=1\nA=2" })).toMatchObject({ problems: { env: { kind: "envTwice", line: 2, name: "A" } } });
  expect(address({ url: "x.example", headers: "Accept: a\naccept: b" })).toMatchObject({
    problems: { url: { kind: "url" }, headers: { kind: "headerTwice", line: 2, name: "accept" } },
  });
  expect(address({ headers: "Bearer token" })).toMatchObject({ problems: { headers: { kind: "headerLine", line: 1 } } });
});

test("a name needs a letter or a digit, and fits into an address", () => {
  const isName = (name: string) => "entry" in program({ name });
  expect(["files", " My-files_2.x ", "7", "x".repeat(32)].filter((name) => !isName(name))).toEqual([]);
  expect(["", ".", "..", "--", "a/b", "a b", "文件", "x".repeat(33)].filter(isName)).toEqual([]);
});

test("variables whose names differ only in case are different", () => {
  expect(program({ env: "a=1\nA=2" })).toMatchObject({ entry: { env: { a: "1", A: "2" } } });
});
