import { expect, test } from "vitest";
import type { Message } from "../types";
import { type Activities, chatActivity, overall, track } from "./activity";
import { execMessage, message, openState } from "./fixtures";
import { reduce } from "./reducer";

const asking = (id: number, chatId: string): Message => ({
  ...message(id, "", chatId),
  role: "assistant",
  agent: { kind: "tool", tool: "Shell", hint: "ls", status: "asking", place: null },
});
const after = (...messages: Message[]): Activities => messages.reduce(track, {});

test("a chat is running as long as something in it is", () => {
  const begun = after(execMessage(1, "", {}, "a"), execMessage(2, "", {}, "a"));
  expect(chatActivity(begun, "a")).toBe("running");
  const one = track(begun, execMessage(1, "", { status: "exited" }, "a"));
  expect(chatActivity(one, "a")).toBe("running");
  const none = track(one, execMessage(2, "", { status: "lost" }, "a"));
  expect(none).toEqual({});
});

test("a question has precedence over running work", () => {
  expect(chatActivity(after(execMessage(1, "", {}, "a"), asking(2, "a")), "a")).toBe("asking");
});

test("only listed chats count in the total", () => {
  const activities = after(execMessage(1, "", {}, "a"), asking(2, "b"), asking(3, "sub-agent"));
  expect(overall(activities, ["a", "b"])).toEqual({ running: true, asking: 1 });
});

test("events that arrive meanwhile have precedence over a loaded answer", () => {
  const looked = { type: "chat_looked_at" as const, chat_id: "b", messages: [execMessage(1, "", {}, "b")] };
  expect(chatActivity(reduce(openState(), looked).activity, "b")).toBe("running");
  const ended = reduce(openState(), {
    type: "events",
    events: [{ type: "message", seq: 1, message: execMessage(1, "", { status: "exited" }, "b") }],
  });
  expect(chatActivity(reduce(ended, looked).activity, "b")).toBeNull();
});

test("a message that changes nothing returns the same object", () => {
  const activities = after(execMessage(1, "", {}, "a"));
  expect(track(activities, execMessage(1, "more", {}, "a"))).toBe(activities);
  expect(track(activities, message(5, "said", "b"))).toBe(activities);
});
