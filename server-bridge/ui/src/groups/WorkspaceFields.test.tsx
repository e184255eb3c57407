// @vitest-environment jsdom
import { act, cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { press, showSection, write } from "../settings/fixtures";
import type { State } from "../state/state";
import { AgentForm } from "./AgentForm";
import { AgentWorkspace } from "./AgentWorkspace";
import type { Group, GroupAgent, Template, Workspace } from "./types";

afterEach(cleanup);

const NAMES = ["SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md"];
const group: Group = { id: 7, title: "Work", access: "owner", lead: null, people: [], agents: [], updated_at: 0 };
const agent: GroupAgent = {
  id: 3,
  handle: "coder",
  owner: "alice",
  runner: "laptop",
  online: true,
  approval: "ask",
  model: null,
  persona: "",
  tools: null,
  folder: "agents/coder",
  chat_id: null,
  may_ask: true,
  grants: [],
};
const template = (name: string): Template => ({ name, title: `The ${name}`, about: `does what a ${name} does`, files: NAMES.map((file) => ({ name: file, text: `${file} of a ${name}` })) });
const templates = [template("coder"), template("writer")];
const known: Partial<State> = { settings: { active_runner: null, choices: [{ name: "laptop", kind: "runner", available: false }] } as unknown as State["settings"] };
const field = (label: string) => screen.getByLabelText<HTMLTextAreaElement>(label);

test("an agent is added with the documents of a template, as they were edited", async () => {
  const onSaved = vi.fn(() => Promise.resolve());
  const client = await showSection(<AgentForm group={group} edited={null} onSaved={onSaved} />, (method, path) => (path === "/api/v1/agent-templates" ? templates : { method }), known);
  write("Handle", "@coder");
  expect(field("Folder").value).toBe("");
  write("Documents", "coder");
  expect(field("Folder").value).toBe("agents/coder");
  expect(field("SOUL.md").value).toBe("SOUL.md of a coder");
  write("SOUL.md", "You love umbrellas.");
  write("USER.md", "  ");
  await press("Add agent");
  expect(client.PUT.mock.lastCall).toMatchObject(["/api/v1/groups/{group}/agents/{handle}", { params: { path: { group: 7, handle: "coder" } }, body: { runner: "laptop", folder: "agents/coder" } }]);
  const [path, asked] = client.POST.mock.lastCall ?? [];
  expect(path).toBe("/api/v1/groups/{group}/agents/{handle}/workspace");
  expect(asked?.body).toEqual({
    files: [
      { name: "SOUL.md", text: "You love umbrellas." },
      { name: "IDENTITY.md", text: "IDENTITY.md of a coder" },
      { name: "TOOLS.md", text: "TOOLS.md of a coder" },
    ],
  });
  expect(onSaved).toHaveBeenCalledOnce();
  expect(screen.queryByLabelText("SOUL.md")).toBeNull();
});

test("an agent without documents is added without a workspace request, in the entered folder", async () => {
  const client = await showSection(<AgentForm group={group} edited={null} onSaved={() => Promise.resolve()} />, (_, path) => (path === "/api/v1/agent-templates" ? templates : {}), known);
  write("Handle", "coder");
  write("Folder", "work/here");
  await press("Add agent");
  expect(client.PUT.mock.lastCall).toMatchObject([expect.any(String), { body: { folder: "work/here" } }]);
  expect(client.POST).not.toHaveBeenCalled();
});

test("if the machine is offline, the form reports that the agent was added, and keeps the texts for another attempt", async () => {
  let isAway = true;
  const onSaved = vi.fn(() => Promise.resolve());
  const answer = (method: string, path: string) => {
    if (method === "POST" && isAway) throw new Error("runner laptop is offline");
    return path === "/api/v1/agent-templates" ? templates : {};
  };
  const client = await showSection(<AgentForm group={group} edited={null} onSaved={onSaved} />, answer, known);
  write("Handle", "coder");
  write("Documents", "own");
  write("SOUL.md", "You love umbrellas.");
  await press("Add agent");
  expect(screen.getByText(/^@coder was added, but its workspace is not complete: runner laptop is offline/)).toBeTruthy();
  expect(field("SOUL.md").value).toBe("You love umbrellas.");
  expect(onSaved).not.toHaveBeenCalled();
  isAway = false;
  await press("Add agent");
  expect(client.POST).toHaveBeenCalledTimes(2);
  expect(client.POST.mock.lastCall).toMatchObject([expect.any(String), { body: { files: [{ name: "SOUL.md", text: "You love umbrellas." }] } }]);
  expect(onSaved).toHaveBeenCalledOnce();
});

test("the workspace of an agent shows which documents exist, and creates the missing ones", async () => {
  const file = (name: string, state: "present" | "missing" | "blocked", made = false) => ({ name, state, size_bytes: state === "present" ? 5 : null, reason: state === "blocked" ? "it is not a file" : "", made });
  const before: Workspace = { runner: "laptop", folder: "agents/coder", exists: true, files: [file("IDENTITY.md", "present"), file("SOUL.md", "missing"), file("USER.md", "missing"), file("TOOLS.md", "blocked")] };
  const after: Workspace = { ...before, files: [file("IDENTITY.md", "present"), file("SOUL.md", "present", true), file("USER.md", "present", true), file("TOOLS.md", "blocked")] };
  let now = before;
  const answer = (method: string, path: string) => {
    if (path === "/api/v1/agent-templates") return templates;
    if (method === "POST") now = after;
    return now;
  };
  const client = await showSection(<AgentWorkspace group={group} agent={agent} />, answer);
  expect(client.GET).not.toHaveBeenCalled();
  const details = screen.getByText("Workspace: agents/coder").closest("details");
  if (details === null) throw new Error("there is no workspace");
  await act(async () => {
    details.open = true;
    fireEvent(details, new Event("toggle"));
  });
  await screen.findByLabelText("Documents");
  const rows = () => screen.getAllByTestId("workspace-file").map((row) => row.textContent);
  expect(rows()).toEqual(["IDENTITY.md present", "SOUL.md missing", "USER.md missing", "TOOLS.md blockedit is not a file"]);
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Create missing files" });
  expect(button.disabled).toBe(true);
  write("Documents", "writer");
  // Documents that exist are not offered.
  expect(screen.queryByLabelText("IDENTITY.md")).toBeNull();
  await press("Create missing files");
  const [, asked] = client.POST.mock.lastCall ?? [];
  expect(asked?.body).toEqual({ files: ["SOUL.md", "USER.md"].map((name) => ({ name, text: `${name} of a writer` })) });
  await waitFor(() => expect(screen.queryByRole("button", { name: "Create missing files" })).toBeNull());
  expect(rows()).toEqual(["IDENTITY.md present", "SOUL.md just created", "USER.md just created", "TOOLS.md blockedit is not a file"]);
});
