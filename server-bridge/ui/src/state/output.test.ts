import { expect, test } from "vitest";
import { LIVE_OUTPUT_CHARS, LIVE_SEGMENTS_COUNT } from "../limits";
import { appendOutput, emptyOutput, type LiveOutput, markGap, saysAllOf } from "./output";

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

test("an escape cut between chunks is stripped, though the other channel speaks between", () => {
  let output = appendOutput(emptyOutput("a"), "stdout", "x\u001b[3");
  output = appendOutput(output, "stderr", "e");
  output = appendOutput(output, "stdout", "1my");
  expect(shown(output)).toBe("xey");
});

test("a large output keeps its end within the bound and says that it dropped", () => {
  let output = emptyOutput("a");
  for (let line = 0; line < 60_000; line += 1) output = appendOutput(output, "stdout", `line ${line}\n`);
  expect(shown(output).length).toBeLessThanOrEqual(LIVE_OUTPUT_CHARS);
  expect(shown(output).length).toBe(output.kept_chars);
  expect(shown(output).endsWith("line 59999\n")).toBe(true);
  expect(output.dropped).toBe(true);
});

test("one chunk larger than the bound is cut to its end", () => {
  const output = appendOutput(emptyOutput("a"), "stdout", `${"x".repeat(LIVE_OUTPUT_CHARS)}end`);
  expect(output.kept_chars).toBe(LIVE_OUTPUT_CHARS);
  expect(shown(output).endsWith("xend")).toBe(true);
});

test("alternating channels do not grow the page without bound", () => {
  let output = emptyOutput("a");
  for (let at = 0; at < 5_000; at += 1) output = appendOutput(output, at % 2 ? "stdout" : "stderr", "x");
  expect(output.segments.length).toBe(LIVE_SEGMENTS_COUNT);
  expect(output.dropped).toBe(true);
});

test("a progress bar takes the room of one line", () => {
  let output = emptyOutput("a");
  for (let at = 0; at <= 1_000; at += 1) output = appendOutput(output, "stdout", `\r${at} of 1000`);
  expect(shown(output)).toBe("1000 of 1000");
});

test("a buffer equals the final text only if it is whole", () => {
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
