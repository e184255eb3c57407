/** What a user can do: each asks the server, then tells the reducer. Errors are thrown for the caller to show. */
import type { Dispatch } from "react";
import { type Api, ApiError, createApi, errorText } from "../api";
import { chatIdInAddress, isCovered, showChatId } from "../lib/location";
import type { Chat, RunnerToken } from "../types";
import type { Action, State } from "./state";
import { AUTOMATIC } from "./where";

export interface Actions {
  /** A request of a room's own; see `Api`. */
  request: Api["request"];
  /** Finds out whether the cookie still holds. */
  resume(): Promise<void>;
  login(user: string, password: string): Promise<void>;
  logout(): Promise<void>;
  /** Loads everything anew; failures are told by a banner. */
  refresh(): Promise<void>;
  openChat(id: string): void;
  /** Opens the chat the address names. */
  followAddress(): void;
  newChat(): Promise<void>;
  deleteChat(id: string): Promise<void>;
  renameChat(id: string, title: string): Promise<void>;
  /** Goes on in a copy of a chat, and opens it. */
  forkChat(id: string): Promise<void>;
  /** By title and by what was said. */
  findChats(query: string): Promise<Chat[]>;
  loadMoreChats(): Promise<void>;
  /** Sends a chat's commands to one place, whatever runner is active; null takes that back. */
  bindChat(id: string, place: string | null): Promise<void>;
  loadOlder(): Promise<void>;
  send(text: string): Promise<void>;
  cancel(chatId: string): Promise<void>;
  /** Answers what a model asks with a message. */
  approve(chatId: string, messageId: number, allow: boolean, always: boolean): Promise<void>;
  /** Answers a model's question in words; null where there is no answer to give. */
  answer(chatId: string, messageId: number, text: string | null): Promise<void>;
  /** Takes effect for the next command; resolves to what the user should know about the choice. */
  setActiveRunner(name: string | null): Promise<string | null>;
  addRunner(name: string, enrol: boolean): Promise<RunnerToken>;
  rotateRunner(name: string): Promise<RunnerToken>;
  revokeRunner(name: string): Promise<void>;
  dismissBanner(id: number): void;
  warn(text: string): void;
  /** Shows an error that has no place of its own. */
  report(error: unknown): void;
}

export function createActions(dispatch: Dispatch<Action>, state: () => State): Actions {
  const api = createApi(() => dispatch({ type: "signed_out" }));
  const warn = (text: string) => dispatch({ type: "banner", level: "warning", text });
  const report = (error: unknown) => {
    const known = error instanceof ApiError ? error.status : null;
    // A 401 shows the login instead, and a dead connection has its own banner.
    if (known !== 401 && known !== 0) warn(errorText(error));
  };
  return {
    request: api.request,
    ...sessionActions(api, dispatch),
    ...chatActions(api, dispatch, state, report),
    ...runnerActions(api, dispatch, report),
    dismissBanner: (id) => dispatch({ type: "banner_dismissed", id }),
    warn,
    report,
  };
}

function sessionActions(api: Api, dispatch: Dispatch<Action>) {
  const resume = async () => dispatch({ type: "signed_in", me: await api.me() });
  return {
    resume,
    login: async (user: string, password: string) => {
      await api.login(user, password);
      await resume();
    },
    logout: async () => {
      await api.logout();
      dispatch({ type: "signed_out" });
    },
  };
}

function chatActions(api: Api, dispatch: Dispatch<Action>, state: () => State, report: (error: unknown) => void) {
  const loadNewest = async (id: string) => {
    dispatch({ type: "newest_loaded", chat_id: id, page: await api.messages(id) });
  };
  const show = (id: string | null) => {
    dispatch({ type: "chat_opened", id });
    if (id !== null) loadNewest(id).catch(report);
  };
  const openChat = (id: string) => {
    showChatId(id, false);
    show(id);
  };
  const newChat = async () => {
    const chat = await api.newChat();
    dispatch({ type: "chat_received", chat });
    openChat(chat.id);
    return chat.id;
  };
  return {
    openChat,
    followAddress: () => {
      if (!isCovered(window.location.hash)) show(chatIdInAddress());
    },
    newChat: async () => {
      await newChat();
    },
    refresh: async () => {
      try {
        const wanted = chatIdInAddress();
        const chats = await loadOverview(api, dispatch);
        // Who moved on meanwhile, perhaps to a chat newer than this list, is not called back.
        if (chatIdInAddress() !== wanted) return;
        const listed = wanted === null || chats.some((chat) => chat.id === wanted);
        const id = wanted !== null && (listed || (await exists(api, wanted))) ? wanted : newestId(chats);
        if (chatIdInAddress() !== wanted) return;
        if (id !== wanted) showChatId(id, true);
        dispatch({ type: "chat_opened", id });
        if (id !== null) await loadNewest(id);
      } catch (error) {
        report(error);
      }
    },
    deleteChat: async (id: string) => {
      await api.deleteChat(id);
      dispatch({ type: "chat_deleted", id });
      if (chatIdInAddress() === id) showChatId(null, true);
    },
    renameChat: async (id: string, title: string) => {
      dispatch({ type: "chat_received", chat: await api.renameChat(id, title) });
    },
    forkChat: async (id: string) => {
      const chat = await api.forkChat(id);
      dispatch({ type: "chat_received", chat });
      openChat(chat.id);
    },
    findChats: (query: string) => api.findChats(query),
    loadMoreChats: async () => {
      const last = state().chats.at(-1);
      if (last !== undefined) dispatch({ type: "more_chats_loaded", chats: await api.moreChats(last.id) });
    },
    bindChat: async (id: string, place: string | null) => {
      const result = await api.send(id, `/runner ${place ?? AUTOMATIC}`);
      dispatch({ type: "messages_received", messages: result.messages });
    },
    loadOlder: async () => {
      const { open_chat_id: id, messages } = state();
      const oldest = messages[0];
      if (id === null || oldest === undefined) return;
      dispatch({ type: "older_loaded", chat_id: id, page: await api.messages(id, oldest.id) });
    },
    send: async (text: string) => {
      const result = await api.send(state().open_chat_id ?? (await newChat()), text);
      dispatch({ type: "messages_received", messages: result.messages });
      if (!result.chat) return;
      dispatch({ type: "chat_received", chat: result.chat });
      openChat(result.chat.id);
    },
    approve: (chatId: string, messageId: number, allow: boolean, always: boolean) =>
      api.approve(chatId, messageId, allow, always),
    answer: (chatId: string, messageId: number, text: string | null) => api.answer(chatId, messageId, text),
    cancel: async (chatId: string) => {
      await api.cancel(chatId);
    },
  };
}

function runnerActions(api: Api, dispatch: Dispatch<Action>, report: (error: unknown) => void) {
  // The reload must not fail the change: a token that is shown once would be lost with it.
  const thenReload = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change;
    await loadOverview(api, dispatch).catch(report);
    return result;
  };
  return {
    setActiveRunner: async (name: string | null) => {
      const { active_runner, warning } = await api.setActiveRunner(name);
      dispatch({ type: "active_runner_set", name: active_runner });
      return warning;
    },
    addRunner: (name: string, enrol: boolean) => thenReload(api.addRunner(name, enrol)),
    rotateRunner: (name: string) => thenReload(api.rotateRunner(name)),
    revokeRunner: (name: string) => thenReload(api.revokeRunner(name)),
  };
}

/** Whether there is such a chat of one's own, which the list may not have. */
async function exists(api: Api, id: string): Promise<boolean> {
  return api.chat(id).then(
    () => true,
    () => false,
  );
}

function newestId(chats: Chat[]): string | null {
  const newest = chats.toSorted((a, b) => b.updated_at - a.updated_at)[0];
  return newest?.id ?? null;
}

async function loadOverview(api: Api, dispatch: Dispatch<Action>) {
  const [me, runners, settings, chats] = await Promise.all([api.me(), api.runners(), api.settings(), api.chats()]);
  dispatch({ type: "overview_loaded", me, runners, settings, chats });
  return chats;
}
