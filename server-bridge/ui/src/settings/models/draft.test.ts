import { expect, test } from "vitest";
import { ApiError } from "../../api";
import type { Subscription } from "../types";
import { documentOf, draftOf, needsTrial, placeOf, refusalOf } from "./draft";

const known: Subscription = {
  name: "mine",
  shared: false,
  provider: "anthropic",
  base_url: "https://models.example",
  runner: null,
  models: { swift: { name: "quick", window_tokens: 100_000, thinking_tokens: 2_000, price: { input: 1, output: 5, cache_read: 0.1 } } },
  default_tier: "swift",
  fallback: null,
  api_key_end: "abcd",
};

test("unchanged fields keep their values, including the key and figures that the form does not show", () => {
  expect(documentOf(draftOf(known), known)).toEqual({
    provider: "anthropic",
    base_url: "https://models.example",
    models: known.models,
    default_tier: "swift",
  });
});

test("a key is sent only if one was entered, and removed only on request", () => {
  expect(documentOf({ ...draftOf(known), key: "new" }, known).api_key).toBe("new");
  expect(documentOf({ ...draftOf(known), withoutKey: true }, known).api_key).toBe("");
  expect("api_key" in documentOf(draftOf(known), known)).toBe(false);
});

test("with a runner there is neither an address nor a key", () => {
  const relayed = documentOf({ ...draftOf(known), relayed: true, runner: "laptop", key: "secret" }, known);
  expect(relayed).toMatchObject({ runner: "laptop", api_key: "" });
  expect(relayed.base_url).toBeUndefined();
});

test("a tier without a model is left out, and so is a default tier without one", () => {
  const draft = draftOf(null);
  draft.tiers.balance = { name: " m ", windowTokens: "", inputPrice: "1", outputPrice: "" };
  const document = documentOf({ ...draft, name: " n ", defaultTier: "swift" }, null);
  expect(document).toEqual({ name: "n", provider: "openai", models: { balance: { name: "m", window_tokens: null, price: null } } });
});

test("a provider can be asked for its models once there is a key, an address or a runner", () => {
  expect(placeOf(draftOf(null), null)).toBeNull();
  expect(placeOf({ ...draftOf(null), key: "k" }, null)).toEqual({ provider: "openai", api_key: "k" });
  expect(placeOf({ ...draftOf(null), baseUrl: " http://127.0.0.1:1 " }, null)).toEqual({ provider: "openai", base_url: "http://127.0.0.1:1" });
  expect(placeOf(draftOf(known), known)).toEqual({ name: "mine", provider: "anthropic", base_url: "https://models.example" });
  expect(placeOf({ ...draftOf(known), relayed: true, runner: "laptop" }, known)).toMatchObject({ runner: "laptop" });
});

test("a model is tested again only if it would be contacted differently", () => {
  const needs = (change: object) => needsTrial(documentOf({ ...draftOf(known), ...change }, known), known);
  expect(needs({})).toBe(false);
  expect(needs({ fallback: "server" })).toBe(false);
  expect(needs({ key: "new" })).toBe(true);
  expect(needs({ withoutKey: true })).toBe(true);
  expect(needs({ baseUrl: "https://other.example" })).toBe(true);
  expect(needs({ provider: "openai" })).toBe(true);
  expect(needs({ tiers: { ...draftOf(known).tiers, swift: { ...draftOf(known).tiers.swift, name: "other" } } })).toBe(true);
  expect(needs({ relayed: true, runner: "laptop" })).toBe(true);
  expect(needsTrial(documentOf(draftOf(null), null), null)).toBe(true);
});

test("the reason for a refusal is assigned to the field that it concerns", () => {
  const of = (status: number, kind: string) => refusalOf(new ApiError(status, kind, "why"));
  expect(of(422, "key")).toEqual({ field: "key", text: "why" });
  expect(of(422, "unknown_model")?.field).toBe("model");
  expect(of(422, "network")?.field).toBe("place");
  expect(of(422, "empty")).toEqual({ field: null, text: "why" });
  expect(of(400, "invalid")).toBeNull();
  expect(of(0, "unreachable")).toBeNull();
  expect(refusalOf(new Error("other"))).toBeNull();
});
