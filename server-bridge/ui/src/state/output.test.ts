import { expect, test } from "vitest";
import { LIVE_OUTPUT_CHARS, LIVE_SEGMENTS_COUNT } from "../limits";
import { addPiece, appendOutput, emptyOutput, type LiveOutput, loadPieces, markGap, markStale, restart, saysAllOf } from "./output";

const shown = (output: LiveOutput) => output.segments.map((segment) => segment.text).join("");

test("runs of one channel join, another channel starts a new run", () => {
  let output = appendOutput(emptyOutput("a"), "stdout", "one ");
  output = appendOutput(output, "stdout", "two\n");
  output = appendOutput(output, "stderr", "oops\n");
  expect(output.segments.map(({ channel, text }) => [channel, text])).toEqual([
    ["stdout", "one two\n"],
    ["stderr", "oops\n"],
  ]);
});

test("a colour sequence cut between chunks applies to its channel, even with output of the other channel in between", () => {
  let output = appendOutput(emptyOutput("a"), "stdout", "x\u001b[3");
  output = appendOutput(output, "stderr", "e");
  output = appendOutput(output, "stdout", "1my");
  output = appendOutput(output, "stderr", "e");
  output = appendOutput(output, "stdout", "z\u001b[2K");
  expect(output.segments.map(({ channel, text, style }) => [channel, text, style])).toEqual([
    ["stdout", "x", undefined],
    ["stderr", "e", undefined],
    ["stdout", "\u001b[31my", undefined],
    ["stderr", "e", undefined],
    ["stdout", "z", "red"],
  ]);
  expect(saysAllOf(output, "xeyez")).toBe(true);
});

test("a large output keeps its end within the bound, and records that output was dropped", () => {
  let output = emptyOutput("a");
  for (let line = 0; line < 60_000; line += 1) output = appendOutput(output, "stdout", `line ${line}\n`);
  expect(shown(output).length).toBeLessThanOrEqual(LIVE_OUTPUT_CHARS);
  expect(shown(output).length).toBe(output.kept_chars);
  expect(shown(output).endsWith("line 59999\n")).toBe(true);
  expect(output.dropped).toBe(true);
});

test("one chunk larger than the bound is cut to its end", () => {
  const output = appendOutput(emptyOutput("a"), "stdout", `${"x".repeat(LIVE_OUTPUT_CHARS)}end`);
  expect(output.kept_chars).toBeLessThanOrEqual(LIVE_OUTPUT_CHARS);
  expect(shown(output).length).toBe(output.kept_chars);
  expect(shown(output).endsWith("xend")).toBe(true);
});

test("alternating channels do not grow the page without bound", () => {
  let output = emptyOutput("a");
  for (let at = 0; at < 5_000; at += 1) output = appendOutput(output, at % 2 ? "stdout" : "stderr", "x");
  expect(output.segments.length).toBe(LIVE_SEGMENTS_COUNT);
  expect(output.dropped).toBe(true);
});

test("a progress bar takes up one line", () => {
  let output = emptyOutput("a");
  for (let at = 0; at <= 1_000; at += 1) output = appendOutput(output, "stdout", `\r${at} of 1000`);
  expect(shown(output)).toBe("1000 of 1000");
});

test("a buffer equals the final text only if it is complete", () => {
  const whole = appendOutput(emptyOutput("a"), "stdout", "\u001b[1mdone\u001b[0m\n");
  expect(saysAllOf(whole, "\u001b[1mdone\u001b[0m\n")).toBe(true);
  expect(saysAllOf(whole, "begun\ndone\n")).toBe(false);
  expect(saysAllOf(markGap(whole), "done\n")).toBe(false);
});

test("a gap is marked once, and not before any output", () => {
  expect(markGap(emptyOutput("a")).segments).toEqual([]);
  const output = markGap(markGap(appendOutput(emptyOutput("a"), "stdout", "x")));
  expect(output.segments.map((segment) => segment.channel)).toEqual(["stdout", "gap"]);
});

const piece = (at: number, text: string) => ({ channel: "stdout" as const, at, text });
const built = (...pieces: [number, string][]) => pieces.reduce((output, [at, text]) => addPiece(output, piece(at, text)), emptyOutput("a"));

test("a piece that arrives twice, whole or in part, is shown once", () => {
  expect(shown(built([0, "one "], [0, "one "], [2, "e two"], [7, " three"]))).toBe("one two three");
});

test("a piece that is missing is marked", () => {
  expect(built([0, "a"], [5, "f"]).segments.map((segment) => segment.channel)).toEqual(["stdout", "gap", "stdout"]);
});

test("a page loaded between pieces joins on to them, wherever it was cut", () => {
  const all = "abcdefghij";
  for (let read = 4; read <= all.length; read += 1) {
    // The page received events only from the fifth character on.
    const heard = built([4, "ef"], [6, "gh"], [8, "ij"]);
    expect(shown(loadPieces(heard, "a", [piece(0, all.slice(0, read))]) ?? emptyOutput("a"))).toBe(all);
  }
});

test("output loaded before an interruption of the events is replaced by output loaded after it", () => {
  const stale = addPiece(markStale(built([0, "old half"])), piece(3, "new"));
  const loaded = loadPieces(stale, "a", [piece(0, "the"), piece(3, "n")]);
  expect(shown(loaded ?? emptyOutput("a"))).toBe("thenew");
});

test("an answer that starts over continues the offsets", () => {
  const output = addPiece(restart(built([0, "void"]), "a", "text", ""), piece(4, "whole"));
  expect(shown(output)).toBe("whole");
});

test("a long run continues in a new element, at the beginning of a line", () => {
  let output = emptyOutput("a");
  for (let line = 0; line < 2_000; line += 1) output = appendOutput(output, "stdout", `line ${line}\n`);
  expect(output.segments.length).toBeGreaterThan(1);
  expect(output.segments.every((segment) => segment.text.endsWith("\n"))).toBe(true);
});
