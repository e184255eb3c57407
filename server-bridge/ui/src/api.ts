/** The typed client of `/api/v1`. It signs in with the session cookie, so no token is ever held by the page. */
import { CHAT_PAGE_COUNT, COMPLETIONS_COUNT, MESSAGE_PAGE_COUNT, REQUEST_TIMEOUT_MS, UPLOAD_TIMEOUT_MS } from "./limits";
import type { AgentOfChat, ApprovalMode, Attachment, Chat, ChatDetails, CommandLine, Me, MessagePage, ModelList, PathEntry, Runner, RunnerToken, SendResult, Settings, SettingsChange, TakeBack } from "./types";

export const ROOT = "/api/v1";

/** A request that failed; `message` can be shown as it is. */
export class ApiError extends Error {
  constructor(
    /** The HTTP status, 0 when no answer came. */
    readonly status: number,
    readonly kind: string,
    message: string,
    /** Seconds to wait, from Retry-After. */
    readonly retryAfterS: number | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** The text to show for anything a request threw. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Where the whole output of a command, or any other file of a sandbox, is downloaded. */
export function fileUrl(path: string, runner: string | null): string {
  const query = new URLSearchParams({ path });
  if (runner !== null) query.set("on", runner);
  return `${ROOT}/files?${query}`;
}

/** The events WebSocket beside this page. */
export function eventsUrl(page: { protocol: string; host: string }): string {
  return `${page.protocol === "https:" ? "wss:" : "ws:"}//${page.host}${ROOT}/events`;
}

/** Where a whole chat is downloaded. */
export function exportUrl(chatId: string, format: "markdown" | "json"): string {
  return `${ROOT}/chats/${encodeURIComponent(chatId)}/export?format=${format}`;
}

/** What a refused request says. */
export async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: { kind?: string; message?: string } } | null)?.error;
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new ApiError(
    response.status,
    error?.kind ?? "internal",
    error?.message ?? `The server answered with status ${response.status}. Try again.`,
    Number.isNaN(seconds) ? null : seconds,
  );
}

export interface Api {
  /** A request of a room's own, beneath `/api/v1`: a Blob is sent as it is, anything else as JSON. */
  request<T>(method: string, path: string, body?: unknown, timeoutMs?: number): Promise<T>;
  login(user: string, password: string): Promise<void>;
  logout(): Promise<void>;
  me(): Promise<Me>;
  runners(): Promise<Runner[]>;
  /** With `enrol`, the token is for one use: the first machine that shows it is given its own. */
  addRunner(name: string, enrol: boolean): Promise<RunnerToken>;
  rotateRunner(name: string): Promise<RunnerToken>;
  revokeRunner(name: string): Promise<void>;
  settings(): Promise<Settings>;
  setActiveRunner(name: string | null): Promise<SettingsChange>;
  chats(): Promise<Chat[]>;
  /** Those after a chat of the list, the next page of it. */
  moreChats(before: string): Promise<Chat[]>;
  /** By title and by text. */
  findChats(query: string): Promise<Chat[]>;
  renameChat(id: string, title: string): Promise<Chat>;
  forkChat(id: string): Promise<Chat>;
  newChat(): Promise<Chat>;
  deleteChat(id: string): Promise<void>;
  messages(chatId: string, before?: number): Promise<MessagePage>;
  /** The same `sendId` again does nothing twice, and is answered as before. */
  send(chatId: string, text: string, sendId: string, attachments: string[]): Promise<SendResult>;
  cancel(chatId: string): Promise<{ cancelled: number }>;
  approve(chatId: string, messageId: number, allow: boolean, always: boolean): Promise<void>;
  answer(chatId: string, messageId: number, text: string | null): Promise<void>;
  chatDetails(chatId: string): Promise<ChatDetails>;
  agents(chatId: string): Promise<AgentOfChat[]>;
  setApproval(chatId: string, mode: ApprovalMode): Promise<void>;
  models(chatId: string | null): Promise<ModelList>;
  /** `NAME/TIER`; null takes the chat's own choice back. */
  setModel(chatId: string, model: string | null): Promise<void>;
  /** Takes a message back, and all behind it. */
  rewind(chatId: string, messageId: number, how: TakeBack): Promise<{ text: string }>;
  fork(chatId: string, messageId: number): Promise<Chat>;
  attach(chatId: string, file: File): Promise<Attachment>;
  commands(): Promise<CommandLine[]>;
  completePath(prefix: string, runner: string | null): Promise<PathEntry[]>;
}

/** Makes the client; `onUnauthorized` is told of every 401 except that of a login. */
export function createApi(onUnauthorized: () => void): Api {
  async function request<T>(method: string, path: string, body?: unknown, timeoutMs?: number): Promise<T> {
    const waitMs = timeoutMs ?? (body instanceof Blob ? UPLOAD_TIMEOUT_MS : REQUEST_TIMEOUT_MS);
    const init: RequestInit = { method, credentials: "same-origin", signal: AbortSignal.timeout(waitMs) };
    if (body instanceof Blob) {
      init.body = body;
      init.headers = { "content-type": "application/octet-stream" };
    } else if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { "content-type": "application/json" };
    }
    let response: Response;
    try {
      response = await fetch(ROOT + path, init);
    } catch {
      throw new ApiError(0, "unreachable", "The server does not answer. Check your connection and try again.");
    }
    if (!response.ok) {
      if (response.status === 401 && path !== "/login") onUnauthorized();
      throw await failure(response);
    }
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  const id = encodeURIComponent;
  return {
    request,
    login: (user, password) => request("POST", "/login", { user, password }),
    logout: () => request("POST", "/logout"),
    me: () => request("GET", "/me"),
    runners: () => request("GET", "/runners"),
    addRunner: (name, enrol) => request("POST", "/runners", { name, enrol }),
    rotateRunner: (name) => request("POST", `/runners/${id(name)}/rotate`),
    revokeRunner: (name) => request("DELETE", `/runners/${id(name)}`),
    settings: () => request("GET", "/settings"),
    setActiveRunner: (name) => request("PUT", "/settings", { active_runner: name }),
    chats: () => request("GET", `/chats?limit=${CHAT_PAGE_COUNT}`),
    moreChats: (before) => request("GET", `/chats?limit=${CHAT_PAGE_COUNT}&before=${id(before)}`),
    findChats: (query) => request("GET", `/chats?limit=${CHAT_PAGE_COUNT}&query=${id(query)}`),
    renameChat: (chatId, title) => request("PUT", `/chats/${id(chatId)}`, { title }),
    forkChat: (chatId) => request("POST", `/chats/${id(chatId)}/fork`, {}),
    newChat: () => request("POST", "/chats", {}),
    deleteChat: (chatId) => request("DELETE", `/chats/${id(chatId)}`),
    messages: (chatId, before) => {
      const older = before === undefined ? "" : `&before=${before}`;
      return request("GET", `/chats/${id(chatId)}/messages?limit=${MESSAGE_PAGE_COUNT}${older}`);
    },
    send: (chatId, text, sendId, attachments) =>
      request("POST", `/chats/${id(chatId)}/messages`, { text, send_id: sendId, attachments }),
    cancel: (chatId) => request("POST", `/chats/${id(chatId)}/cancel`),
    approve: (chatId, messageId, allow, always) =>
      request("POST", `/chats/${id(chatId)}/approvals`, { message_id: messageId, allow, always }),
    answer: (chatId, messageId, text) =>
      request("POST", `/chats/${id(chatId)}/answers`, { message_id: messageId, text }),
    chatDetails: (chatId) => request("GET", `/chats/${id(chatId)}`),
    agents: (chatId) => request("GET", `/chats/${id(chatId)}/agents`),
    setApproval: (chatId, mode) => request("PUT", `/chats/${id(chatId)}/approval`, { mode }),
    models: (chatId) => request("GET", chatId === null ? "/models" : `/models?chat=${id(chatId)}`),
    setModel: (chatId, model) => request("PUT", `/chats/${id(chatId)}/model`, { model }),
    rewind: (chatId, messageId, how) => request("POST", `/chats/${id(chatId)}/rewind`, { message_id: messageId, ...how }),
    fork: (chatId, messageId) => request("POST", `/chats/${id(chatId)}/fork`, { message_id: messageId }),
    attach: (chatId, file) => request("POST", `/chats/${id(chatId)}/attachments?name=${id(file.name)}`, file),
    commands: () => request("GET", "/commands"),
    completePath: async (prefix, runner) => {
      const query = new URLSearchParams({ prefix, limit: String(COMPLETIONS_COUNT) });
      if (runner !== null) query.set("on", runner);
      return (await request<{ entries: PathEntry[] }>("GET", `/files/complete?${query}`)).entries;
    },
  };
}
