import { expect, test } from "vitest";
import { execMessage, message, runner } from "../state/fixtures";
import { addPiece, emptyOutput } from "../state/output";
import type { Agent, Message } from "../types";
import { FIRST_INDEX, isUnanswered, itemsOf, moved, newestTodos, speakingOf, underWay } from "./items";

const by = (id: number, agent: Agent, text = ""): Message => ({ ...message(id, text), role: "assistant", agent });
const tool = (status: "asking" | "running" | "done"): Agent => ({ kind: "tool", tool: "Shell", hint: "ls", place: "laptop", status });

test("an answer is not shown until it has content", () => {
  const silent = by(2, { kind: "reply", status: "running" });
  expect(itemsOf([message(1), silent], "", []).map((item) => item.key)).toEqual(["1"]);
  const live = { 2: addPiece(emptyOutput("a"), { channel: "text", at: 0, text: "so" }) };
  expect(itemsOf([message(1), silent], speakingOf({ messages: [message(1), silent], live }), []).map((item) => item.key)).toEqual(["1", "2"]);
});

test("an early end is shown after everything its answer did, and before the next message", () => {
  const failed = by(2, { kind: "reply", status: "failed", error: "no" });
  const keys = (...messages: Message[]) => itemsOf(messages, "", []).map((item) => item.key);
  expect(keys(message(1), failed, by(3, tool("done")))).toEqual(["1", "3", "end 2"]);
  expect(keys(message(1), { ...failed, text: "so far" }, by(3, tool("done")), message(4))).toEqual(["1", "2", "3", "end 2", "4"]);
  expect(keys(message(1), by(2, { kind: "reply", status: "cancelled" }), message(3))).toEqual(["1", "end 2", "3"]);
  expect(keys(message(1), by(2, { kind: "reply", status: "done" }, "yes"))).toEqual(["1", "2"]);
});

test("the running activity is described by the user's options", () => {
  const turn = by(2, { kind: "reply", status: "running" });
  expect(underWay([message(1)], [])).toBeNull();
  expect(underWay([message(1), turn, by(3, tool("running"))], [])?.kind).toBe("running");
  expect(underWay([message(1), turn, by(3, tool("asking"))], [])).toMatchObject({ kind: "asking", asking: { id: 3 } });
  expect(underWay([by(2, { kind: "reply", status: "queued" })], [])?.kind).toBe("queued");
  expect(underWay([execMessage(2, "")], [])?.kind).toBe("command");
  const apart = by(2, { ...tool("running"), sub_agent: { chat_id: "c", steps: 0, background: true } } as Agent);
  expect(underWay([message(1), apart], [])?.kind).toBe("background");
  expect(underWay([apart, by(3, { kind: "reply", status: "queued" })], [])?.kind).toBe("queued");
});

test("a call that waits for an offline machine names the machine; other calls do not", () => {
  const away = (messages: Message[], online: boolean) => underWay(messages, [{ ...runner("laptop"), online }, runner("desk")])?.away;
  const turn = by(2, { kind: "reply", status: "running" });
  expect(away([turn, by(3, tool("running"))], false)).toBe("laptop");
  expect(away([turn, by(3, tool("running"))], true)).toBeNull();
  expect(away([turn, by(3, tool("done"))], false)).toBeNull();
  expect(away([execMessage(2, "", { runner: "laptop" })], false)).toBe("laptop");
});

test("the to-do list disappears when everything in it is done", () => {
  const todos = (status: "pending" | "completed"): Agent => ({ ...tool("done"), data: { kind: "todos", items: [{ content: "x", status }] } }) as Agent;
  expect(newestTodos([by(1, todos("completed")), by(2, todos("pending"))])).toHaveLength(1);
  expect(newestTodos([by(1, todos("pending")), by(2, todos("completed"))])).toBeNull();
  expect(newestTodos([{ ...by(1, todos("pending")), undone: true }])).toBeNull();
});

test("inserting earlier messages does not move the later ones", () => {
  const items = (...ids: number[]) => itemsOf(ids.map((id) => message(id)), "", []);
  let position = moved({ firstIndex: FIRST_INDEX, firstKey: null }, items(5, 6));
  expect(position).toEqual({ firstIndex: FIRST_INDEX, firstKey: "5" });
  position = moved(position, items(3, 4, 5, 6, 7));
  expect(position).toEqual({ firstIndex: FIRST_INDEX - 2, firstKey: "3" });
  expect(moved(position, items(50, 51))).toEqual({ firstIndex: FIRST_INDEX, firstKey: "50" });
});

test("a text that got a notice instead of an answer is unanswered; a command is not", () => {
  const notice: Message = { ...message(2, "No model is set up"), role: "notice" };
  expect(isUnanswered([message(1, "hello"), notice])).toBe(true);
  expect(isUnanswered([message(1, "/models"), notice])).toBe(false);
  expect(isUnanswered([message(1, " !pwd"), notice])).toBe(false);
  expect(isUnanswered([message(1, "hello"), notice, message(3, "again")])).toBe(false);
  expect(isUnanswered([message(1, "hello"), by(2, { kind: "reply", status: "done" })])).toBe(false);
  expect(isUnanswered([notice])).toBe(false);
  expect(isUnanswered([])).toBe(false);
});
