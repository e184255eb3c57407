import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../api";
import { SEND_AGAIN_MS } from "../limits";
import { message } from "./fixtures";
import { Outbox, type Pending, unsent } from "./outbox";

const offline = new ApiError(0, "unreachable", "no answer");
const refused = new ApiError(400, "invalid", "too long");

function memory(): Storage {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
    key: (at) => [...values.keys()][at] ?? null,
    clear: () => values.clear(),
    get length() {
      return values.size;
    },
  };
}

const sent: [string, string, string][] = [];
let shown: Pending[] = [];
let failure: Error | null = null;
/** A chat for which requests never fail. */
let soundChat: string | null = null;

function outbox(storage: Storage): Outbox {
  return new Outbox({
    storage,
    startChat: async () => {
      if (failure !== null) throw failure;
      return "new";
    },
    send: async (pending, chatId) => {
      sent.push([pending.send_id, chatId, pending.text]);
      if (failure !== null && chatId !== soundChat) throw failure;
      return { messages: [] };
    },
    onChange: (items) => {
      shown = items;
    },
    onSent: () => {},
  });
}

const inChat = (id: string | null) => ({ open_chat_id: id, messages: [], messages_loaded: true });
const settled = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  [sent.length, shown, failure, soundChat] = [0, [], null, null];
});
afterEach(() => void vi.useRealTimers());

test("a message is sent once, and is not stored any longer", async () => {
  const storage = memory();
  const box = outbox(storage);
  box.load("ada");
  box.add("a", inChat("a"), "hello", []);
  await settled();
  expect([sent.length, shown, storage.length]).toEqual([1, [], 0]);
});

test("messages that could not be sent are sent again after a reload, in order and under the same ids", async () => {
  const storage = memory();
  failure = offline;
  const box = outbox(storage);
  box.load("ada");
  box.add("a", inChat("a"), "one", []);
  await settled();
  vi.setSystemTime(Date.now() + 1);
  box.add("a", inChat("a"), "two", []);
  await settled();
  expect(shown.map((item) => item.status)).toEqual(["waiting", "sending"].map(() => expect.stringMatching(/waiting|sending/)));
  const first = sent[0]?.[0];
  failure = null;
  sent.length = 0;
  outbox(storage).load("ada");
  await settled();
  expect(sent.map(([, chat, text]) => [chat, text])).toEqual([["a", "one"], ["a", "two"]]);
  expect(sent[0]?.[0]).toBe(first);
  expect(storage.length).toBe(0);
});

test("a failed message is retried automatically after a while", async () => {
  failure = new ApiError(503, "offline", "later");
  const box = outbox(memory());
  box.load("ada");
  box.add("a", inChat("a"), "one", []);
  await settled();
  failure = null;
  await vi.advanceTimersByTimeAsync(SEND_AGAIN_MS);
  expect([sent.length, shown]).toEqual([2, []]);
});

test("a message that the server refuses stays until the user decides, and holds up no other", async () => {
  const box = outbox(memory());
  box.load("ada");
  failure = refused;
  box.add("a", inChat("a"), "bad", []);
  await settled();
  failure = null;
  box.add("a", inChat("a"), "good", []);
  await settled();
  expect(shown.map((item) => [item.text, item.status, item.error])).toEqual([["bad", "refused", "too long"]]);
  box.retry(shown[0]?.send_id ?? "");
  await settled();
  expect(shown).toEqual([]);
});

test("the first messages of a new chat are sent to the same chat", async () => {
  failure = offline;
  const box = outbox(memory());
  box.load("ada");
  box.add(null, inChat(null), "one", []);
  box.add(null, inChat(null), "two", []);
  await settled();
  failure = null;
  box.flush();
  await settled();
  expect(sent.map(([, chat]) => chat)).toEqual(["new", "new"]);
});

test("a message is sent to its own chat, whichever is open", async () => {
  const box = outbox(memory());
  box.load("ada");
  box.add("a", { open_chat_id: "b", messages: [message(7, "hello", "b")], messages_loaded: true }, "hello", []);
  expect(shown.map((item) => [item.chat_id, item.after_id])).toEqual([["a", Number.MAX_SAFE_INTEGER]]);
  await settled();
  expect(sent.map(([, chat]) => chat)).toEqual(["a"]);
});

test("a message is sent, once, even if the browser stores nothing", async () => {
  const full = { ...memory(), length: 0, setItem: () => { throw new DOMException("full", "QuotaExceededError"); } };
  const box = outbox(full);
  box.load("ada");
  box.add("a", inChat("a"), "one", []);
  await settled();
  box.add("a", inChat("a"), "two", []);
  await settled();
  expect([sent.map(([, , text]) => text), shown]).toEqual([["one", "two"], []]);
});

test("a chat for which the server fails holds up no other chat, and keeps its order", async () => {
  [failure, soundChat] = [new ApiError(500, "internal", "broken"), "b"];
  const box = outbox(memory());
  box.load("ada");
  box.add("a", inChat("a"), "one", []);
  box.add("a", inChat("a"), "two", []);
  box.add("b", inChat("b"), "other", []);
  await settled();
  expect(sent.map(([, , text]) => text)).toEqual(["one", "other"]);
  [failure, sent.length] = [null, 0];
  await vi.advanceTimersByTimeAsync(SEND_AGAIN_MS);
  expect([sent.map(([, , text]) => text), shown]).toEqual([["one", "two"], []]);
});

test("after the end of a session nothing is sent until someone signs in", async () => {
  failure = new ApiError(401, "unauthorized", "sign in");
  const box = outbox(memory());
  box.load("ada");
  box.add("a", inChat("a"), "one", []);
  await vi.advanceTimersByTimeAsync(3 * SEND_AGAIN_MS);
  expect(sent.length).toBe(1);
  failure = null;
  box.load("ada");
  await settled();
  expect([sent.length, shown]).toEqual([2, []]);
});

test("another user's messages are not sent, and invalid stored data is ignored", async () => {
  const storage = memory();
  failure = offline;
  const box = outbox(storage);
  box.load("ada");
  box.add("a", inChat("a"), "secret", []);
  await settled();
  storage.setItem("sandbridge.outbox.bob.x", "{broken");
  [failure, sent.length] = [null, 0];
  outbox(storage).load("bob");
  await settled();
  expect(sent).toEqual([]);
});

test("a pending bubble disappears when its message arrives, one message for each", () => {
  const item = (id: string): Pending => {
    return { send_id: id, chat_id: "a", text: "y", attachments: [], created_at: 0, after_id: 5, status: "sending", error: null };
  };
  const ids = (messages: Parameters<typeof unsent>[2]) => unsent([item("1"), item("2")], "a", messages).map((left) => left.send_id);
  expect(ids([message(4, "y")])).toEqual(["1", "2"]);
  expect(ids([message(4, "y"), message(6, "y")])).toEqual(["2"]);
  expect(ids([message(6, "y"), message(7, "y")])).toEqual([]);
  expect(unsent([item("1")], "b", [])).toEqual([]);
});
