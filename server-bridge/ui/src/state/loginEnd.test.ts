import i18next from "i18next";
import { beforeAll, expect, test, vi } from "vitest";
import { type ApiClient, ApiError } from "../api";
import * as en from "../i18n/en";
import { channelTopic, loginEnd, onLoginEnd } from "./loginEnd";

beforeAll(async () => void (await i18next.init({ lng: "en", resources: { en }, defaultNS: "frame", interpolation: { escapeValue: false } })));

const URL = "https://sandbridge.example/?code=c&state=s";

/** Ends a login with a server that gives these answers in order. */
function login(returned: string | null, ...answers: (Error | string)[]) {
  const POST = vi.fn(async (_path: string, _asked: { body: unknown }) => {
    const answer = answers.shift();
    if (typeof answer !== "string") throw answer;
    return { data: _path === "/api/v1/channel-logins" ? { channel: answer } : { server: answer } };
  });
  const dispatch = vi.fn();
  return { end: loginEnd({ POST } as unknown as ApiClient, dispatch, returned), POST, dispatch };
}

const banner = (level: string, text: string) => ({ type: "banner", level, text });

test("the whole address is sent once, and both tabs are notified", async () => {
  const { end, POST, dispatch } = login(URL, "docs");
  const heard = vi.fn();
  const others = vi.fn();
  const stops = [onLoginEnd("docs", heard), onLoginEnd("git", others)];
  await end();
  await end();
  expect(POST.mock.calls.map(([path, { body }]) => [path, body])).toEqual([["/api/v1/mcp-logins", { url: URL }]]);
  expect(dispatch.mock.calls).toEqual([[banner("info", "Logged in to docs.")]]);
  await vi.waitFor(() => expect(heard).toHaveBeenCalledOnce());
  expect(others).not.toHaveBeenCalled();
  for (const stop of stops) stop();
});

test("the redirect of a channel's login is sent to the channels' endpoint", async () => {
  const back = "https://sandbridge.example/?code=c&state=channel.s";
  const { end, POST, dispatch } = login(back, "lark");
  const [heard, others] = [vi.fn(), vi.fn()];
  const stops = [onLoginEnd(channelTopic("lark"), heard), onLoginEnd("lark", others)];
  await end();
  expect(POST.mock.calls.map(([path, { body }]) => [path, body])).toEqual([["/api/v1/channel-logins", { url: back }]]);
  expect(dispatch.mock.calls).toEqual([[banner("info", "Logged in to lark.")]]);
  await vi.waitFor(() => expect(heard).toHaveBeenCalledOnce());
  expect(others).not.toHaveBeenCalled();
  for (const stop of stops) stop();
});

test("without a redirect nothing is sent", async () => {
  const { end, POST, dispatch } = login(null);
  await end();
  expect([POST.mock.calls, dispatch.mock.calls]).toEqual([[], []]);
});

test("if the session has ended, the redirect is kept for the next session", async () => {
  const { end, POST, dispatch } = login(URL, new ApiError(401, "unauthorized", "Sign in."), "docs");
  await end();
  expect(dispatch).not.toHaveBeenCalled();
  await end();
  expect(POST).toHaveBeenCalledTimes(2);
  expect(dispatch).toHaveBeenCalledWith(banner("info", "Logged in to docs."));
});

test("a failed login reports the reason and is not retried", async () => {
  const refused = login(URL, new ApiError(502, "mcp_failed", "the login failed: access_denied"));
  await refused.end();
  await refused.end();
  expect(refused.POST).toHaveBeenCalledOnce();
  expect(refused.dispatch.mock.calls).toEqual([[banner("warning", "the login failed: access_denied")]]);
  const lost = login(URL, new ApiError(0, "unreachable", "No answer."));
  await lost.end();
  expect(lost.dispatch.mock.calls).toEqual([[banner("warning", "The login could not be completed: No answer.")]]);
});
