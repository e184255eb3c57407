import { describe, expect, test } from "vitest";
import { collapseReturns, plainText, stripEscapes } from "./terminal";

describe("stripEscapes", () => {
  test("removes colours, titles and cursor moves", () => {
    const text = "\u001b[1;31mred\u001b[0m \u001b]0;title\u0007\u001b]8;;http://x\u001b\\link\u001b(B\u001b7 \u001b[?25lend\u001bc";
    expect(stripEscapes(text)).toEqual({ clean: "red link end", rest: "" });
  });

  test("keeps a sequence that is cut anywhere for the next chunk", () => {
    const text = "a\u001b[38;5;12mb\u001b]0;t\u001b\\c\u001b(Bd";
    for (let cut = 0; cut <= text.length; cut += 1) {
      const first = stripEscapes(text.slice(0, cut));
      const second = stripEscapes(first.rest + text.slice(cut));
      expect(first.clean + second.clean).toBe("abcd");
      expect(second.rest).toBe("");
    }
  });

  test("does not wait forever for the end of a sequence", () => {
    expect(stripEscapes(`\u001b]${"x".repeat(10_000)}`).rest).toBe("");
  });

  test("is quick on long input without line ends", () => {
    const started = performance.now();
    stripEscapes("\u001b[".repeat(50_000) + "x".repeat(500_000));
    collapseReturns("x".repeat(500_000) + "\r");
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe("plainText", () => {
  test("shows only the text that was written last on a line", () => {
    expect(plainText("10 %\r50 %\r100 %\ndone\r\n")).toBe("100 %\ndone\n");
  });

  test("keeps a line that a return has not overwritten yet", () => {
    expect(collapseReturns("50 %\r")).toBe("50 %\r");
  });
});
