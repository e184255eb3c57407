/** A subscription being entered in a form. Pure. */
import { ApiError } from "../../api";
import { type Provider, type ProviderDocument, type Subscription, type SubscriptionDocument, type Tier, TIERS, type TierModel } from "../types";

export interface TierDraft {
  name: string;
  /** The context window; empty for the server's value. */
  windowTokens: string;
  /** Prices in US dollars per million tokens; both or neither. */
  inputPrice: string;
  outputPrice: string;
}

export interface Draft {
  name: string;
  provider: Provider;
  /** True if a runner relays to the provider. */
  relayed: boolean;
  baseUrl: string;
  runner: string;
  /** The new API key; empty keeps the stored key. */
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

/** The document to send; settings of a model that the form does not show stay as they are. */
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

/** The provider's address and key; null while they are too incomplete for a request. */
export function placeOf(draft: Draft, known: Subscription | null): ProviderDocument | null {
  const { provider, runner, base_url, api_key } = documentOf(draft, known);
  const hasKey = draft.key !== "" || (known?.api_key_end != null && !draft.withoutKey);
  if (!hasKey && base_url == null && !draft.relayed) return null;
  return { name: known?.name, provider, runner, base_url, api_key };
}

/** True if the form would contact its provider differently from the stored subscription. */
export function needsTrial(document: SubscriptionDocument, known: Subscription | null): boolean {
  if (known === null) return true;
  const { provider, base_url: address = null, runner = null, models, default_tier: tier, api_key: key } = document;
  const isSamePlace = provider === known.provider && address === known.base_url && runner === known.runner;
  const hasSameKey = key === undefined || (key === "" && known.api_key_end === null);
  const hasSameModels = TIERS.every((name) => models[name]?.name === known.models[name]?.name);
  return !isSamePlace || !hasSameKey || !hasSameModels || (tier ?? known.default_tier) !== known.default_tier;
}

/** The reason why a model does not answer, and the field of the form that it concerns. */
export interface Refusal {
  field: "key" | "model" | "place" | null;
  text: string;
}

/** The field that an error concerns, by the error's kind. */
const FIELDS: Record<string, Refusal["field"]> = {
  key: "key",
  quota: "key",
  unknown_model: "model",
  network: "place",
  nonsense: "place",
  address: "place",
  relay: "place",
  timeout: "place",
};

/** The refusal that an error describes; null if the error did not come from contacting the model. */
export function refusalOf(error: unknown): Refusal | null {
  if (!(error instanceof ApiError) || (error.status !== 422 && error.status !== 429)) return null;
  return { field: FIELDS[error.kind] ?? null, text: error.message };
}

function modelOf(draft: TierDraft, known: TierModel | undefined): TierModel {
  const model: TierModel = { ...known, name: draft.name.trim() };
  model.window_tokens = draft.windowTokens.trim() === "" ? null : Number(draft.windowTokens);
  const priced = draft.inputPrice.trim() !== "" && draft.outputPrice.trim() !== "";
  model.price = priced ? { ...known?.price, input: Number(draft.inputPrice), output: Number(draft.outputPrice) } : null;
  return model;
}
