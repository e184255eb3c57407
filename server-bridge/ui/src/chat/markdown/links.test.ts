import { expect, test } from "vitest";
import { safeAddress } from "./links";

test("only addresses of the web and of mail are followed", () => {
  for (const address of ["http://a.example/x", "https://a.example", "mailto:a@b.example"]) expect(safeAddress(address)).toBe(address);
  const hostile = ["javascript:alert(1)", " JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//a.example", "/api/v1/logout", "vbscript:x", ""];
  for (const address of hostile) expect(safeAddress(address)).toBe("");
  expect(safeAddress(undefined)).toBe("");
});
