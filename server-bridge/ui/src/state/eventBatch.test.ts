import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EVENT_BATCH_MS } from "../limits";
import type { ServerEvent } from "../types";
import { EventBatch } from "./eventBatch";

const active = (name: string): ServerEvent => ({ type: "settings", seq: 1, active_runner: name });
const output = (text: string): ServerEvent => {
  return { type: "output", seq: 1, chat_id: "a", message_id: 1, channel: "stdout", at: 0, text };
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("events are delivered together, in order", () => {
  const delivered: ServerEvent[][] = [];
  const batch = new EventBatch((events) => delivered.push(events));
  batch.add(output("a"));
  batch.add(output("b"));
  expect(delivered).toEqual([]);
  vi.advanceTimersByTime(EVENT_BATCH_MS);
  expect(delivered).toEqual([[output("a"), output("b")]]);
});

test("a single event is delivered at once, those that follow closely wait", () => {
  const delivered: ServerEvent[][] = [];
  const batch = new EventBatch((events) => delivered.push(events));
  batch.add(output("a"));
  vi.advanceTimersByTime(0);
  expect(delivered).toEqual([[output("a")]]);
  batch.add(output("b"));
  vi.advanceTimersByTime(EVENT_BATCH_MS - 1);
  expect(delivered).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(delivered).toHaveLength(2);
});

test("a reload does not undo events that arrived meanwhile, and no output is delivered twice", async () => {
  const delivered: ServerEvent[] = [];
  const batch = new EventBatch((events) => delivered.push(...events));
  await batch.during(async () => {
    batch.add(active("laptop"));
    batch.add(output("x"));
    batch.flush();
    delivered.length = 0;
  });
  expect(delivered).toEqual([active("laptop")]);
});

test("after stop nothing is delivered", () => {
  const delivered: ServerEvent[][] = [];
  const batch = new EventBatch((events) => delivered.push(events));
  batch.add(output("a"));
  batch.stop();
  vi.advanceTimersByTime(EVENT_BATCH_MS);
  expect(delivered).toEqual([]);
});
