import { afterEach, expect, test, vi } from "vitest";
import { createApi, eventsUrl, fileUrl } from "./api";

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  vi.stubGlobal("fetch", vi.fn(async () => new Response(JSON.stringify(body), { status, headers })));

afterEach(() => vi.unstubAllGlobals());

test("an error carries the server's message and the time to wait", async () => {
  answer(429, { error: { kind: "rate_limited", message: "Too many attempts." } }, { "retry-after": "30" });
  const error = { status: 429, kind: "rate_limited", message: "Too many attempts.", retryAfterS: 30 };
  await expect(createApi(() => {}).login("ada", "x")).rejects.toMatchObject(error);
});

test("a refused session is reported, a refused login is not", async () => {
  answer(401, { error: { kind: "unauthorized", message: "Sign in." } });
  const onUnauthorized = vi.fn();
  const api = createApi(onUnauthorized);
  await expect(api.login("ada", "x")).rejects.toMatchObject({ status: 401 });
  expect(onUnauthorized).not.toHaveBeenCalled();
  await expect(api.chats()).rejects.toMatchObject({ status: 401 });
  expect(onUnauthorized).toHaveBeenCalledOnce();
});

test("a response that is not JSON still gives a readable error", async () => {
  vi.stubGlobal("fetch", async () => new Response("<html>", { status: 502 }));
  await expect(createApi(() => {}).me()).rejects.toMatchObject({ status: 502, kind: "internal" });
});

test("a missing response gives an error that says what to do", async () => {
  vi.stubGlobal("fetch", async () => Promise.reject(new TypeError("failed")));
  await expect(createApi(() => {}).me()).rejects.toMatchObject({ status: 0, kind: "unreachable" });
});

test("addresses are escaped", () => {
  expect(fileUrl("a b/ü&.log", "laptop")).toBe("/api/v1/files?path=a+b%2F%C3%BC%26.log&on=laptop");
  expect(fileUrl("x", null)).toBe("/api/v1/files?path=x");
  expect(eventsUrl({ protocol: "https:", host: "h:1" })).toBe("wss://h:1/api/v1/events");
});
