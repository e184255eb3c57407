// @vitest-environment jsdom
import { cleanup } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { press, showSection, write } from "../settings/fixtures";
import { AgentForm } from "./AgentForm";
import type { Group, GroupAgent } from "./types";

afterEach(cleanup);

const agent: GroupAgent = {
  id: 3,
  handle: "coder",
  owner: "alice",
  runner: "laptop",
  online: true,
  approval: "ask",
  model: null,
  persona: "",
  tools: ["Read", "mcp__git__*"],
  folder: "",
  chat_id: null,
  may_ask: true,
  grants: [],
};
const group: Group = { id: 7, title: "Work", access: "owner", lead: null, people: [], agents: [agent], updated_at: 0 };

test.each([
  ["Shell,Read  Grep，Glob", ["Shell", "Read", "Grep", "Glob"]],
  [" , ", ["*"]],
] as const)("the tools %j are saved as %j", async (text, tools) => {
  const client = await showSection(<AgentForm group={group} edited={agent} onSaved={() => Promise.resolve()} />, () => group);
  const field = document.querySelector<HTMLInputElement>("input[placeholder='all of yours']");
  expect(field?.value).toBe("Read, mcp__git__*");
  write("Tools", text);
  await press("Save");
  expect(client.PUT.mock.lastCall).toMatchObject(["/api/v1/groups/{group}/agents/{handle}", { body: { runner: "laptop", tools } }]);
});
