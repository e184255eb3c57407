import { expect, test } from "vitest";
import { LIVE_OUTPUT_CHARS, LIVE_SEGMENTS_COUNT } from "../limits";
import type { Message } from "../types";
import { execMessage, message } from "./fixtures";
import { addPiece, appendOutput, emptyOutput, fromLoaded, type LiveOutput, markGap, markStale, saysAllOf } from "./output";

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

const word = (offset: number, text: string) => ({ channel: "text" as const, offset, text });
const told = (...pieces: [number, string][]) => pieces.reduce((output, [at, text]) => addPiece(output, word(at, text)), emptyOutput("a"));
const reply = (text: string): Message => ({ ...message(1, text), role: "assistant", agent: { kind: "reply", status: "running" } });

test("words that come twice, whole or in part, are shown once", () => {
  expect(shown(told([0, "one "], [0, "one "], [2, "e two"], [7, " three"]))).toBe("one two three");
});

test("words that are missing are marked", () => {
  expect(told([0, "a"], [5, "f"]).segments.map((segment) => segment.channel)).toEqual(["text", "gap", "text"]);
});

test("an answer that was read amid its words joins on to them, wherever it was read", () => {
  const all = "abcdefghij";
  for (let read = 4; read <= all.length; read += 1) {
    // Listening began behind the fourth character.
    const heard = told([4, "ef"], [6, "gh"], [8, "ij"]);
    expect(shown(fromLoaded(heard, reply(all.slice(0, read))))).toBe(all);
  }
});

test("an output that was read amid what was told joins on where they overlap", () => {
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at}\n`);
  const heard = lines.slice(10).reduce((output, text) => addPiece(output, { channel: "stdout", text }), emptyOutput("a"));
  for (let read = 36; read <= 40; read += 1) {
    const loaded = fromLoaded({ ...heard, received_chars: 0 }, execMessage(1, lines.slice(0, read).join("")));
    expect(shown(loaded)).toBe(lines.join(""));
  }
});

test("what was told before the events were interrupted gives way to what is read after", () => {
  const stale = addPiece(markStale(told([0, "old half"])), word(3, "new"));
  expect(shown(fromLoaded(stale, reply("then")))).toBe("thenew");
});

test("a long run goes on in a new element, from the beginning of a line", () => {
  let output = emptyOutput("a");
  for (let line = 0; line < 2_000; line += 1) output = appendOutput(output, "stdout", `line ${line}\n`);
  expect(output.segments.length).toBeGreaterThan(1);
  expect(output.segments.every((segment) => segment.text.endsWith("\n"))).toBe(true);
});
