/** What the settings ask of the server; paths and shapes are those of its contract. */
import { useMemo } from "react";
import type { Api } from "../api";
import { AUDIT_PAGE_COUNT, CONTAINER_TIMEOUT_MS, MODEL_TEST_TIMEOUT_MS } from "../limits";
import { useActions } from "../state/context";
import type {
  About,
  ApiKey,
  AuditPage,
  Container,
  KeyScope,
  MadeKey,
  Memory,
  ModelList,
  Preferences,
  Subscription,
  SubscriptionDocument,
  Tier,
  Trial,
  UsageReport,
  User,
} from "./types";

export interface AuditFilter {
  user: string;
  /** The beginning of an action's name. */
  action: string;
}

const id = encodeURIComponent;

export function createRequests(request: Api["request"]) {
  return {
    preferences: () => request<Preferences>("GET", "/settings/agent"),
    setPreferences: (wanted: Preferences) => request<Preferences>("PUT", "/settings/agent", wanted),

    models: () => request<ModelList>("GET", "/models"),
    addModel: (document: SubscriptionDocument) => request<Subscription>("POST", "/models", document),
    changeModel: (name: string, document: SubscriptionDocument) => request<Subscription>("PUT", `/models/${id(name)}`, document),
    removeModel: (name: string) => request<void>("DELETE", `/models/${id(name)}`),
    testModel: (name: string, tier: Tier | null) =>
      request<Trial>("POST", `/models/${id(name)}/test`, { model: tier }, MODEL_TEST_TIMEOUT_MS),
    chooseModel: (model: string | null) => request<{ model: string | null }>("PUT", "/models/default", { model }),

    usage: (days: number, chatId: string | null) =>
      request<UsageReport>("GET", `/usage?days=${days}${chatId === null ? "" : `&chat=${id(chatId)}`}`),

    keys: () => request<ApiKey[]>("GET", "/keys"),
    addKey: (name: string, scope: KeyScope, ttlSeconds: number | null) =>
      request<MadeKey>("POST", "/keys", { name, scope, ...(ttlSeconds === null ? {} : { ttl_seconds: ttlSeconds }) }),
    removeKey: (name: string) => request<void>("DELETE", `/keys/${id(name)}`),

    memories: () => request<Memory[]>("GET", "/memories"),
    forget: (name: string) => request<void>("DELETE", `/memories/${id(name)}`),

    container: () => request<Container>("GET", "/container"),
    stopContainer: () => request<void>("POST", "/container/stop", undefined, CONTAINER_TIMEOUT_MS),
    commitContainer: () => request<{ image: string }>("POST", "/container/commit", undefined, CONTAINER_TIMEOUT_MS),
    importContainer: (archive: Blob, workspace: boolean) =>
      request<void>("PUT", `/container/import?workspace=${workspace}`, archive, CONTAINER_TIMEOUT_MS),
    resetContainer: (workspace: boolean) =>
      request<void>("DELETE", `/container?workspace=${workspace}`, undefined, CONTAINER_TIMEOUT_MS),

    users: () => request<User[]>("GET", "/users"),
    addUser: (name: string, password: string, admin: boolean) => request<User>("POST", "/users", { name, password, admin }),
    changeUser: (name: string, change: { admin?: boolean; password?: string }) => request<User>("PUT", `/users/${id(name)}`, change),
    removeUser: (name: string) => request<void>("DELETE", `/users/${id(name)}`),
    changePassword: (current: string, next: string) => request<unknown>("POST", "/password", { current, new: next }),

    audit: (filter: AuditFilter, before: number | null) => {
      const query = new URLSearchParams({ limit: String(AUDIT_PAGE_COUNT) });
      if (filter.user !== "") query.set("user", filter.user);
      if (filter.action !== "") query.set("action", filter.action);
      if (before !== null) query.set("before", String(before));
      return request<AuditPage>("GET", `/audit?${query}`);
    },
    about: () => request<About>("GET", "/about"),
  };
}

export type Requests = ReturnType<typeof createRequests>;

export function useRequests(): Requests {
  const { request } = useActions();
  return useMemo(() => createRequests(request), [request]);
}
