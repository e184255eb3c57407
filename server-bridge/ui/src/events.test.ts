import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoffMs, EventsClient } from "./events";
import { RECONNECT_CAP_MS } from "./limits";

class FakeSocket {
  static opened: FakeSocket[] = [];
  onmessage: ((frame: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
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

test("the back-off has full jitter, and doubles up to a cap", () => {
  expect([0, 1, 2].map((attempt) => backoffMs(attempt, 0.5))).toEqual([500, 1_000, 2_000]);
  expect(backoffMs(50, 0.999_999)).toBeLessThan(RECONNECT_CAP_MS);
  expect(backoffMs(3, 0)).toBe(0);
});

test("a lost connection is restored automatically", () => {
  const events = client();
  events.connect();
  socket(0).say({ type: "hello", seq: 1, user: "ada" });
  socket(0).onclose?.();
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  socket(1).say({ type: "hello", seq: 1, user: "ada" });
  expect(log).toEqual(["connecting", "online", "hello", "offline", "online", "hello"]);
});

test("a connection that is refused before its hello is reported and retried", () => {
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

test("after stop, nothing is delivered and no attempt is made", () => {
  const events = client();
  events.connect();
  events.stop();
  socket(0).say({ type: "hello", seq: 1, user: "ada" });
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  expect(socket(0).closed).toBe(true);
  expect(log).toEqual(["connecting"]);
});

test("a new connection asks for the events after the last one, and none is delivered twice", () => {
  const events = client();
  events.connect();
  expect(socket(0).url).toBe("ws://host/events");
  socket(0).say({ type: "hello", seq: 7, user: "ada", epoch: "e1", resumed: false });
  socket(0).say({ type: "settings", seq: 8, active_runner: null });
  socket(0).onclose?.();
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  expect(socket(1).url).toBe("ws://host/events?after=8&epoch=e1");
  log.length = 0;
  socket(1).say({ type: "hello", seq: 8, user: "ada", epoch: "e1", resumed: true });
  socket(1).say({ type: "settings", seq: 8, active_runner: null });
  socket(1).say({ type: "notice", seq: 9, level: "info", text: "n" });
  expect(log).toEqual(["online", "hello", "notice"]);
});

test("after a reset, the numbering of the server applies", () => {
  const events = client();
  events.connect();
  socket(0).say({ type: "hello", seq: 100, user: "ada", epoch: "e1", resumed: false });
  socket(0).onclose?.();
  vi.advanceTimersByTime(RECONNECT_CAP_MS);
  socket(1).say({ type: "hello", seq: 3, user: "ada", epoch: "e2", resumed: false });
  socket(1).say({ type: "reset", seq: 3 });
  log.length = 0;
  socket(1).say({ type: "notice", seq: 4, level: "info", text: "n" });
  socket(1).say({ type: "lagged", seq: 9 });
  socket(1).say({ type: "notice", seq: 9, level: "info", text: "n" });
  expect(log).toEqual(["notice", "lagged"]);
});
