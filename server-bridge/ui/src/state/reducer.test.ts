import { describe, expect, test } from "vitest";
import { CHAT_PAGE_COUNT } from "../limits";
import type { Chat, Me, Message, ServerEvent, ToolStatus, TurnStatus } from "../types";
import { chat, execMessage, message, openState, runner } from "./fixtures";
import { reduce } from "./reducer";
import { type Action, openChatOf, type State } from "./state";

type EventBody = ServerEvent extends infer Event ? (Event extends ServerEvent ? Omit<Event, "seq"> : never) : never;

function apply(state: State, ...events: EventBody[]): State {
  return reduce(state, { type: "events", events: events.map((event) => ({ ...event, seq: 1 }) as ServerEvent) });
}

const output = (id: number, text: string, at = 0, chatId = "a"): EventBody => {
  return { type: "output", chat_id: chatId, message_id: id, channel: "stdout", at, text };
};
const withLive = (value: Message, text: string, channel: "stdout" | "text" = "stdout"): Message => {
  return { ...value, live: [{ channel, at: 0, text }] };
};
const reply = (id: number, text: string, status: TurnStatus): Message => {
  return { ...message(id, text), role: "assistant", agent: { kind: "reply", status } };
};
const said = (value: Message): EventBody => ({ type: "message", message: value });
const ids = (state: State) => state.messages.map((known) => known.id);
const shown = (state: State, id: number) => state.live[id]?.segments.map((segment) => segment.text).join("");

describe("messages", () => {
  test("are sorted by id, in whatever order they arrive", () => {
    expect(ids(apply(openState(), said(message(3)), said(message(1)), said(message(2))))).toEqual([1, 2, 3]);
  });

  test("that arrive twice are replaced, not duplicated", () => {
    const state = apply(openState([message(1, "old")]), said(message(1, "new")));
    expect(state.messages.map((known) => known.text)).toEqual(["new"]);
  });

  test("are not set back to running by a response that is older than the end of their command", () => {
    const ended = apply(openState(), said(execMessage(1, "x", { status: "exited", exit_code: 0 })));
    const state = reduce(ended, { type: "messages_received", messages: [execMessage(1, "")] });
    expect(state.messages[0]?.exec?.status).toBe("exited");
  });

  test("that were allowed continue, even after an older page arrives", () => {
    const tool = (status: ToolStatus): Message => {
      return { ...message(1, ""), role: "assistant", agent: { kind: "tool", tool: "Shell", hint: "ls", place: null, status } };
    };
    const asked = reduce(apply(openState(), said(tool("asking"))), { type: "load_began", chat_id: "a" });
    const allowed = apply(asked, said(tool("running")));
    const page = { messages: [tool("asking")], more: false };
    expect(reduce(allowed, { type: "newest_loaded", chat_id: "a", page }).messages[0]?.agent?.status).toBe("running");
  });

  test("of another chat are not shown in the open one", () => {
    expect(ids(apply(openState(), said(message(1, "hello", "b"))))).toEqual([]);
  });
});

describe("live output", () => {
  test("may arrive before its message", () => {
    const state = apply(openState(), output(7, "early "), said(execMessage(7, "")), output(7, "late", 6));
    expect(shown(state, 7)).toBe("early late");
  });

  test("continues from the text with which a running command was loaded", () => {
    const page = { messages: [withLive(execMessage(7, "so far\n"), "so far\n")], more: false };
    const loaded = reduce(openState(), { type: "newest_loaded", chat_id: "a", page });
    expect(shown(apply(loaded, output(7, "and on\n", 7)), 7)).toBe("so far\nand on\n");
  });

  test("that is longer than a loaded text stays", () => {
    const live = apply(openState(), said(execMessage(7, "")), output(7, "a\nb\n"));
    const page = { messages: [execMessage(7, "a\n")], more: false };
    expect(shown(reduce(live, { type: "newest_loaded", chat_id: "a", page }), 7)).toBe("a\nb\n");
  });

  test("is replaced by the final text, unless both are the same", () => {
    const live = apply(openState(), said(execMessage(7, "")), output(7, "a\nb\n"));
    const exited = { status: "exited", exit_code: 0 } as const;
    expect(shown(apply(live, said(execMessage(7, "a\nb\n", exited))), 7)).toBe("a\nb\n");
    expect(apply(live, said(execMessage(7, "a\nb\nc\n", exited))).live).toEqual({});
  });

  test("that is late for a finished command is ignored", () => {
    const state = apply(openState([execMessage(7, "all", { status: "exited", exit_code: 0 })]), output(7, "late"));
    expect(state.live).toEqual({});
  });

  test("is the server's after a lost connection, followed by pieces that arrived meanwhile", () => {
    const live = apply(openState(), said(execMessage(7, "")), output(7, "a\n"));
    const state = apply(reduce(live, { type: "connection_restored" }), output(7, "z\n", 4));
    expect(state.live[7]?.segments.map((segment) => segment.channel)).toEqual(["stdout", "gap", "stdout"]);
    const page = { messages: [withLive(execMessage(7, ""), "a\nb\n")], more: false };
    expect(shown(reduce(state, { type: "newest_loaded", chat_id: "a", page }), 7)).toBe("a\nb\nz\n");
  });

  test("of a running answer is shown after a reload, and continues", () => {
    const page = { messages: [withLive(reply(7, "", "running"), "half an ", "text")], more: false };
    const loaded = reduce(openState(), { type: "newest_loaded", chat_id: "a", page });
    const state = apply(loaded, { ...output(7, "answer", 8), channel: "text" } as EventBody);
    expect(shown(state, 7)).toBe("half an answer");
    expect(apply(state, said(reply(7, "half an answer", "done"))).live).toEqual({});
  });

  test("of a chatty command is one change for a whole batch", () => {
    const lines = Array.from({ length: 100 }, (_, at) => output(7, "x", at));
    expect(apply(openState(), ...lines).live[7]?.tail).toEqual([{ ...lines[0], text: "x".repeat(100), seq: 1 }]);
  });

  test("of a command in another chat is shown when that chat is opened", () => {
    const away = apply(openState(), output(9, "b's\n", 0, "b"), said(execMessage(9, "", {}, "b")));
    const opened = reduce(away, { type: "chat_opened", id: "b" });
    const page = { messages: [execMessage(9, "", {}, "b")], more: false };
    expect(shown(reduce(opened, { type: "newest_loaded", chat_id: "b", page }), 9)).toBe("b's\n");
  });

  test("of a command that ended in another chat is dropped", () => {
    const away = apply(openState(), output(9, "x", 0, "b"), said(execMessage(9, "x", { status: "exited" }, "b")));
    expect(away.live).toEqual({});
  });
});

describe("loading", () => {
  test("a page of a chat that is no longer open is ignored", () => {
    const state = reduce(openState(), { type: "chat_opened", id: "b" });
    const page = { messages: [message(1)], more: false };
    expect(reduce(state, { type: "newest_loaded", chat_id: "a", page })).toBe(state);
  });

  test("a draft moves from no chat to a chat, never from one chat to another", () => {
    const open = (state: State) => reduce(state, { type: "chat_opened", id: "b", along: true });
    expect(open({ ...openState(), open_chat_id: null }).view).toBe(openState().view);
    expect(open(openState()).view).not.toBe(openState().view);
  });

  test("an event that arrived before the page is kept", () => {
    const opened = reduce(openState(), { type: "chat_opened", id: "b" });
    const early = apply(opened, said(message(5, "new", "b")));
    const page = { messages: [message(3, "old", "b"), message(4, "old", "b")], more: true };
    const state = reduce(early, { type: "newest_loaded", chat_id: "b", page });
    expect(ids(state)).toEqual([3, 4, 5]);
    expect(state.more_messages).toBe(true);
  });

  test("a reload that adjoins the earlier messages keeps them", () => {
    const known = { ...openState([message(1), message(2), message(3)]), more_messages: true };
    const page = { messages: [message(2), message(3), message(4)], more: true };
    expect(ids(reduce(known, { type: "newest_loaded", chat_id: "a", page }))).toEqual([1, 2, 3, 4]);
  });

  test("a reload with a gap before it drops the earlier messages, even if an event arrived first", () => {
    const known = openState([message(1), message(2), message(90)]);
    const page = { messages: [message(50), message(90)], more: true };
    const state = reduce(known, { type: "newest_loaded", chat_id: "a", page });
    expect(ids(state)).toEqual([50, 90]);
    expect(state.more_messages).toBe(true);
  });

  test("earlier messages are put first, and record whether there are more", () => {
    const known = { ...openState([message(5)]), more_messages: true };
    const page = { messages: [message(3), message(4)], more: false };
    const state = reduce(known, { type: "older_loaded", chat_id: "a", page });
    expect(ids(state)).toEqual([3, 4, 5]);
    expect(state.more_messages).toBe(false);
  });
});

describe("chats, runners and settings", () => {
  test("the chat used last comes first", () => {
    const state = apply(openState(), { type: "chat", chat: chat("a", 1) }, { type: "chat", chat: chat("b", 2) });
    expect(state.chats.map((known) => known.id)).toEqual(["b", "a"]);
    const again = apply(state, { type: "chat", chat: chat("a", 3) });
    expect(again.chats.map((known) => known.id)).toEqual(["a", "b"]);
  });

  test("the open chat is known even if it is not in the list, and is not added to it", () => {
    const bound = { ...chat("a", 1), runner: "laptop" };
    const state = reduce({ ...openState(), chats: [chat("b", 2)] }, { type: "chat_asked", chat: bound });
    expect([openChatOf(state)?.runner, state.chats.map((known) => known.id)]).toEqual(["laptop", ["b"]]);
    expect(openChatOf(reduce(state, { type: "chat_opened", id: "c" }))).toBe(null);
    expect(openChatOf(apply(state, { type: "chat", chat: { ...bound, runner: null, updated_at: 3 } }))?.runner).toBe(null);
  });

  test("an answer about the open chat does not undo a newer event", () => {
    const bound = { ...chat("a", 5), runner: "laptop" };
    const late = reduce({ ...openState(), chats: [bound] }, { type: "chat_asked", chat: chat("a", 4) });
    expect(openChatOf(late)?.runner).toBe("laptop");
    expect(openChatOf(reduce(late, { type: "chat_asked", chat: chat("a", 6) }))?.runner).toBe(null);
  });

  test("reloading the list keeps the pages after the first", () => {
    const page = Array.from({ length: CHAT_PAGE_COUNT }, (_, at) => chat(`p${at}`, 1000 - at));
    const overview = (chats: Chat[]): Action => {
      const me = { active_runner: null } as Me;
      return { type: "overview_loaded", me, runners: [], settings: { active_runner: null, choices: [] }, chats };
    };
    const known = { ...openState(), chats: [chat("gone", 999), chat("p0", 2), chat("old", 1)], more_chats: false };
    const state = reduce(known, overview(page));
    expect([state.chats.length, state.chats.at(-1)?.id, state.more_chats]).toEqual([CHAT_PAGE_COUNT + 1, "old", false]);
    expect(reduce(openState(), overview(page)).more_chats).toBe(true);
    expect(reduce(state, overview([chat("p0")])).chats.map((left) => left.id)).toEqual(["p0"]);
  });

  test("a removed chat closes if it is open", () => {
    const state = apply({ ...openState([message(1)]), chats: [chat("a")] }, { type: "chat_removed", id: "a" });
    expect([state.open_chat_id, state.messages, state.chats]).toEqual([null, [], []]);
  });

  test("the choices of a place follow the runners", () => {
    const known = { ...openState(), settings: { active_runner: null, choices: [] } };
    const added = apply(known, { type: "runner", runner: runner("laptop") });
    expect(added.settings?.choices).toMatchObject([{ name: "laptop", online: true }]);
    const left = apply(added, { type: "runner", runner: runner("laptop", false) });
    expect(left.settings?.choices).toMatchObject([{ name: "laptop", online: false }]);
    expect(apply(left, { type: "runner_removed", name: "laptop" }).settings?.choices).toEqual([]);
  });

  test("the active runner is marked everywhere", () => {
    const known = { ...openState(), runners: [runner("desk"), runner("laptop")], settings: { active_runner: null, choices: [] } };
    const state = apply(known, { type: "settings", active_runner: "laptop" });
    expect(state.settings?.active_runner).toBe("laptop");
    expect(state.runners.map((value) => value.active)).toEqual([false, true]);
  });

  test("a repeated notice is shown once, and the number of banners is limited", () => {
    const notices = [1, 2, 3, 4, 5, 6, 6].map((at): EventBody => ({ type: "notice", level: "info", text: `n${at}` }));
    expect(apply(openState(), ...notices).banners.map((banner) => banner.text)).toEqual(["n3", "n4", "n5", "n6"]);
  });

  test("an event of a newer server changes nothing", () => {
    const state = openState();
    expect(apply(state, { type: "sparkle" } as unknown as EventBody)).toBe(state);
  });

  test("signing out clears the state", () => {
    const state = reduce(openState([message(1)]), { type: "signed_out" });
    expect([state.session, state.messages, state.open_chat_id]).toEqual(["signed_out", [], null]);
  });
});
