/** A subscription while it is being written in a form. Pure. */
import { type Provider, type Subscription, type SubscriptionDocument, type Tier, TIERS, type TierModel } from "../types";

export interface TierDraft {
  name: string;
  /** Empty: as the server has it. */
  windowTokens: string;
  /** US dollars for a million tokens; both or none. */
  inputPrice: string;
  outputPrice: string;
}

export interface Draft {
  name: string;
  provider: Provider;
  /** Whether a runner relays to it. */
  relayed: boolean;
  baseUrl: string;
  runner: string;
  /** Write-only: empty keeps what is there. */
  key: string;
  withoutKey: boolean;
  tiers: Record<Tier, TierDraft>;
  defaultTier: Tier | "";
  fallback: string;
}

const EMPTY_TIER: TierDraft = { name: "", windowTokens: "", inputPrice: "", outputPrice: "" };

export function draftOf(known: Subscription | null): Draft {
  const tier = (name: Tier): TierDraft => {
    const model = known?.models[name];
    if (model === undefined) return EMPTY_TIER;
    const text = (value: number | null | undefined) => (value == null ? "" : String(value));
    return {
      name: model.name,
      windowTokens: text(model.window_tokens),
      inputPrice: text(model.price?.input),
      outputPrice: text(model.price?.output),
    };
  };
  return {
    name: known?.name ?? "",
    provider: known?.provider ?? "openai",
    relayed: known?.runner != null,
    baseUrl: known?.base_url ?? "",
    runner: known?.runner ?? "",
    key: "",
    withoutKey: false,
    tiers: { vanguard: tier("vanguard"), balance: tier("balance"), swift: tier("swift") },
    defaultTier: known?.default_tier ?? "",
    fallback: known?.fallback ?? "",
  };
}

/** What is sent; what the form does not show of a model stays as it was. */
export function documentOf(draft: Draft, known: Subscription | null): SubscriptionDocument {
  const named = TIERS.filter((tier) => draft.tiers[tier].name.trim() !== "");
  const models = Object.fromEntries(named.map((tier) => [tier, modelOf(draft.tiers[tier], known?.models[tier])]));
  const document: SubscriptionDocument = { provider: draft.provider, models };
  if (known === null) document.name = draft.name.trim();
  if (draft.relayed) document.runner = draft.runner;
  else if (draft.baseUrl.trim() !== "") document.base_url = draft.baseUrl.trim();
  if (draft.defaultTier !== "" && named.includes(draft.defaultTier)) document.default_tier = draft.defaultTier;
  if (draft.fallback.trim() !== "") document.fallback = draft.fallback.trim();
  if (draft.withoutKey || draft.relayed) document.api_key = "";
  else if (draft.key !== "") document.api_key = draft.key;
  return document;
}

function modelOf(draft: TierDraft, known: TierModel | undefined): TierModel {
  const model: TierModel = { ...known, name: draft.name.trim() };
  model.window_tokens = draft.windowTokens.trim() === "" ? null : Number(draft.windowTokens);
  const priced = draft.inputPrice.trim() !== "" && draft.outputPrice.trim() !== "";
  model.price = priced ? { ...known?.price, input: Number(draft.inputPrice), output: Number(draft.outputPrice) } : null;
  return model;
}
