/** The page's whole state, and every action that changes it. */
import type { ConnectionState } from "../events";
import type { Chat, Choice, Me, Message, MessagePage, Runner, ServerEvent, ServerSettings, Settings } from "../types";
import type { Activities } from "./activity";
import type { LiveOutputs } from "./messages";
import type { Pending } from "./outbox";

export interface Banner {
  id: number;
  level: "info" | "warning";
  text: string;
}

export interface Input {
  chat_id: string;
  text: string;
  /** The message that is taken back, with everything after it, when the text is sent. */
  editing: number | null;
}

export interface State {
  /** `unknown` until the server has said whether the session is valid. */
  session: "unknown" | "signed_out" | "signed_in";
  me: Me | null;
  connection: ConnectionState;
  runners: Runner[];
  settings: Settings | null;
  /** The loaded chats, newest first. */
  chats: Chat[];
  /** The id of the open chat; null if no chat is open. */
  open_chat_id: string | null;
  /** Changes whenever the user opens another view: a draft stays in its field until then. */
  view: number;
  /** The open chat as last loaded, which may not be in the list; see `openChatOf`. */
  asked_chat: Chat | null;
  /** The number of events about the open chat: its mode or its model may have been changed in another window. */
  open_chat_events: number;
  /** The messages of the open chat, oldest first. */
  messages: Message[];
  messages_loaded: boolean;
  /** True if the server has messages before the first. */
  more_messages: boolean;
  live: LiveOutputs;
  /** Messages of the open chat that an event has brought since they were last loaded. */
  reported_ids: ReadonlySet<number>;
  /** Messages sent and not acknowledged yet, in all chats. */
  outbox: Pending[];
  /** A text offered to the composer: a message that was taken back, or one to replace `editing`. */
  input: Input | null;
  /** The chat from which each sub-agent's chat was opened. */
  parents: Record<string, string>;
  banners: Banner[];
  next_banner_id: number;
  /** The activity in each chat, as far as the events reported it. */
  activity: Activities;
  /** Chats with events since everything was loaded: a response that was requested before may be older. */
  heard: ReadonlySet<string>;
  /** True if the server has chats after the last. */
  more_chats: boolean;
  /** The settings of the whole server from the last event; null before one came. */
  server_settings: ServerSettings | null;
  /** The number of changes of each group that events reported; `group_reconnects` counts reconnections, after which any may have changed. */
  group_news: Readonly<Record<number, number>>;
  group_reconnects: number;
  /** The time of the next attempt to connect, in Unix milliseconds. */
  retry_at: number | null;
}

export type Action =
  | { type: "signed_in"; me: Me }
  | { type: "signed_out" }
  | { type: "connection"; state: ConnectionState }
  | { type: "connection_restored" }
  | { type: "overview_loaded"; me: Me; runners: Runner[]; settings: Settings; chats: Chat[] }
  /** With `along`, a draft written while no chat is open moves to this one. */
  | { type: "chat_opened"; id: string | null; along?: boolean }
  | { type: "chat_asked"; chat: Chat }
  | { type: "newest_loaded"; chat_id: string; page: MessagePage }
  | { type: "older_loaded"; chat_id: string; page: MessagePage }
  | { type: "messages_received"; messages: Message[] }
  | { type: "chat_received"; chat: Chat }
  | { type: "chat_deleted"; id: string }
  | { type: "active_runner_set"; name: string | null }
  | { type: "docker_looked_at"; choice: Choice }
  | { type: "events"; events: ServerEvent[] }
  | { type: "banner"; level: Banner["level"]; text: string }
  | { type: "banner_dismissed"; id: number }
  | { type: "load_began"; chat_id: string }
  | { type: "outbox"; outbox: Pending[] }
  | { type: "input_offered"; chat_id: string; text: string; editing?: number }
  | { type: "input_taken" }
  | { type: "chat_entered"; id: string; from: string }
  | { type: "more_chats_loaded"; chats: Chat[] }
  | { type: "retry_at"; at: number }
  | { type: "chat_looked_at"; chat_id: string; messages: Message[] };

export const INITIAL_STATE: State = {
  session: "unknown",
  me: null,
  connection: "connecting",
  runners: [],
  settings: null,
  chats: [],
  open_chat_id: null,
  view: 0,
  asked_chat: null,
  open_chat_events: 0,
  messages: [],
  messages_loaded: false,
  more_messages: false,
  live: {},
  reported_ids: new Set(),
  outbox: [],
  input: null,
  parents: {},
  banners: [],
  next_banner_id: 1,
  activity: {},
  heard: new Set(),
  more_chats: false,
  server_settings: null,
  group_news: {},
  group_reconnects: 0,
  retry_at: null,
};

/** The open chat, which may not be in the list: it was found by a search or by its address, or is a sub-agent's. */
export function openChatOf({ chats, open_chat_id: id, asked_chat: asked }: State): Chat | null {
  return chats.find((chat) => chat.id === id) ?? (asked?.id === id ? asked : null);
}
