import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoffMs, EventsClient } from "./events";
import { RECONNECT_CAP_MS } from "./limits";

class FakeSocket {
  static opened: FakeSocket[] = [];
  onmessage: ((frame: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  closed = false;

  constructor() {
    FakeSocket.opened.push(this);
  }

  close() {
    this.closed = true;
  }

  say(event: object) {
    this.onmessage?.({ data: JSON.stringify(event) });
  }
}

const log: string[] = [];
const client = () =>
  new EventsClient({
    url: "ws://host/events",
    onEvent: (event) => log.push(event.type),
    onState: (state) => log.push(state),
    onRefused: () => log.push("refused"),
  });
const socket = (at: number) => {
  const found = FakeSocket.opened[at];
  if (!found) throw new Error(`no socket ${at}`);
  return found;
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.opened = [];
  log.length = 0;
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the back-off is full jitter, doubling up to a cap", () => {
  expect([0, 1, 2].map((attempt) => backoffMs(attempt, 0.5))).toEqual([500, 1_000, 2_000]);
  expect(backoffMs(50, 0.999_999)).toBeLessThan(RECONNECT_CAP_MS);
  expect(backoffMs(3, 0)).toBe(0);
});

test("a lost connection comes back by itself", () => {
  const events = client();
  events.connect();
  socket(0).say({ type: "hello", seq: 1, user: "ada" });
  socket(0).onclose?.();
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  socket(1).say({ type: "hello", seq: 1, user: "ada" });
  expect(log).toEqual(["connecting", "online", "hello", "offline", "online", "hello"]);
});

test("a connection refused before its hello is told, and tried again", () => {
  client().connect();
  socket(0).onclose?.();
  expect(log).toEqual(["connecting", "offline", "refused"]);
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  expect(FakeSocket.opened).toHaveLength(2);
});

test("a retry brings the attempt forward and does not disturb an open socket", () => {
  const events = client();
  events.connect();
  events.retry();
  expect(FakeSocket.opened).toHaveLength(1);
  socket(0).onclose?.();
  events.retry();
  expect(FakeSocket.opened).toHaveLength(2);
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  expect(FakeSocket.opened).toHaveLength(2);
});

test("after stop nothing comes any more", () => {
  const events = client();
  events.connect();
  events.stop();
  socket(0).say({ type: "hello", seq: 1, user: "ada" });
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  expect(socket(0).closed).toBe(true);
  expect(log).toEqual(["connecting"]);
});
