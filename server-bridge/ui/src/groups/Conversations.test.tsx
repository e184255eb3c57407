// @vitest-environment jsdom
import { cleanup, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { press, showSection } from "../settings/fixtures";
import { Conversations } from "./Conversations";
import type { Conversation, Group } from "./types";

afterEach(cleanup);

const group: Group = { id: 7, title: "Work", access: "owner", lead: null, people: [], agents: [], updated_at: 0 };
const one = (id: string, conversation: string, mayEnd: boolean): Conversation => ({
  id,
  channel: "phone",
  kind: "telegram",
  messenger: "Telegram",
  conversation,
  bound_by: "bob",
  since: Date.UTC(2026, 4, 1),
  may_end: mayEnd,
});
const rows = () => screen.queryAllByTestId("conversation").map((row) => row.textContent ?? "");

test("the conversations that show the log are listed, and ending one requires a confirmation", async () => {
  let all = [one("a1", "-100", true), one("b2", "-200/7", false)];
  const client = await showSection(<Conversations group={group} />, (method) => {
    if (method === "DELETE") all = all.slice(1);
    return all;
  });
  await waitFor(() => expect(rows().length).toBe(2));
  expect(rows()[0]).toMatch(/^Telegram conversation -100, channel phone since .*2026.*, by bob/);
  expect(screen.queryByRole("button", { name: "Stop showing the log on Telegram: -200/7" })).toBeNull();
  await press("Stop showing the log on Telegram: -100");
  expect(client.DELETE).not.toHaveBeenCalled();
  await press("Stop showing");
  expect(client.DELETE.mock.calls).toEqual([["/api/v1/groups/{group}/conversations/{id}", { params: { path: { group: 7, id: "a1" } } }]]);
  await waitFor(() => expect(rows().length).toBe(1));
});

test("a conversation that has ended meanwhile is no longer listed, and the reason is shown", async () => {
  let all = [one("a1", "-100", true)];
  await showSection(<Conversations group={group} />, (method) => {
    if (method !== "DELETE") return all;
    all = [];
    throw new Error("it does not belong to the group");
  });
  await screen.findByTestId("conversation");
  await press("Stop showing the log on Telegram: -100");
  await press("Stop showing");
  await waitFor(() => expect(rows()).toEqual([]));
  expect(screen.getByText("it does not belong to the group")).toBeTruthy();
});
