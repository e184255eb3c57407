/** The shapes that only the settings ask for. Times are Unix milliseconds. */
import type { ApprovalMode } from "../types";

/** What a user wants of every agent of theirs. */
export interface Preferences {
  instructions: string | null;
  language: string | null;
  /** How much the model of a new chat may do without asking. */
  approval?: ApprovalMode | null;
}

export const TIERS = ["vanguard", "balance", "swift"] as const;
export type Tier = (typeof TIERS)[number];

export interface Price {
  input: number;
  output: number;
  cache_read?: number | null;
  cache_write?: number | null;
}

export interface TierModel {
  name: string;
  window_tokens?: number | null;
  reply_tokens?: number | null;
  thinking_tokens?: number | null;
  price?: Price | null;
}

export type Provider = "openai" | "anthropic";

/** A provider and its models; its key is never told. */
export interface Subscription {
  name: string;
  /** The server's own, which all users share. */
  shared: boolean;
  provider: Provider;
  base_url: string | null;
  /** The runner that relays to an endpoint of its own. */
  runner: string | null;
  models: Partial<Record<Tier, TierModel>>;
  default_tier: Tier;
  fallback: string | null;
  /** The last characters of its key; null without one. */
  api_key_end: string | null;
}

/** A subscription as it is written; `api_key` left out keeps the key, empty takes it away. */
export interface SubscriptionDocument {
  name?: string;
  provider: Provider;
  base_url?: string;
  runner?: string;
  models: Partial<Record<Tier, TierModel>>;
  default_tier?: Tier;
  fallback?: string;
  api_key?: string;
}

export interface ModelList {
  /** `NAME`, `NAME/TIER` or `NAME/MODEL`; null where the first one answers. */
  chosen: string | null;
  models: Subscription[];
}

export interface Trial {
  subscription: string;
  model: string;
  answer: string;
  duration_ms: number;
}

export interface UsageSum {
  calls: number;
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  /** Millionths of a US dollar, as far as prices are known. */
  cost_micros: number;
}

export interface UsageReport {
  total: UsageSum;
  today: UsageSum;
  /** Newest first, days without any left out; a day is `YYYY-MM-DD` in UTC. */
  days: (UsageSum & { day: string })[];
  models: (UsageSum & { subscription: string; model: string })[];
}

export const KEY_SCOPES = ["exec", "read", "full"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

export interface ApiKey {
  name: string;
  scope: KeyScope;
  created_at: number;
  last_used: number | null;
  expires_at: number | null;
  expired: boolean;
}

/** A key just made, with its secret, which is shown once. */
export type MadeKey = ApiKey & { key: string };

export interface Memory {
  name: string;
  text: string;
  updated_at: number;
}

export interface Container {
  name: string;
  state: "none" | "stopped" | "running" | "paused";
  image: string;
  own_image: boolean;
  memory: number;
  pids: number;
  cpus: number | null;
  unlimited: string[];
  network: string;
  read_only: boolean;
  workspace: string;
  idle_stop: number | null;
}

export interface User {
  name: string;
  admin: boolean;
  created_at: number;
}

export interface AuditEntry {
  id: number;
  at: number;
  user: string | null;
  action: string;
  location: string | null;
  target: string;
  outcome: string;
}

export interface AuditPage {
  entries: AuditEntry[];
  more: boolean;
}

export interface About {
  version: string;
  started_at: number;
  uptime_s: number;
  storage: string;
  model_configured: boolean;
  docker: boolean;
  local: boolean;
  tls: boolean;
  sealed: boolean;
  /** For administrators alone. */
  users: number | null;
}
