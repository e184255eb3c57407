/**
 * The end of a login to an MCP server or to the service of a channel, in the tab that the provider redirected to this page; the tab where it
 * began is notified. The URL of the redirect is kept only in memory, and only until it is sent.
 */
import type { Dispatch } from "react";
import i18next from "i18next";
import { type Api, ApiError, errorText, taken } from "../api";
import { MCP_LOGIN_TIMEOUT_MS } from "../limits";
import type { Action } from "./state";

const CHANNEL = "sandbridge.mcp-login";

/** The prefix that the server gives to the `state` of a login to the service of a channel. */
const CHANNEL_STATE = "channel.";

/** The topic of a channel's logins: no MCP server has such a name. */
export const channelTopic = (channel: string): string => `channel/${channel}`;

/** Makes the function that ends the login, once, for the signed-in user; a redirect that arrives without a session waits for one. */
export function loginEnd(client: Api["client"], dispatch: Dispatch<Action>, returned: string | null): () => Promise<void> {
  let address = returned;
  return async () => {
    const url = address;
    if (url === null) return;
    address = null;
    try {
      const signal = AbortSignal.timeout(MCP_LOGIN_TIMEOUT_MS);
      const { name, topic } = await ended(client, url, signal);
      dispatch({ type: "banner", level: "info", text: i18next.t("mcpLogin.ended", { ns: "frame", name }) });
      tell(topic);
    } catch (error) {
      // The session has ended: the login is ended in the next session.
      if (error instanceof ApiError && error.status === 401) address = url;
      else dispatch({ type: "banner", level: "warning", text: problem(error) });
    }
  };
}

async function ended(client: Api["client"], url: string, signal: AbortSignal): Promise<{ name: string; topic: string }> {
  const state = new URL(url).searchParams.get("state") ?? "";
  if (state.startsWith(CHANNEL_STATE)) {
    const { channel } = await taken(client.POST("/api/v1/channel-logins", { body: { url }, signal }));
    return { name: channel, topic: channelTopic(channel) };
  }
  const { server } = await taken(client.POST("/api/v1/mcp-logins", { body: { url }, signal }));
  return { name: server, topic: server };
}

/** The message for a failed login: the server's, or if there was no response, one that names the login. */
function problem(error: unknown): string {
  const why = errorText(error);
  return error instanceof ApiError && error.status !== 0 ? why : i18next.t("mcpLogin.lost", { ns: "frame", why });
}

function tell(topic: string): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(topic);
  channel.close();
}

/** Calls `ended` when another tab has ended a login with this topic; returns a function that stops listening. */
export function onLoginEnd(topic: string, ended: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    if (data === topic) ended();
  };
  return () => channel.close();
}
