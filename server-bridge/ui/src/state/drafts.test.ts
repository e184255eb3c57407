import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { showSettings } from "../lib/location";
import { createActions } from "./actions";
import { draftKey, moveText } from "./drafts";
import { chat } from "./fixtures";
import { reduce } from "./reducer";
import { INITIAL_STATE, type State } from "./state";

const ORIGIN = "http://localhost";

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

/** The server's answers, by method and path; an answer that is a promise is awaited. */
let answers: Record<string, unknown>;
const newest = chat("newest", 2);

/** A page that has just signed in: nothing is loaded, and no chat is open. */
function page() {
  let state: State = { ...INITIAL_STATE, session: "signed_in" };
  const actions = createActions(
    (action) => {
      state = reduce(state, action);
    },
    () => state,
  );
  return { actions, state: () => state };
}

beforeEach(() => {
  const location = { hash: "", origin: ORIGIN };
  const write = (_: unknown, __: string, address: string) => {
    location.hash = address;
  };
  const history = { state: null, replaceState: write, pushState: write };
  vi.stubGlobal("window", { location, history, sessionStorage: memory(), localStorage: memory(), dispatchEvent: () => true });
  vi.stubGlobal("location", location);
  answers = {
    "GET /api/v1/me": { name: "alice" },
    "GET /api/v1/runners": [],
    "GET /api/v1/settings": { active_runner: null, choices: [] },
    "GET /api/v1/chats": [newest, chat("older", 1)],
    "POST /api/v1/chats": chat("begun", 3),
  };
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url).pathname;
    const answer = await (answers[`${request.method} ${path}`] ?? (path.endsWith("/messages") ? { messages: [], more: false } : null));
    if (answer === null) return Response.json({ error: { kind: "unavailable", message: "not now" } }, { status: 503 });
    return Response.json(answer);
  });
});
afterEach(() => void vi.unstubAllGlobals());

test("the composer stays while the page opens the last chat, and keeps text typed meanwhile", async () => {
  const { actions, state } = page();
  await actions.refresh();
  expect([state().open_chat_id, state().view]).toEqual(["newest", INITIAL_STATE.view]);
});

test("the composer stays while loading fails, and moves to the chat once it succeeds", async () => {
  const { actions, state } = page();
  const settings = answers["GET /api/v1/settings"];
  answers["GET /api/v1/settings"] = null;
  await actions.refresh();
  expect([state().open_chat_id, state().view]).toEqual([null, INITIAL_STATE.view]);
  answers["GET /api/v1/settings"] = settings;
  await actions.refresh();
  expect([state().open_chat_id, state().view]).toEqual(["newest", INITIAL_STATE.view]);
});

test("a chat that the user opens gets a separate composer", async () => {
  const { actions, state } = page();
  await actions.refresh();
  actions.openChat("older");
  const there = state().view;
  actions.openChat("newest");
  expect(new Set([INITIAL_STATE.view, there, state().view]).size).toBe(3);
});

test.each(["a file is chosen", "a chat is asked for"])("if %s while the page opens, the chat created for it is opened", async (what) => {
  const { actions, state } = page();
  let made: (made: unknown) => void = () => {};
  answers["POST /api/v1/chats"] = new Promise((done) => {
    made = done;
  });
  const before: string[] = [];
  const begun = what === "a file is chosen" ? actions.beginChat((id) => before.push(id)) : actions.newChat();
  await actions.refresh();
  expect(state().open_chat_id).toBe(null);
  made(chat("begun", 3));
  await begun;
  expect([state().open_chat_id, state().view]).toEqual(["begun", INITIAL_STATE.view]);
  if (what === "a file is chosen") expect(before).toEqual(["begun"]);
});

test("a message sent while the page opens is shown in the chat created for it", async () => {
  const { actions, state } = page();
  let made: (made: unknown) => void = () => {};
  answers["POST /api/v1/chats"] = new Promise((done) => {
    made = done;
  });
  actions.send("hello");
  await actions.refresh();
  expect(state().open_chat_id).toBe(null);
  made(chat("begun", 3));
  await vi.waitFor(() => expect(state().open_chat_id).toBe("begun"));
  expect(state().view).toBe(INITIAL_STATE.view);
});

test("the text that belongs to a file is in the chat created for it, even if the user opened another chat meanwhile", async () => {
  const { actions } = page();
  await actions.refresh();
  window.sessionStorage.setItem(draftKey(null), "look at this");
  await actions.beginChat(() => {});
  expect(window.sessionStorage.getItem(draftKey("begun"))).toBe("look at this");
});

test("a text moves below the draft left in the chat, and nothing remains at its old key", () => {
  const { sessionStorage: kept } = window;
  kept.setItem(draftKey(null), "typed");
  expect(moveText(draftKey(null), draftKey("a"), "typed")).toBe("typed");
  expect([kept.getItem(draftKey(null)), kept.getItem(draftKey("a"))]).toEqual([null, "typed"]);
  expect(moveText(draftKey(null), draftKey("a"), "more")).toBe("typed\n\nmore");
  expect(moveText(draftKey(null), draftKey("a"), "")).toBe("typed\n\nmore");
  expect(moveText(draftKey(null), draftKey("b"), "")).toBe("");
  expect(kept.getItem(draftKey("b"))).toBe(null);
});

test("a new chat does not close settings that were opened before it was created", async () => {
  const { actions, state } = page();
  let made: (made: unknown) => void = () => {};
  answers["POST /api/v1/chats"] = new Promise((done) => {
    made = done;
  });
  const begun = actions.newChat();
  showSettings("runners");
  made(chat("begun", 3));
  await begun;
  expect([state().open_chat_id, window.location.hash]).toEqual(["begun", "#/settings/runners"]);
});
