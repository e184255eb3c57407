// @vitest-environment jsdom
import { cleanup, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { press, showSection, write } from "../settings/fixtures";
import { RunPanel } from "./RunPanel";
import type { Group, Run, RunStep } from "./types";

afterEach(cleanup);

const group: Group = { id: 7, title: "Work", access: "member", lead: null, people: [], agents: [], updated_at: 0 };

const step = (agent: string, state: RunStep["state"], more: Partial<RunStep> = {}): RunStep => ({
  agent,
  instruction: `${agent} works`,
  gate: false,
  retries: 0,
  state,
  attempts: 1,
  runner: "desk",
  call_id: null,
  received: null,
  output: "",
  error: "",
  tokens: 1200,
  cost_micro_usd: 0,
  begun_at: 1000,
  ended_at: state === "done" ? 5000 : null,
  ...more,
});

const run = (more: Partial<Run> = {}): Run => ({
  id: 3,
  chain: "story",
  request: "rain",
  begun_by: "alice",
  state: "asking",
  steps: [step("writer", "asking", { output: "It **rained**." }), step("editor", "pending", { attempts: 0, tokens: 0, begun_at: null })],
  gate: { id: 5, step: 0, attempt: 1, kind: "review", question: "Does its output go on?", replies: ["approve", "edit", "redo", "stop"] },
  budget: null,
  tokens: 1200,
  cost_micro_usd: 0,
  created_at: 0,
  ended_at: null,
  ...more,
});

test("a gate shows the output that it asks about, and an edit begins with that output", async () => {
  const client = await showSection(<RunPanel group={group} number={3} />, (method) => (method === "GET" ? run() : run({ state: "running", gate: null })));
  expect((await screen.findByTestId("gate")).textContent).toContain("Does its output go on?It rained.");
  await press("Edit the output");
  expect((screen.getByLabelText("New output") as HTMLTextAreaElement).value).toBe("It **rained**.");
  write("New output", "It snowed.");
  await press("Edit the output");
  expect(client.POST.mock.calls[0]).toMatchObject(["/api/v1/groups/{group}/gates/{gate}", { params: { path: { group: 7, gate: 5 } }, body: { reply: "edit", text: "It snowed." } }]);
  await waitFor(() => expect(screen.queryByTestId("gate")).toBeNull());
});

test("the second person to answer gets an error, and sees the current run", async () => {
  let answered = false;
  await showSection(<RunPanel group={group} number={3} />, (method) => {
    if (method === "GET") return answered ? run({ state: "running", gate: { ...run().gate!, id: 6, question: "And the next one?" } }) : run();
    answered = true;
    throw new Error("bob answered already: approve");
  });
  await screen.findByTestId("gate");
  await press("Approve");
  await screen.findByText("And the next one?");
  expect(screen.getByText("bob answered already: approve")).toBeTruthy();
});

test("a reader sees a run at a gate without the gate's buttons, and everybody can replay it", async () => {
  await showSection(<RunPanel group={{ ...group, access: "reader" }} number={3} />, () => run());
  await screen.findByText("Run 3 of story");
  expect(screen.queryByTestId("gate")).toBeNull();
  expect(screen.queryByRole("button", { name: "Stop the run" })).toBeNull();
  await press("Replay");
  expect(screen.getByTestId("replay").textContent).toContain("writer works");
  await press("Next step");
  expect(screen.getByTestId("replay").textContent).toContain("Nothing yet.");
});
