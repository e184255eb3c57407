/** The only place where the state changes. Pure: replaying a list of actions gives the same page. */
import { BANNERS_COUNT, CHAT_PAGE_COUNT } from "../limits";
import type { Chat, Choice, Message, Runner, ServerEvent, Settings } from "../types";
import { track } from "./activity";
import { addOutput, addUnknown, findMessage, isOpen, joinNewest, loadOutputs, markAllStale, settleOutput, upsertMessage, without } from "./messages";
import { type Action, type Banner, INITIAL_STATE, type State } from "./state";

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "signed_in":
      return { ...state, session: "signed_in", me: action.me };
    case "signed_out":
      return { ...INITIAL_STATE, session: "signed_out" };
    case "connection":
      return { ...state, connection: action.state, retry_at: null };
    case "connection_restored":
      return { ...state, live: markAllStale(state.live), activity: {}, heard: new Set(), group_reconnects: state.group_reconnects + 1 };
    case "overview_loaded":
      return {
        ...state,
        me: action.me,
        runners: action.runners,
        settings: action.settings,
        ...withOlder(state, action.chats),
      };
    case "chat_opened":
      return openChat(state, action.id, action.along);
    case "chat_asked":
      return takeAsked(state, action.chat);
    case "newest_loaded": {
      if (action.chat_id !== state.open_chat_id) return state;
      const { messages, joined } = joinNewest(state.messages, action.page, state.reported_ids);
      const more = joined && state.messages_loaded ? state.more_messages : action.page.more;
      const activity = action.page.messages.reduce(track, state.activity);
      return loadLive({ ...state, messages, messages_loaded: true, more_messages: more, activity }, action.page.messages);
    }
    case "older_loaded":
      if (action.chat_id !== state.open_chat_id) return state;
      return loadLive(
        { ...state, messages: addUnknown(state.messages, action.page.messages), more_messages: action.page.more },
        action.page.messages,
      );
    case "load_began":
      return action.chat_id === state.open_chat_id ? { ...state, reported_ids: new Set() } : state;
    case "messages_received": {
      const here = action.messages.filter((message) => message.chat_id === state.open_chat_id);
      return { ...state, messages: addUnknown(state.messages, here) };
    }
    case "chat_received":
      return { ...state, chats: upsertChat(state.chats, action.chat) };
    case "chat_deleted":
      return removeChat(state, action.id);
    case "active_runner_set":
      return setActive(state, action.name);
    case "docker_looked_at":
      return { ...state, settings: state.settings && withChoice(state.settings, action.choice) };
    case "events":
      return joinOutputs(action.events).reduce(applyEvent, state);
    case "banner":
      return addBanner(state, action.level, action.text);
    case "banner_dismissed":
      return { ...state, banners: state.banners.filter((banner) => banner.id !== action.id) };
    case "outbox":
      return { ...state, outbox: action.outbox };
    case "input_offered":
      return { ...state, input: { chat_id: action.chat_id, text: action.text, editing: action.editing ?? null } };
    case "input_taken":
      return { ...state, input: null };
    case "chat_entered":
      return { ...state, parents: { ...state.parents, [action.id]: action.from } };
    case "more_chats_loaded":
      return addChats(state, action.chats);
    case "chat_looked_at":
      if (state.heard.has(action.chat_id)) return state;
      return { ...state, activity: action.messages.reduce(track, state.activity) };
    case "retry_at":
      return { ...state, retry_at: action.at };
  }
}

/** Joins consecutive output of one kind into one event: a chatty command is then one change of the page. */
function joinOutputs(events: ServerEvent[]): ServerEvent[] {
  const joined: ServerEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const follows =
      event.type === "output" &&
      last?.type === "output" &&
      last.message_id === event.message_id &&
      last.channel === event.channel &&
      last.at + last.text.length === event.at;
    if (follows) joined[joined.length - 1] = { ...last, seq: event.seq, text: last.text + event.text };
    else joined.push(event);
  }
  return joined;
}

/** One event of the server. An unknown type comes from a newer server, and is ignored. */
function applyEvent(state: State, event: ServerEvent): State {
  switch (event.type) {
    case "message":
      return applyMessage(state, event.message);
    case "output":
      return { ...state, live: addOutput(state.live, state.messages, event) };
    case "chat":
      return {
        ...state,
        chats: upsertChat(state.chats, event.chat),
        open_chat_events: state.open_chat_events + (event.chat.id === state.open_chat_id ? 1 : 0),
      };
    case "chat_removed":
      return removeChat(state, event.id);
    case "runner":
      return upsertRunner(state, event.runner);
    case "runner_removed":
      return removeRunner(state, event.name);
    case "settings":
      return setActive(state, event.active_runner);
    case "server_settings":
      return { ...state, server_settings: event.settings };
    case "group":
      return { ...state, group_news: { ...state.group_news, [event.id]: (state.group_news[event.id] ?? 0) + 1 } };
    case "notice":
      return addBanner(state, event.level, event.text);
    default:
      return state;
  }
}

function applyMessage(before: State, message: Message): State {
  const heard = before.heard.has(message.chat_id) ? before.heard : new Set(before.heard).add(message.chat_id);
  const state = { ...before, activity: track(before.activity, message), heard };
  if (message.chat_id === state.open_chat_id) {
    const reported_ids = new Set(state.reported_ids).add(message.id);
    const messages = upsertMessage(state.messages, message);
    return { ...state, messages, reported_ids, live: settleOutput(state.live, message) };
  }
  // For other chats, only the output of running commands is kept, for when the chat is opened.
  if (isOpen(message)) return state;
  return { ...state, live: without(state.live, (id) => id === message.id) };
}

// A loaded page may have older live output of a message that an event has brought since.
function loadLive(state: State, loaded: Message[]): State {
  const valid = loaded.map((message) => ({ ...(findMessage(state.messages, message.id) ?? message), live: message.live ?? [] }));
  return { ...state, live: loadOutputs(state.live, valid) };
}

function openChat(state: State, id: string | null, along = false): State {
  if (id === state.open_chat_id) return state;
  const finished = new Set(state.messages.filter((message) => !isOpen(message)).map((message) => message.id));
  return {
    ...state,
    open_chat_id: id,
    view: along && state.open_chat_id === null ? state.view : state.view + 1,
    asked_chat: null,
    messages: [],
    messages_loaded: false,
    more_messages: false,
    reported_ids: new Set(),
    live: without(state.live, (messageId) => finished.has(messageId)),
  };
}

function removeChat(state: State, id: string): State {
  const live = without(state.live, (_, output) => output.chat_id === id);
  const { [id]: _, ...activity } = state.activity;
  const next = { ...state, live, activity, chats: state.chats.filter((chat) => chat.id !== id) };
  return id === state.open_chat_id ? openChat(next, null) : next;
}

function upsertChat(chats: Chat[], chat: Chat): Chat[] {
  return newestFirst([chat, ...chats.filter((known) => known.id !== chat.id)]);
}

/** The loaded details of the open chat; for a chat of the list, an event may have newer ones. */
function takeAsked(state: State, chat: Chat): State {
  if (chat.id !== state.open_chat_id) return state;
  const chats = state.chats.map((known) => (known.id === chat.id && known.updated_at <= chat.updated_at ? chat : known));
  return { ...state, asked_chat: chat, chats: newestFirst(chats) };
}

/** The first page of the list, followed by the known chats of later pages. */
function withOlder(state: State, page: Chat[]): Pick<State, "chats" | "more_chats"> {
  const last = page.at(-1);
  if (last === undefined || page.length < CHAT_PAGE_COUNT) return { chats: newestFirst(page), more_chats: false };
  const listed = new Set(page.map((chat) => chat.id));
  const older = state.chats.filter((chat) => !listed.has(chat.id) && chat.updated_at <= last.updated_at);
  return { chats: newestFirst([...page, ...older]), more_chats: older.length === 0 || state.more_chats };
}

/** Adds the next page of the list; a page that is not full of new chats is the last. */
function addChats(state: State, page: Chat[]): State {
  const known = new Set(state.chats.map((chat) => chat.id));
  const fresh = page.filter((chat) => !known.has(chat.id));
  return { ...state, chats: newestFirst([...state.chats, ...fresh]), more_chats: fresh.length >= CHAT_PAGE_COUNT };
}

function newestFirst(chats: Chat[]): Chat[] {
  return chats.toSorted((a, b) => b.updated_at - a.updated_at);
}

function upsertRunner(state: State, runner: Runner): State {
  const runners = [...state.runners.filter((known) => known.name !== runner.name), runner];
  runners.sort((a, b) => a.name.localeCompare(b.name));
  return { ...state, runners, settings: state.settings && offerRunner(state.settings, runner) };
}

// Events about runners also update the choices, so that nothing has to be loaded again.
function offerRunner(settings: Settings, runner: Runner): Settings {
  return withChoice(settings, { name: runner.name, kind: "runner", online: runner.online, available: true, note: null });
}

function withChoice(settings: Settings, choice: Choice): Settings {
  const at = settings.choices.findIndex((known) => known.name === choice.name);
  if (at === -1) return { ...settings, choices: [choice, ...settings.choices] };
  return { ...settings, choices: settings.choices.with(at, choice) };
}

function removeRunner(state: State, name: string): State {
  const settings = state.settings && {
    ...state.settings,
    choices: state.settings.choices.filter((choice) => choice.kind !== "runner" || choice.name !== name),
  };
  return { ...state, settings, runners: state.runners.filter((runner) => runner.name !== name) };
}

function setActive(state: State, name: string | null): State {
  return {
    ...state,
    me: state.me && { ...state.me, active_runner: name },
    settings: state.settings && { ...state.settings, active_runner: name },
    runners: state.runners.map((runner) => ({ ...runner, active: runner.name === name })),
  };
}

function addBanner(state: State, level: Banner["level"], text: string): State {
  const others = state.banners.filter((banner) => banner.text !== text);
  const banners = [...others, { id: state.next_banner_id, level, text }].slice(-BANNERS_COUNT);
  return { ...state, banners, next_banner_id: state.next_banner_id + 1 };
}
