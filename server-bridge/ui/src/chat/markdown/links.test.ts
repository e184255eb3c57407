import { expect, test } from "vitest";
import { pathOf, safeAddress } from "./links";

test("only web and mail addresses are followed", () => {
  for (const address of ["http://a.example/x", "https://a.example", "mailto:a@b.example"]) expect(safeAddress(address)).toBe(address);
  const hostile = ["javascript:alert(1)", " JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//a.example", "/api/v1/logout", "vbscript:x", "", "sandbridge-file:x", "#top", "?a"];
  for (const address of hostile) expect(safeAddress(address)).toBe("");
  expect(safeAddress(undefined)).toBe("");
});

test("a relative link can name only a file in the workspace", () => {
  const paths = {
    "src/main.rs": "src/main.rs",
    "./README.md": "README.md",
    "a%20b.txt": "a b.txt",
    "src/main.rs#L12": "src/main.rs",
    "src/main.rs:12": "src/main.rs",
    "src/main.rs:12:5": "src/main.rs",
    "d//e/": "d/e",
    "名.txt": "名.txt",
  };
  for (const [address, path] of Object.entries(paths)) expect(pathOf(safeAddress(address))).toBe(path);
  const none = ["../secret", "a/../../b", "%2e%2e/x", "%2fetc/passwd", "a%00b", "a%0ab", "..", ".", "%", "c:\\x", "a\\b", "%5c%5chost/x", "x".repeat(5000)];
  for (const address of none) expect(safeAddress(address)).toBe("");
  expect(pathOf("https://a.example")).toBeNull();
});
