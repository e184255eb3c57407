/** Requests for the settings. */
import { useMemo } from "react";
import { type ApiClient, taken } from "../api";
import { asItIs } from "../api/client";
import { keepSession } from "../api/session";
import { AUDIT_PAGE_COUNT, CONTAINER_TIMEOUT_MS, HOOK_TRIAL_TIMEOUT_MS, HTTP_TRY_TIMEOUT_MS, MCP_CHECK_TIMEOUT_MS, MCP_LOGIN_TIMEOUT_MS, MODEL_LIST_TIMEOUT_MS, MODEL_TEST_TIMEOUT_MS, PLUGIN_TIMEOUT_MS } from "../limits";
import { useActions } from "../state/context";
import type { AutomationPut, ChannelPut, CollectionDraft, HttpToolImport, KeyScope, McpServerEntry, MemorySettings, NewMemory, NewPlugin, Preferences, ProviderDocument, RuleEffect, ServerSettingsChange, SubscriptionDocument, Tier } from "./types";

export interface AuditFilter {
  user: string;
  /** The beginning of the action's name. */
  action: string;
}

const within = (milliseconds: number) => ({ signal: AbortSignal.timeout(milliseconds) });

export function createRequests(client: ApiClient) {
  const named = (name: string) => ({ params: { path: { name } } });
  const numbered = (id: number) => ({ params: { path: { id } } });
  const ofCollection = (id: number) => ({ params: { path: { collection: String(id) } } });
  return {
    preferences: () => taken(client.GET("/api/v1/settings/agent")),
    setPreferences: (wanted: Preferences) => taken(client.PUT("/api/v1/settings/agent", { body: wanted })),

    models: () => taken(client.GET("/api/v1/models")),
    /** Lists a provider's models, if it has such a list. */
    offeredModels: (place: ProviderDocument) =>
      taken(client.POST("/api/v1/providers/models", { body: place, ...within(MODEL_LIST_TIMEOUT_MS) })),
    /** Tests the model of a subscription that is not saved yet. */
    tryModel: (document: SubscriptionDocument) =>
      taken(client.POST("/api/v1/providers/trial", { body: document, ...within(MODEL_TEST_TIMEOUT_MS) })),
    addModel: (document: SubscriptionDocument) => taken(client.POST("/api/v1/models", { body: document })),
    changeModel: (name: string, document: SubscriptionDocument) =>
      taken(client.PUT("/api/v1/models/{name}", { ...named(name), body: document })),
    removeModel: async (name: string) => void (await client.DELETE("/api/v1/models/{name}", named(name))),
    testModel: (name: string, tier: Tier | null) =>
      taken(client.POST("/api/v1/models/{name}/test", { ...named(name), body: { model: tier }, ...within(MODEL_TEST_TIMEOUT_MS) })),
    chooseModel: (model: string | null) => taken(client.PUT("/api/v1/models/default", { body: { model } })),

    usage: (days: number, chatId: string | null) =>
      taken(client.GET("/api/v1/usage", { params: { query: { days, chat: chatId ?? undefined } } })),

    keys: () => taken(client.GET("/api/v1/keys")),
    addKey: (name: string, scope: KeyScope, ttlSeconds: number | null) =>
      taken(client.POST("/api/v1/keys", { body: { name, scope, ttl_seconds: ttlSeconds } })),
    removeKey: async (name: string) => void (await client.DELETE("/api/v1/keys/{name}", named(name))),

    approvalRules: () => taken(client.GET("/api/v1/approvals")),
    revokeApproval: async (id: number) => void (await client.DELETE("/api/v1/approvals/{id}", { params: { path: { id } } })),

    rules: () => taken(client.GET("/api/v1/rules")),
    addRule: (effect: RuleEffect, rule: string, justification: string, chatId: string | null) =>
      taken(client.POST("/api/v1/rules", { body: { effect, rule, justification: justification || null, chat_id: chatId } })),
    removeRule: async (id: number) => void (await client.DELETE("/api/v1/rules/{id}", { params: { path: { id } } })),
    tryRules: (tool: string, subject: string, chatId: string | null) =>
      taken(client.POST("/api/v1/rules/try", { body: { tool, subject, chat_id: chatId } })),

    collections: () => taken(client.GET("/api/v1/knowledge/collections")),
    addCollection: (draft: CollectionDraft) => taken(client.POST("/api/v1/knowledge/collections", { body: draft })),
    removeCollection: async (id: number) => void (await client.DELETE("/api/v1/knowledge/collections/{collection}", ofCollection(id))),
    collectionDocuments: (id: number) => taken(client.GET("/api/v1/knowledge/collections/{collection}/documents", ofCollection(id))),
    addDocument: (id: number, file: File) =>
      taken(
        client.POST("/api/v1/knowledge/collections/{collection}/documents", {
          params: { path: { collection: String(id) }, query: { name: file.name } },
          ...asItIs(file, "application/octet-stream"),
        }),
      ),
    removeDocument: async (id: number) => void (await client.DELETE("/api/v1/knowledge/documents/{id}", { params: { path: { id } } })),
    knowledgePage: (id: number, page: number) =>
      taken(client.GET("/api/v1/knowledge/documents/{id}", { params: { path: { id }, query: { page } } })),
    shareCollection: (id: number, user: string | null, isShared: boolean) =>
      taken(client.PUT("/api/v1/knowledge/collections/{collection}/sharing", { ...ofCollection(id), body: { user, is_shared: isShared } })),
    syncCollection: async (id: number, removeMissing: boolean) =>
      void (await client.POST("/api/v1/knowledge/collections/{collection}/sync", { ...ofCollection(id), body: { remove_missing: removeMissing } })),
    searchKnowledge: (query: string) => taken(client.POST("/api/v1/knowledge/search", { body: { query } })),

    trust: () => taken(client.GET("/api/v1/trust")),
    approveOfWorkspace: async (hash: string) => void (await client.POST("/api/v1/trust/approvals", { body: { hash } })),
    revokeOfWorkspace: async (hash: string) =>
      void (await client.DELETE("/api/v1/trust/approvals/{hash}", { params: { path: { hash } } })),
    hooks: () => taken(client.GET("/api/v1/hooks")),
    hookDocument: () => taken(client.GET("/api/v1/hooks/document")),
    /** Replaces the user's own document; null removes it. */
    setHookDocument: (text: string | null) => taken(client.PUT("/api/v1/hooks/document", { body: { text } })),
    approveHook: async (hash: string) => void (await client.POST("/api/v1/hooks/approvals", { body: { hash } })),
    revokeHook: async (hash: string) =>
      void (await client.DELETE("/api/v1/hooks/approvals/{hash}", { params: { path: { hash } } })),
    /** Runs a hook on a payload, or on a sample if the payload is empty. */
    tryHook: (hook: string, payload: string, chatId: string | null) =>
      taken(client.POST("/api/v1/hooks/try", { body: { hook, payload, chat_id: chatId }, ...within(HOOK_TRIAL_TIMEOUT_MS) })),
    hookLog: () => taken(client.GET("/api/v1/hooks/log")),

    mcpServers: () => taken(client.GET("/api/v1/mcp-servers")),
    /** Adds one of the user's own servers, or replaces the server with this name. */
    setMcpServer: async (name: string, entry: McpServerEntry) =>
      void (await client.PUT("/api/v1/mcp-servers/{name}", { ...named(name), body: entry })),
    removeMcpServer: async (name: string) => void (await client.DELETE("/api/v1/mcp-servers/{name}", named(name))),
    /** Connects to a server and lists its tools. */
    checkMcpServer: (name: string) =>
      taken(client.POST("/api/v1/mcp-servers/{name}/check", { ...named(name), ...within(MCP_CHECK_TIMEOUT_MS) })),
    /** Begins a login; the provider's page redirects the browser to `redirectUri`. */
    beginMcpLogin: (name: string, redirectUri: string) =>
      taken(client.POST("/api/v1/mcp-servers/{name}/login", { ...named(name), body: { redirect_uri: redirectUri }, ...within(MCP_LOGIN_TIMEOUT_MS) })),
    forgetMcpLogin: async (name: string) => void (await client.DELETE("/api/v1/mcp-servers/{name}/login", named(name))),
    acceptMcpChanges: async (name: string, hash: string) =>
      void (await client.POST("/api/v1/mcp-servers/{name}/changes", { ...named(name), body: { hash } })),
    approveMcpServer: async (hash: string) => void (await client.POST("/api/v1/mcp-server-approvals", { body: { hash } })),
    revokeMcpServer: async (hash: string) =>
      void (await client.DELETE("/api/v1/mcp-server-approvals/{hash}", { params: { path: { hash } } })),

    httpTools: () => taken(client.GET("/api/v1/http-tools")),
    /** Adds one of the user's own tools, or replaces the tool with this name. */
    setHttpTool: (name: string, text: string) => taken(client.PUT("/api/v1/http-tools/{name}", { ...named(name), body: { text } })),
    removeHttpTool: async (name: string) => void (await client.DELETE("/api/v1/http-tools/{name}", named(name))),
    /** Sets a secret of a tool; null removes it. */
    setHttpToolSecret: async (name: string, secret: string, value: string | null) =>
      void (await client.PUT("/api/v1/http-tools/{name}/secrets/{secret}", { params: { path: { name, secret } }, body: { value } })),
    importHttpTools: (document: HttpToolImport) => taken(client.POST("/api/v1/http-tool-imports", { body: document })),
    /** Sends a tool's request; the arguments are a JSON object. */
    tryHttpTool: (name: string, args: string) =>
      taken(client.POST("/api/v1/http-tools/{name}/try", { ...named(name), body: { arguments: args }, ...within(HTTP_TRY_TIMEOUT_MS) })),
    approveHttpTool: async (hash: string) => void (await client.POST("/api/v1/http-tool-approvals", { body: { hash } })),
    revokeHttpTool: async (hash: string) =>
      void (await client.DELETE("/api/v1/http-tool-approvals/{hash}", { params: { path: { hash } } })),

    plugins: () => taken(client.GET("/api/v1/plugins")),
    /** Inspects a plugin, of which nothing is stored. */
    lookAtPlugin: (plugin: NewPlugin) => taken(client.POST("/api/v1/plugins/look", { body: plugin, ...within(PLUGIN_TIMEOUT_MS) })),
    /** Installs a plugin, with the hash of the inspected copy. */
    installPlugin: async (plugin: NewPlugin) => void (await client.POST("/api/v1/plugins", { body: plugin, ...within(PLUGIN_TIMEOUT_MS) })),
    letPluginBeUsed: async (name: string, enabled: boolean) =>
      void (await client.PUT("/api/v1/plugins/{name}", { ...named(name), body: { enabled } })),
    /** Starts or stops sharing a plugin with all users of the server. */
    sharePlugin: async (name: string, shared: boolean) =>
      void (await client.PUT("/api/v1/plugins/{name}/sharing", { ...named(name), body: { shared } })),
    shelf: () => taken(client.GET("/api/v1/shelf")),
    takeOffShelf: async (owner: string, name: string) =>
      void (await client.DELETE("/api/v1/shelf/{owner}/{name}", { params: { path: { owner, name } } })),
    marketplaces: () => taken(client.GET("/api/v1/marketplaces")),
    addMarketplace: async (source: string) =>
      void (await client.POST("/api/v1/marketplaces", { body: { source }, ...within(PLUGIN_TIMEOUT_MS) })),
    updateMarketplace: async (name: string) =>
      void (await client.POST("/api/v1/marketplaces/{name}/update", { ...named(name), ...within(PLUGIN_TIMEOUT_MS) })),
    removeMarketplace: async (name: string) => void (await client.DELETE("/api/v1/marketplaces/{name}", named(name))),
    removePlugin: async (name: string) => void (await client.DELETE("/api/v1/plugins/{name}", named(name))),

    automations: () => taken(client.GET("/api/v1/automations")),
    /** Adds an automation, or changes the one with this name. */
    putAutomation: (name: string, put: AutomationPut) => taken(client.PUT("/api/v1/automations/{name}", { ...named(name), body: put })),
    removeAutomation: async (name: string) => void (await client.DELETE("/api/v1/automations/{name}", named(name))),
    pauseAutomation: (name: string, paused: boolean) =>
      taken(client.POST("/api/v1/automations/{name}/pause", { ...named(name), body: { paused } })),
    /** Gives a trigger a new address and a new secret. */
    newAutomationAddress: (name: string) => taken(client.POST("/api/v1/automations/{name}/address", named(name))),
    /** Begins a run now; for a trigger, with the delivery of another run. */
    startAutomation: (name: string, run: number | null) =>
      taken(client.POST("/api/v1/automations/{name}/runs", { ...named(name), body: { run } })),
    automationRuns: (name: string) => taken(client.GET("/api/v1/automations/{name}/runs", named(name))),

    channels: () => taken(client.GET("/api/v1/channels")),
    /** Adds a channel, or changes the one with this name. */
    putChannel: async (name: string, put: ChannelPut) => void (await client.PUT("/api/v1/channels/{name}", { ...named(name), body: put })),
    removeChannel: async (name: string) => void (await client.DELETE("/api/v1/channels/{name}", named(name))),
    testChannel: (name: string) => taken(client.POST("/api/v1/channels/{name}/test", named(name))),
    /** Makes a code that links the user; it is shown once. */
    linkChannel: (name: string) => taken(client.POST("/api/v1/channels/{name}/link", named(name))),
    setChannelNotices: async (id: number, enabled: boolean) =>
      void (await client.PUT("/api/v1/channel-links/{id}/notices", { ...numbered(id), body: { enabled } })),
    channelLogins: () => taken(client.GET("/api/v1/channel-logins")),
    /** Begins a login; the service's page redirects the browser to `redirectUri`. */
    beginChannelLogin: (name: string, redirectUri: string) =>
      taken(client.POST("/api/v1/channels/{name}/login", { ...named(name), body: { redirect_uri: redirectUri } })),
    forgetChannelLogin: async (name: string) => void (await client.DELETE("/api/v1/channels/{name}/login", named(name))),
    removeChannelLink: async (id: number) => void (await client.DELETE("/api/v1/channel-links/{id}", numbered(id))),

    /** The user's own memories and proposals, or those of one of the user's agents in a group. */
    memories: (agent: number | null) =>
      taken(client.GET("/api/v1/memories", { params: { query: { agent: agent === null ? undefined : String(agent) } } })),
    /** All proposals that await the user's decision, including those of their agents in groups. */
    proposedMemories: () => taken(client.GET("/api/v1/memories", { params: { query: { proposed: true } } })),
    /** The groups that the user is in, with their agents. */
    groups: () => taken(client.GET("/api/v1/groups")),
    memory: (id: number) => taken(client.GET("/api/v1/memories/{id}", numbered(id))),
    keepMemory: (memory: NewMemory) => taken(client.POST("/api/v1/memories", { body: memory })),
    /** Changes a memory, which is then valid until a time, or without end if that is 0. */
    changeMemory: (id: number, text: string, validTo: number) =>
      taken(client.PUT("/api/v1/memories/{id}", { ...numbered(id), body: { text, valid_to: validTo } })),
    acceptMemory: (id: number) => taken(client.POST("/api/v1/memories/{id}/accept", numbered(id))),
    /** Forgets a memory with its history, or rejects a proposal. */
    forgetMemory: async (id: number) => void (await client.DELETE("/api/v1/memories/{id}", numbered(id))),
    forgetAbout: (about: string, agent: number | null) =>
      taken(client.POST("/api/v1/memories/forget", { body: { about, agent: agent === null ? null : String(agent) } })),
    memorySettings: () => taken(client.GET("/api/v1/settings/memory")),
    setMemorySettings: (wanted: MemorySettings) => taken(client.PUT("/api/v1/settings/memory", { body: wanted })),

    container: () => taken(client.GET("/api/v1/container")),
    stopContainer: async () => void (await client.POST("/api/v1/container/stop", within(CONTAINER_TIMEOUT_MS))),
    commitContainer: () => taken(client.POST("/api/v1/container/commit", within(CONTAINER_TIMEOUT_MS))),
    importContainer: async (archive: Blob, workspace: boolean) => {
      const params = { query: { workspace } };
      const content = asItIs(archive, "application/x-tar");
      await client.PUT("/api/v1/container/import", { params, ...content, ...within(CONTAINER_TIMEOUT_MS) });
    },
    resetContainer: async (workspace: boolean) => {
      const params = { query: { workspace } };
      await client.DELETE("/api/v1/container", { params, ...within(CONTAINER_TIMEOUT_MS) });
    },

    nodes: () => taken(client.GET("/api/v1/nodes")),
    drainNode: async (url: string, draining: boolean) =>
      void (await client.PUT("/api/v1/nodes", { params: { query: { url } }, body: { draining } })),
    forgetNode: async (url: string) => void (await client.DELETE("/api/v1/nodes", { params: { query: { url } } })),

    users: () => taken(client.GET("/api/v1/users")),
    addUser: (name: string, password: string, admin: boolean) =>
      taken(client.POST("/api/v1/users", { body: { name, password, admin } })),
    changeUser: (name: string, change: { admin?: boolean; password?: string }) =>
      taken(client.PUT("/api/v1/users/{name}", { ...named(name), body: change })),
    removeUser: async (name: string) => void (await client.DELETE("/api/v1/users/{name}", named(name))),
    changePassword: async (current: string, next: string) =>
      // A change of the password ends the previous session, so the new token is stored.
      keepSession((await taken(client.POST("/api/v1/password", { body: { current, new: next } }))).token),

    audit: ({ user, action }: AuditFilter, before: number | null) => {
      const query = { limit: AUDIT_PAGE_COUNT, user: user || undefined, action: action || undefined, before: before ?? undefined };
      return taken(client.GET("/api/v1/audit", { params: { query } }));
    },
    serverSettings: () => taken(client.GET("/api/v1/server-settings")),
    changeServerSettings: (change: ServerSettingsChange) => taken(client.PUT("/api/v1/server-settings", { body: change })),
    about: () => taken(client.GET("/api/v1/about")),
  };
}

export type Requests = ReturnType<typeof createRequests>;

export function useRequests(): Requests {
  const { client } = useActions();
  return useMemo(() => createRequests(client), [client]);
}
