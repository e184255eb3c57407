/**
 * The user's actions: each sends a request to the server, then dispatches to the reducer. Errors are thrown for the caller to
 * show.
 */
import type { Dispatch } from "react";
import { type Api, ApiError, createApi, errorText } from "../api";
import { chatIdInAddress, isCovered, isPlain, showChatId, showSetup, showWorkbench, takeSignInCode } from "../lib/location";
import type { CardReply, Chat, RunnerToken, RunnerUpdate } from "../types";
import { lookAround } from "./lookAround";
import { type ConversationActions, conversationActions } from "./conversation";
import { leaveTab, takeTab } from "./drafts";
import { loginEnd } from "./loginEnd";
import { Outbox } from "./outbox";
import type { Action, State } from "./state";

export interface Actions extends ConversationActions {
  /** The typed client, for requests that only one module makes. */
  client: Api["client"];
  /** Checks whether the session is still valid. */
  resume(): Promise<void>;
  login(user: string, password: string): Promise<void>;
  logout(): Promise<void>;
  /** Confirms the password. */
  confirm(password: string): Promise<void>;
  /** Dismisses the first steps, which are then no longer shown automatically. */
  endWelcome(): void;
  /** Reloads everything; failures are shown in a banner. */
  refresh(): Promise<void>;
  openChat(id: string): void;
  /** Opens the chat that the address names. */
  followAddress(): void;
  newChat(): Promise<void>;
  deleteChat(id: string): Promise<void>;
  renameChat(id: string, title: string): Promise<void>;
  /** Copies a chat, and opens the copy. */
  forkChat(id: string): Promise<void>;
  /** Chats that contain the query in their title or their messages. */
  findChats(query: string): Promise<Chat[]>;
  loadMoreChats(): Promise<void>;
  /** Binds a chat's commands to one place, whatever runner is active; null undoes that. Returns why nothing would run there now, or null. */
  bindChat(id: string, place: string | null): Promise<string | null>;
  loadOlder(): Promise<void>;
  /** Sends a message, which is kept, even across a reload, until the server has it. */
  send(text: string, attachments?: string[]): void;
  /** Sends messages that could not be sent before. */
  sendWaiting(): void;
  retrySend(sendId: string): void;
  discardSend(sendId: string): void;
  cancel(chatId: string): Promise<void>;
  /** Answers the approval that a message asks for. */
  approve(chatId: string, messageId: number, allow: boolean, always: boolean): Promise<void>;
  /** Answers a model's question with a text; null to give no answer. */
  answer(chatId: string, messageId: number, text: string | null): Promise<void>;
  /** Answers a card with a button and the values of its fields. */
  answerCard(chatId: string, messageId: number, reply: CardReply): Promise<void>;
  /** Chooses the active runner from the next command on; resolves to a note about the choice, or null. */
  setActiveRunner(name: string | null): Promise<string | null>;
  /** Loads Docker's state, which changes without an event while its image is pulled. */
  lookAtDocker(): Promise<void>;
  /** Registers a machine. `workspace` is its directory for commands; empty for the directory in which the command is pasted. */
  addRunner(name: string, enrol: boolean, workspace: string): Promise<RunnerToken>;
  rotateRunner(name: string): Promise<RunnerToken>;
  revokeRunner(name: string): Promise<void>;
  /** Updates a machine's runner; resolves once the machine has downloaded the new program. */
  updateRunner(name: string): Promise<RunnerUpdate>;
  dismissBanner(id: number): void;
  warn(text: string): void;
  /** Shows an error in a banner, if no other part of the page shows it. */
  report(error: unknown): void;
}

/** `loginReturn` is the address to which a provider sent the browser back after a login to an MCP server. */
export function createActions(dispatch: Dispatch<Action>, state: () => State, loginReturn: string | null = null): Actions {
  const api = createApi(() => {
    outbox.stop();
    dispatch({ type: "signed_out" });
  });
  const warn = (text: string) => dispatch({ type: "banner", level: "warning", text });
  const report = (error: unknown) => {
    const known = error instanceof ApiError ? error.status : null;
    // A 401 shows the login instead, and a dead connection has its own banner.
    if (known !== 401 && known !== 0) warn(errorText(error));
  };
  const { begin, openBegun, startChat, ...chats } = chatActions(api, dispatch, state, report);
  const outbox = makeOutbox(api, dispatch, state, startChat, chats.openChat);
  const sendTo = (chatId: string | null, text: string, attachments: string[]) => outbox.add(chatId, state(), text, attachments);
  return {
    client: api.client,
    ...sessionActions(api, dispatch, outbox, loginEnd(api.client, dispatch, loginReturn)),
    endWelcome: () => {
      showWorkbench();
      api.client.POST("/api/v1/me/welcomed").catch(report);
    },
    ...chats,
    ...conversationActions(api, dispatch, state, { openChat: chats.openChat, begin, openBegun, sendTo }),
    send: (text, attachments = []) => sendTo(state().open_chat_id, text, attachments),
    sendWaiting: () => outbox.flush(),
    retrySend: (sendId) => outbox.retry(sendId),
    discardSend: (sendId) => outbox.discard(sendId),
    ...runnerActions(api, dispatch, report),
    dismissBanner: (id) => dispatch({ type: "banner_dismissed", id }),
    warn,
    report,
  };
}

function makeOutbox(
  api: Api,
  dispatch: Dispatch<Action>,
  state: () => State,
  startChat: () => Promise<string>,
  openChat: (id: string) => void,
): Outbox {
  return new Outbox({
    storage: window.localStorage,
    startChat,
    send: (pending, chatId) => api.send(chatId, pending.text, pending.send_id, pending.attachments),
    onChange: (outbox) => dispatch({ type: "outbox", outbox }),
    onSent: (pending, chatId, result) => {
      dispatch({ type: "messages_received", messages: result.messages });
      if (result.input) dispatch({ type: "input_offered", chat_id: chatId, text: result.input });
      if (!result.chat) return;
      dispatch({ type: "chat_received", chat: result.chat });
      // Does nothing if the user has opened another view in the meantime.
      if (state().open_chat_id === (pending.chat_id ?? chatId)) openChat(result.chat.id);
    },
  });
}

function sessionActions(api: Api, dispatch: Dispatch<Action>, outbox: Outbox, endLogin: () => Promise<void>) {
  const resume = async () => {
    const code = takeSignInCode();
    if (code !== null) await api.signIn(code);
    const me = await api.me();
    if (!takeTab(me.name)) return window.location.replace("/");
    if (me.welcome_due && isPlain(window.location.hash)) showSetup();
    dispatch({ type: "signed_in", me });
    outbox.load(me.name);
    void endLogin();
  };
  return {
    resume,
    login: async (user: string, password: string) => {
      await api.login(user, password);
      await resume();
    },
    confirm: (password: string) => api.confirm(password),
    logout: async () => {
      await api.logout();
      outbox.clear();
      leaveTab();
      // Loads the page anew, which ends terminals and uploads and forgets loaded files.
      window.location.replace("/");
    },
  };
}

function chatActions(api: Api, dispatch: Dispatch<Action>, state: () => State, report: (error: unknown) => void) {
  const loadNewest = async (id: string) => {
    dispatch({ type: "load_began", chat_id: id });
    dispatch({ type: "newest_loaded", chat_id: id, page: await api.messages(id) });
  };
  const show = (id: string | null, along = false) => {
    dispatch({ type: "chat_opened", id, along });
    if (id !== null) loadNewest(id).catch(report);
  };
  const openChat = (id: string) => {
    showChatId(id, false);
    show(id);
  };
  /**
   * Opens a chat that was just created, in which the user may already be writing. If the user has opened the settings since the URL was
   * `from`, the chat opens below them.
   */
  const openBegun = (id: string, from: string) => {
    const { hash } = window.location;
    showChatId(id, hash !== from && isCovered(hash));
    show(id, true);
  };
  let beginning = 0;
  /** Creates a chat; `made` is called with the previous URL, before anything else can be opened. */
  const begin = async (made: (id: string, from: string) => void, reuseEmpty = false) => {
    const from = window.location.hash;
    beginning += 1;
    try {
      const chat = await api.newChat(reuseEmpty);
      dispatch({ type: "chat_received", chat });
      made(chat.id, from);
      return chat.id;
    } finally {
      beginning -= 1;
    }
  };
  /** True if no chat is open and one is about to be created. */
  const isBeginning = () => {
    const { open_chat_id: id, outbox } = state();
    return id === null && (beginning > 0 || outbox.some((item) => item.chat_id === null && item.status !== "refused"));
  };
  return {
    openChat,
    openBegun,
    begin,
    /** Creates a chat for a first message, and opens it unless the user has opened another view. */
    startChat: () =>
      begin((id, from) => {
        if (state().open_chat_id === null) openBegun(id, from);
      }),
    followAddress: () => {
      if (!isCovered(window.location.hash)) show(chatIdInAddress());
    },
    // A second click opens the chat of the first click again, as long as it has no messages.
    newChat: async () => void (await begin(openBegun, true)),
    refresh: async () => {
      try {
        const wanted = chatIdInAddress();
        const isFirst = state().settings === null;
        // The chat in the address is loaded at the same time as the list. If it does not exist, the list decides which chat opens.
        let isLoaded = Promise.resolve(false);
        if (isFirst && wanted !== null && !isBeginning()) {
          dispatch({ type: "chat_opened", id: wanted, along: true });
          isLoaded = loadNewest(wanted).then(() => true, () => false);
        }
        const chats = await loadOverview(api, dispatch);
        // Does nothing if the user has opened another chat in the meantime, perhaps one that is newer than this list.
        if (chatIdInAddress() !== wanted) return;
        const listed = chats.some((chat) => chat.id === wanted);
        const isThere = listed || (wanted !== null && (await exists(api, wanted)));
        // On a later reload, a user without an open chat wants to begin a new one.
        const id = isThere ? wanted : isFirst ? newestId(chats) : null;
        if (chatIdInAddress() !== wanted || isBeginning()) return;
        if (id !== wanted) showChatId(id, true);
        // `along`, since the user may have begun to write before the chat to open was known.
        dispatch({ type: "chat_opened", id, along: true });
        if (id !== null && !(id === wanted && (await isLoaded))) await loadNewest(id);
        // If this fails, no activity is shown for these chats until their next event.
        lookAround(api, dispatch, chats, id).catch(() => undefined);
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
      const { chat, warning } = await api.bindChat(id, place);
      dispatch({ type: "chat_received", chat });
      return warning;
    },
    loadOlder: async () => {
      const { open_chat_id: id, messages } = state();
      const oldest = messages[0];
      if (id === null || oldest === undefined) return;
      dispatch({ type: "older_loaded", chat_id: id, page: await api.messages(id, oldest.id) });
    },
    approve: (chatId: string, messageId: number, allow: boolean, always: boolean) =>
      api.approve(chatId, messageId, allow, always),
    answer: (chatId: string, messageId: number, text: string | null) => api.answer(chatId, messageId, text),
    answerCard: (chatId: string, messageId: number, reply: CardReply) => api.answerCard(chatId, messageId, reply),
    cancel: async (chatId: string) => {
      await api.cancel(chatId);
    },
  };
}

function runnerActions(api: Api, dispatch: Dispatch<Action>, report: (error: unknown) => void) {
  // A failed reload must not make the change fail: a token that is shown only once would be lost.
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
    lookAtDocker: async () => {
      const docker = (await api.settings()).choices.find((choice) => choice.kind === "docker");
      if (docker !== undefined) dispatch({ type: "docker_looked_at", choice: docker });
    },
    addRunner: (name: string, enrol: boolean, workspace: string) => thenReload(api.addRunner(name, enrol, workspace)),
    rotateRunner: (name: string) => thenReload(api.rotateRunner(name)),
    revokeRunner: (name: string) => thenReload(api.revokeRunner(name)),
    updateRunner: (name: string) => api.updateRunner(name),
  };
}

/** True if a chat that is not in the list, such as a sub-agent's, still exists. */
async function exists(api: Api, id: string): Promise<boolean> {
  try {
    await api.chatDetails(id);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
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
