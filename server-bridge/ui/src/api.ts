/** The page's requests to `/api/v1`, as functions that the page's code calls; `api/client.ts` is the typed client that they use. */
import { type ApiClient, asItIs, createApiClient, taken } from "./api/client";
import { keepSession } from "./api/session";
import { CHAT_PAGE_COUNT, COMPLETIONS_COUNT, MESSAGE_PAGE_COUNT, UPLOAD_TIMEOUT_MS } from "./limits";
import type { AgentOfChat, ApprovalMode, Attachment, BoundChat, CardReply, Chat, ChatDetails, CommandLine, Me, MessagePage, ModelList, PathEntry, Runner, RunnerToken, RunnerUpdate, SendResult, Settings, SettingsChange, TakeBack } from "./types";

export { type ApiClient, createApiClient, taken } from "./api/client";
export { ApiError, errorText, failure, unreachable } from "./api/error";

export const ROOT = "/api/v1";

/** The address to download the whole output of a command, or any other file of a sandbox. */
export function fileUrl(path: string, runner: string | null): string {
  const query = new URLSearchParams({ path });
  if (runner !== null) query.set("on", runner);
  return `${ROOT}/files?${query}`;
}

/** The address of the events WebSocket on this page's server. */
export function eventsUrl(page: { protocol: string; host: string }): string {
  return `${page.protocol === "https:" ? "wss:" : "ws:"}//${page.host}${ROOT}/events`;
}

/** The address to download a whole chat. */
export function exportUrl(chatId: string, format: "markdown" | "json"): string {
  return `${ROOT}/chats/${encodeURIComponent(chatId)}/export?format=${format}`;
}

export interface Api {
  /** The typed client, for requests that only one module makes. */
  readonly client: ApiClient;
  login(user: string, password: string): Promise<void>;
  /** Signs in with the code from the page's address. */
  signIn(code: string): Promise<void>;
  logout(): Promise<void>;
  /** Confirms the password; the confirmation is valid for a few minutes. */
  confirm(password: string): Promise<void>;
  me(): Promise<Me>;
  runners(): Promise<Runner[]>;
  /** With `enrol`, the token is for one use: the first machine that presents it gets its own. */
  addRunner(name: string, enrol: boolean, workspace?: string): Promise<RunnerToken>;
  rotateRunner(name: string): Promise<RunnerToken>;
  revokeRunner(name: string): Promise<void>;
  /** Updates a machine's runner; resolves once the machine has downloaded the new program, which may take minutes. */
  updateRunner(name: string): Promise<RunnerUpdate>;
  settings(): Promise<Settings>;
  setActiveRunner(name: string | null): Promise<SettingsChange>;
  chats(): Promise<Chat[]>;
  /** The page of chats that follows the chat `before`. */
  moreChats(before: string): Promise<Chat[]>;
  /** Chats that contain the query in their title or their messages. */
  findChats(query: string): Promise<Chat[]>;
  renameChat(id: string, title: string): Promise<Chat>;
  forkChat(id: string): Promise<Chat>;
  newChat(reuseEmpty?: boolean): Promise<Chat>;
  deleteChat(id: string): Promise<void>;
  messages(chatId: string, before?: number): Promise<MessagePage>;
  /** Sends a message. Sending the same `sendId` again has no effect, and returns the same response. */
  send(chatId: string, text: string, sendId: string, attachments: string[]): Promise<SendResult>;
  cancel(chatId: string): Promise<{ cancelled: number }>;
  approve(chatId: string, messageId: number, allow: boolean, always: boolean): Promise<void>;
  answer(chatId: string, messageId: number, text: string | null): Promise<void>;
  /** Answers a card: the answer becomes the user's next message. */
  answerCard(chatId: string, messageId: number, reply: CardReply): Promise<void>;
  chatDetails(chatId: string): Promise<ChatDetails>;
  agents(chatId: string): Promise<AgentOfChat[]>;
  setApproval(chatId: string, mode: ApprovalMode): Promise<void>;
  /** Binds a chat to a runner, or with null to the active one; the response explains why nothing could run there now, if so. */
  bindChat(chatId: string, runner: string | null): Promise<BoundChat>;
  models(chatId: string | null): Promise<ModelList>;
  /** Sets the chat's model, as `NAME/TIER`; null removes the chat's own choice. */
  setModel(chatId: string, model: string | null): Promise<void>;
  /** Takes a message back, and all messages after it. */
  rewind(chatId: string, messageId: number, how: TakeBack): Promise<{ text: string }>;
  fork(chatId: string, messageId: number): Promise<Chat>;
  attach(chatId: string, file: File): Promise<Attachment>;
  commands(chatId: string | null): Promise<CommandLine[]>;
  completeArgument(chatId: string, text: string): Promise<string[]>;
  completePath(prefix: string, runner: string | null): Promise<PathEntry[]>;
}

/** Makes the client; `onUnauthorized` is called on every 401 except that of a login. */
export function createApi(onUnauthorized: () => void): Api {
  const client = createApiClient(onUnauthorized);
  const chat = (id: string) => ({ params: { path: { id } } });
  const runner = (name: string) => ({ params: { path: { name } } });
  return {
    client,
    login: async (user, password) => keepSession((await taken(client.POST("/api/v1/login", { body: { user, password } }))).token),
    signIn: async (code) => keepSession((await taken(client.POST("/api/v1/sign-ins/redeem", { body: { code } }))).token),
    logout: async () => {
      await client.POST("/api/v1/logout");
      keepSession(null);
    },
    confirm: async (password) => void (await client.POST("/api/v1/confirm", { body: { password } })),
    me: () => taken(client.GET("/api/v1/me")),
    runners: () => taken(client.GET("/api/v1/runners")),
    addRunner: (name, enrol, workspace = "") => {
      const body = { name, enrol, workspace: workspace.trim() || undefined };
      return taken(client.POST("/api/v1/runners", { body }));
    },
    rotateRunner: (name) => taken(client.POST("/api/v1/runners/{name}/rotate", runner(name))),
    revokeRunner: async (name) => void (await client.DELETE("/api/v1/runners/{name}", runner(name))),
    updateRunner: (name) => taken(client.POST("/api/v1/runners/{name}/update", runner(name))),
    settings: () => taken(client.GET("/api/v1/settings")),
    setActiveRunner: (name) => taken(client.PUT("/api/v1/settings", { body: { active_runner: name } })),
    chats: () => taken(client.GET("/api/v1/chats", { params: { query: { limit: CHAT_PAGE_COUNT } } })),
    moreChats: (before) => taken(client.GET("/api/v1/chats", { params: { query: { limit: CHAT_PAGE_COUNT, before } } })),
    findChats: (query) => taken(client.GET("/api/v1/chats", { params: { query: { limit: CHAT_PAGE_COUNT, query } } })),
    renameChat: (id, title) => taken(client.PUT("/api/v1/chats/{id}", { ...chat(id), body: { title } })),
    forkChat: (id) => taken(client.POST("/api/v1/chats/{id}/fork", { ...chat(id), body: {} })),
    newChat: (reuse_empty = false) => taken(client.POST("/api/v1/chats", { params: { query: { reuse_empty } } })),
    deleteChat: async (id) => void (await client.DELETE("/api/v1/chats/{id}", chat(id))),
    messages: (id, before) => {
      const query = { limit: MESSAGE_PAGE_COUNT, before };
      return taken(client.GET("/api/v1/chats/{id}/messages", { params: { path: { id }, query } }));
    },
    send: (id, text, sendId, attachments) => {
      const body = { text, send_id: sendId, attachments };
      return taken(client.POST("/api/v1/chats/{id}/messages", { ...chat(id), body }));
    },
    cancel: (id) => taken(client.POST("/api/v1/chats/{id}/cancel", chat(id))),
    approve: async (id, messageId, allow, always) => {
      const body = { message_id: messageId, allow, always };
      await client.POST("/api/v1/chats/{id}/approvals", { ...chat(id), body });
    },
    answer: async (id, messageId, text) => {
      const body = { message_id: messageId, text };
      await client.POST("/api/v1/chats/{id}/answers", { ...chat(id), body });
    },
    answerCard: async (id, messageId, reply) => {
      const body = { message_id: messageId, reply };
      await client.POST("/api/v1/chats/{id}/cards", { ...chat(id), body });
    },
    chatDetails: (id) => taken(client.GET("/api/v1/chats/{id}", chat(id))),
    agents: (id) => taken(client.GET("/api/v1/chats/{id}/agents", chat(id))),
    setApproval: async (id, mode) =>
      void (await client.PUT("/api/v1/chats/{id}/approval", { ...chat(id), body: { mode } })),
    bindChat: (id, runner) => taken(client.PUT("/api/v1/chats/{id}/runner", { ...chat(id), body: { runner } })),
    models: (id) => taken(client.GET("/api/v1/models", { params: { query: id === null ? {} : { chat: id } } })),
    setModel: async (id, model) =>
      void (await client.PUT("/api/v1/chats/{id}/model", { ...chat(id), body: { model } })),
    rewind: (id, messageId, how) =>
      taken(client.POST("/api/v1/chats/{id}/rewind", { ...chat(id), body: { message_id: messageId, ...how } })),
    fork: (id, messageId) =>
      taken(client.POST("/api/v1/chats/{id}/fork", { ...chat(id), body: { message_id: messageId } })),
    attach: (id, file) =>
      taken(
        client.POST("/api/v1/chats/{id}/attachments", {
          params: { path: { id }, query: { name: file.name } },
          ...asItIs(file, "application/octet-stream"),
          signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS),
        }),
      ),
    commands: (chatId) => taken(client.GET("/api/v1/commands", { params: { query: { chat: chatId ?? undefined } } })),
    completeArgument: (id, text) => taken(client.GET("/api/v1/chats/{id}/completions", { params: { path: { id }, query: { text } } })),
    completePath: async (prefix, on) => {
      const query = { prefix, limit: COMPLETIONS_COUNT, on: on ?? undefined };
      return (await taken(client.GET("/api/v1/files/complete", { params: { query } }))).entries;
    },
  };
}
