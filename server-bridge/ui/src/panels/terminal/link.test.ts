import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TERMINAL_ACK_BYTES, TERMINAL_INPUT_PIECE_BYTES, TERMINAL_INPUT_WINDOW_BYTES } from "../../limits";
import type { ExecServerFrame } from "../../types";
import { type End, ExecLink, type LinkState, type TerminalRequest } from "./link";

const OPEN = 1;

class FakeSocket {
  binaryType = "";
  readyState = 0;
  sent: (string | Uint8Array)[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly path: string) {}

  open(): void {
    this.readyState = OPEN;
    this.onopen?.();
  }
  say(frame: ExecServerFrame): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  output(length: number): void {
    this.onmessage?.({ data: new Uint8Array(length + 1).fill(1).buffer });
  }
  break(): void {
    this.readyState = 3;
    this.onclose?.();
  }
  send(frame: string | Uint8Array): void {
    this.sent.push(frame);
  }
  close(): void {
    this.closed = true;
  }
  get frames(): { type?: string; offset?: number; rows?: number }[] {
    return this.sent.filter((frame) => typeof frame === "string").map((frame) => JSON.parse(frame) as { type?: string });
  }
  get input(): number {
    return this.sent.filter((frame) => typeof frame !== "string").reduce((sum, frame) => sum + frame.length - 1, 0);
  }
}

const REQUEST: TerminalRequest = { on: "laptop", pty: { rows: 24, columns: 80, term: "xterm-256color" } };
const ASKED = { exec_id: "ab", offset: 0, acks: true, client: expect.stringMatching(/^[0-9a-f]{32}$/) as string };
const STARTED: ExecServerFrame = { type: "started", exec_id: "0", runner: "laptop", offset: 0, stdin_offset: 0 };
const EXIT: ExecServerFrame = {
  type: "exit",
  code: 0,
  signal: null,
  timed_out: false,
  cancelled: false,
  sandbox_denied: false,
  truncated: false,
  duration_ms: 1,
  runner: "laptop",
};

function link(request: TerminalRequest | null = REQUEST, offset = 0, refusal: End | null = null) {
  const sockets: FakeSocket[] = [];
  const states: LinkState["kind"][] = [];
  const gaps: number[] = [];
  const made = new ExecLink({
    execId: "ab",
    request,
    offset,
    connect: (path) => {
      const socket = new FakeSocket(path);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    refused: () => Promise.resolve(refusal),
    onState: (state) => states.push(state.kind),
    onStarted: () => undefined,
    onOutput: () => undefined,
    onGap: (bytes) => gaps.push(bytes),
  });
  made.connect();
  const last = (): FakeSocket => {
    const socket = sockets.at(-1);
    if (socket === undefined) throw new Error("nothing connected");
    return socket;
  };
  return { made, sockets, states, gaps, last };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", { OPEN });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a terminal is requested once, and then attached to by its id at the last offset", () => {
  const { states, last } = link();
  expect(last().path).toBe("/exec");
  last().open();
  expect(last().frames[0]).toEqual({ ...REQUEST, ...ASKED, connection: 0 });
  last().say(STARTED);
  last().output(10);
  last().say({ type: "gap", bytes: 5 });
  last().break();
  vi.runOnlyPendingTimers();
  expect(last().path).toMatch(/^\/execs\/ab\?offset=15&acks=true&client=[0-9a-f]{32}&connection=1$/);
  last().open();
  expect(last().sent).toEqual([]);
  last().say(STARTED);
  expect(states).toEqual(["open", "lost", "open"]);
});

test("an unanswered request is repeated unchanged", () => {
  const { last } = link();
  last().open();
  last().break();
  vi.runOnlyPendingTimers();
  last().open();
  expect(last().path).toBe("/exec");
  expect(last().frames[0]).toEqual({ ...REQUEST, ...ASKED, connection: 1 });
});

test("output is acknowledged only after the screen has written it", () => {
  const { made, last } = link(null, 100);
  last().open();
  last().say(STARTED);
  last().output(TERMINAL_ACK_BYTES * 2);
  vi.advanceTimersByTime(10_000);
  expect(last().frames).toEqual([]);
  made.wrote(10);
  expect(last().frames).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(last().frames).toEqual([{ type: "ack", offset: 110 }]);
  made.wrote(TERMINAL_ACK_BYTES);
  expect(last().frames.at(-1)).toEqual({ type: "ack", offset: 110 + TERMINAL_ACK_BYTES });
});

test("unacknowledged input is limited by the window, and more is sent once the server has taken some", () => {
  const { made, last } = link();
  last().open();
  last().say(STARTED);
  made.send(new Uint8Array(TERMINAL_INPUT_WINDOW_BYTES * 2));
  expect(last().input).toBe(TERMINAL_INPUT_WINDOW_BYTES);
  last().say({ type: "input", offset: TERMINAL_INPUT_PIECE_BYTES });
  expect(last().input).toBe(TERMINAL_INPUT_WINDOW_BYTES + TERMINAL_INPUT_PIECE_BYTES);
  expect(made.waitingBytes).toBe(TERMINAL_INPUT_WINDOW_BYTES - TERMINAL_INPUT_PIECE_BYTES);
});

test("input typed into a lost connection is not sent later", () => {
  const { made, last } = link();
  last().open();
  last().say(STARTED);
  last().break();
  made.send(new Uint8Array([1]));
  expect(made.waitingBytes).toBe(0);
  vi.runOnlyPendingTimers();
  last().open();
  last().say(STARTED);
  expect(last().input).toBe(0);
});

test("the link reports a runner that goes offline and returns, and stays connected", () => {
  const { states, sockets, last } = link();
  last().open();
  last().say(STARTED);
  last().say({ type: "interrupted" });
  last().say({ type: "resumed" });
  expect(states).toEqual(["open", "away", "open"]);
  expect(sockets).toHaveLength(1);
});

test("after the end, the link does not connect again", () => {
  const { states, sockets, last } = link();
  last().open();
  last().say(STARTED);
  last().say(EXIT);
  last().break();
  vi.runAllTimers();
  expect(states).toEqual(["open", "ended"]);
  expect(sockets).toHaveLength(1);
});

test("the link reconnects to a server that stops; any other error ends it", () => {
  const passing = link();
  passing.last().open();
  passing.last().say({ type: "error", kind: "unavailable", message: "stopping" });
  passing.last().break();
  vi.runOnlyPendingTimers();
  expect(passing.sockets).toHaveLength(2);
  const final = link();
  final.last().open();
  final.last().say({ type: "error", kind: "offline", message: "laptop is offline" });
  final.last().break();
  vi.runAllTimers();
  expect(final.states).toEqual(["ended"]);
});

test("the link stops asking for a terminal that the server no longer knows", async () => {
  const gone: End = { type: "error", kind: "not_found", message: "no command has the id ab" };
  const { states, sockets, last } = link(null, 0, gone);
  last().break();
  await vi.advanceTimersByTimeAsync(0);
  vi.runAllTimers();
  expect(states.at(-1)).toBe("ended");
  expect(sockets.length).toBeLessThanOrEqual(2);
});

test("the terminal's size is sent on every connection", () => {
  const { made, last } = link();
  made.resize(30, 100);
  last().open();
  expect(last().frames).toHaveLength(1);
  last().say(STARTED);
  expect(last().frames.at(-1)).toEqual({ type: "resize", rows: 30, columns: 100 });
});

test("a closed link sends nothing", () => {
  const { made, sockets, last } = link();
  last().open();
  last().say(STARTED);
  made.wrote(1);
  made.close();
  vi.runAllTimers();
  expect(last().closed).toBe(true);
  expect(sockets).toHaveLength(1);
});
