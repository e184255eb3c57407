import { expect, test } from "vitest";
import type { Subscription } from "../types";
import { documentOf, draftOf } from "./draft";

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

test("what was not touched stays as it was, the key and unseen figures included", () => {
  expect(documentOf(draftOf(known), known)).toEqual({
    provider: "anthropic",
    base_url: "https://models.example",
    models: known.models,
    default_tier: "swift",
  });
});

test("a key is sent only when it was written, and taken away only when that was asked for", () => {
  expect(documentOf({ ...draftOf(known), key: "new" }, known).api_key).toBe("new");
  expect(documentOf({ ...draftOf(known), withoutKey: true }, known).api_key).toBe("");
  expect("api_key" in documentOf(draftOf(known), known)).toBe(false);
});

test("behind a runner there is neither an address nor a key", () => {
  const relayed = documentOf({ ...draftOf(known), relayed: true, runner: "laptop", key: "secret" }, known);
  expect(relayed).toMatchObject({ runner: "laptop", api_key: "" });
  expect(relayed.base_url).toBeUndefined();
});

test("a tier without a model is left out, and so is a usual tier that has none", () => {
  const draft = draftOf(null);
  draft.tiers.balance = { name: " m ", windowTokens: "", inputPrice: "1", outputPrice: "" };
  const document = documentOf({ ...draft, name: " n ", defaultTier: "swift" }, null);
  expect(document).toEqual({ name: "n", provider: "openai", models: { balance: { name: "m", window_tokens: null, price: null } } });
});
