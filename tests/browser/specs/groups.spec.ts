/** Groups and chains: two people and three agents on three machines; a chain whose gate the other person answers on a phone. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import type { Machine, Person } from "../house/server";
import { expect, expectAccessible, isAfterTool, lastOfUser, picture, signedIn, test as base } from "../house/test";

interface Team {
  bob: Person;
  desk: Machine;
  /** Alice's group "Work": @coder on her laptop, @tester on her tower, and bob's @writer on his machine "desk", which she may ask. */
  group: number;
}

const test = base.extend<{ team: Team }>({
  team: async ({ server, alice, laptop }, use) => {
    void laptop;
    const bob = await server.person("bob");
    const [desk] = await Promise.all([bob.machine("desk"), alice.machine("tower")]);
    const { id: group } = await alice.json(["group", "create", "Work"]);
    const at = String(group);
    await alice.run(["group", "add-person", at, "bob"]);
    await alice.run(["group", "add-agent", at, "coder", "--on", "laptop", "--approval", "full"]);
    await alice.run(["group", "add-agent", at, "tester", "--on", "tower", "--approval", "full"]);
    await bob.run(["group", "add-agent", at, "writer", "--on", "desk", "--approval", "full"]);
    await bob.run(["group", "grant", at, "writer", "alice", "--mode", "own"]);
    await use({ bob, desk, group });
    await bob.close();
  },
});

const entries = (page: Page) => page.getByTestId("entry");
const steps = (page: Page) => page.getByTestId("run-step");
const openGroup = (page: Page) => page.getByTestId("group").getByRole("button", { name: "Work" }).click();

/** A file's text; empty while the file does not exist. */
const readIfThere = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** A script with which agents repeat the last line of the request; a request with "wait" runs until it is stopped. */
function echo(asked: Parameters<typeof lastOfUser>[0]) {
  const line = lastOfUser(asked).split("\n").at(-1) ?? "";
  return line.includes("wait") ? { stream: never() } : { say: `heard: ${line}` };
}

async function* never(): AsyncIterable<string> {
  yield "one moment";
  await new Promise(() => {});
}

test("people and agents talk in a group: handles are completed, answers arrive live, and asking without permission fails", async ({ page, browser, model, team }) => {
  model.answers(echo);
  await openGroup(page);
  await expect(page.getByRole("heading", { name: "Work", level: 1 })).toBeVisible();
  const field = page.getByLabel("Message", { exact: true });
  await field.pressSequentially("@wr");
  await expect(page.getByRole("option", { name: "@writer desk" })).toBeVisible();
  await field.press("Enter");
  await expect(field).toHaveValue("@writer ");
  await field.pressSequentially("say hello");
  await field.press("Enter");
  await expect(entries(page)).toHaveCount(2);
  await expect(entries(page).last()).toContainText("@writer · desk");
  await expect(entries(page).last()).toContainText("say hello");
  await field.fill("nobody in particular");
  await field.press("Enter");
  await expect(page.getByText("nobody was asked: mention an agent with @handle, or choose a lead agent")).toBeVisible();

  // Bob sees the same log, and may not ask alice's agents.
  const { page: bobs, errors } = await signedIn(browser, team.bob, `/#/groups/${team.group}`);
  await expect(entries(bobs)).toHaveCount(3);
  await bobs.getByLabel("Message", { exact: true }).fill("@coder do something");
  await bobs.getByRole("button", { name: "Send" }).click();
  await expect(bobs.getByText("has not let you ask it", { exact: false }).first()).toBeVisible();
  await expect(entries(page).last()).toContainText("@coder do something");

  // The person who asked stops a call that is waiting.
  await field.fill("@coder wait for ever");
  await field.press("Enter");
  await expect(page.getByTestId("call")).toContainText("@coder is working on laptop for alice");
  await page.getByRole("button", { name: "Stop @coder" }).click();
  await expect(page.getByTestId("call")).toHaveCount(0);
  await expectAccessible(page);
  await picture(page, "group");
  expect(errors).toEqual([]);
  await bobs.context().close();
});

test("a chain is created as a list, another person answers its gate on a phone, and the run is replayed", async ({ page, browser, model, team }) => {
  model.answers(echo);
  await openGroup(page);
  await page.getByRole("navigation", { name: "Parts of the group" }).getByRole("link", { name: "Chains" }).click();
  await page.getByRole("button", { name: "New chain" }).click();
  await page.getByLabel("Name of the chain").fill("story");
  await page.getByLabel("Agent of step 1").selectOption("tester");
  await page.getByLabel("Instruction of step 1").fill("check it");
  await page.getByRole("button", { name: "Add step" }).click();
  await page.getByLabel("Agent of step 2").selectOption("writer");
  await page.getByLabel("Instruction of step 2").fill("write it");
  await page.getByTestId("step").nth(1).getByLabel("Ask a person before the next step").check();
  // The writer's step is dragged to the top by its grip, and moved down and up again with the buttons.
  await page.getByTestId("grip").nth(1).dragTo(page.getByTestId("step").nth(0));
  await expect(page.getByLabel("Instruction of step 1")).toHaveValue("write it");
  await page.getByRole("button", { name: "Move step 1 down" }).click();
  await expect(page.getByLabel("Instruction of step 1")).toHaveValue("check it");
  await page.getByRole("button", { name: "Move step 2 up" }).click();
  await page.getByLabel("Tokens").fill("5,000");
  await page.getByRole("button", { name: "Show as text" }).click();
  const text = page.getByLabel("Steps as text");
  const written = "1. @writer: write it [gate]\n2. @tester: check it\nbudget: 5000 tokens\n";
  await expect(text).toHaveValue(written);
  await page.getByLabel("Read from a file").fill("chains/absent.md");
  await page.getByRole("button", { name: "Read", exact: true }).click();
  await expect(page.getByRole("alert").filter({ hasText: "chains/absent.md cannot be read" })).toBeVisible();
  await expect(text).toHaveValue(written);
  await text.fill("1. @writer: write it [gate]\n2. @tester: check it\n3. @nobody: go\n");
  await expect(page.getByText("Not in this group: @nobody.", { exact: false })).toBeVisible();
  await text.fill("1. @writer: write it [gate]\n2. @tester: check it\n3. @coder: build it\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expectAccessible(page);

  await page.getByLabel("Request").fill("a story about rain");
  await page.getByRole("button", { name: "Run story" }).click();
  await expect(steps(page)).toHaveCount(3);
  await expect(steps(page).nth(0)).toContainText("@writer · desk");
  await expect(page.getByTestId("gate")).toContainText("Step 1 (@writer) is done");
  const address = new URL(page.url()).hash;

  const { page: bobs, errors } = await signedIn(browser, team.bob);
  await bobs.goto(`/${address}`);
  await bobs.setViewportSize({ width: 390, height: 844 });
  const gate = bobs.getByTestId("gate");
  await expect(gate).toContainText("heard:");
  await picture(bobs, "gate");
  await gate.getByRole("button", { name: "Do it again" }).click();
  await gate.getByLabel("What to change").fill("make it shorter");
  await gate.getByRole("button", { name: "Do it again" }).click();
  await expect(steps(bobs).nth(0)).toContainText("2 attempts");
  await expectAccessible(bobs);
  // The first answer counts: alice's page still shows the question, and her answer gets an error that names who answered.
  await expect(page.getByTestId("gate")).toBeVisible();
  await bobs.getByTestId("gate").getByRole("button", { name: "Approve" }).click();
  await expect(bobs.getByTestId("run-state")).toHaveText("done");
  await expect(page.getByTestId("run-state")).toHaveText("done");
  await page.reload();
  await expect(steps(page).nth(2)).toContainText("@coder · laptop");
  await page.getByRole("button", { name: "Replay" }).click();
  const replay = page.getByTestId("replay");
  await expect(replay).toContainText("write it");
  await replay.getByRole("button", { name: "Next step" }).click();
  await replay.getByRole("button", { name: "Next step" }).click();
  await expect(replay).toContainText("build it");
  await expect(replay.getByRole("button", { name: "Next step" })).toBeDisabled();
  await expectAccessible(page);
  await picture(page, "run");
  expect(errors).toEqual([]);
  await bobs.context().close();
});

test("a scenario: a mention, a chain with a gate answered on a phone, a file handed over, a killed server, a replay and a stop", async ({ page, browser, server, model, alice, laptop, team }) => {
  // The change that bob requests at the gate is made on her machine.
  await alice.run(["group", "grant", String(team.group), "coder", "bob", "--mode", "own"]);
  let attempts = 0;
  let isKilled = false;
  model.answers((asked) => {
    const system = String(asked.messages[0]?.content);
    const result = String(asked.messages.at(-1)?.content);
    if (system.includes("You are @coder")) {
      if (isAfterTool(asked)) return { say: "It is measured." };
      // The first attempt creates no report.
      attempts += 1;
      return attempts === 1 ? { say: "It rains." } : { call: [["Shell", { command: "mkdir -p report && printf '12 mm' > report/rain.txt" }]] };
    }
    if (system.includes("You are @writer")) {
      if (!isAfterTool(asked)) return { call: [["Shell", { command: "cat handed/1/1/report/rain.txt; echo once >> read.log" }]] };
      return isKilled ? { say: `It says ${result.includes("12 mm") ? "12 mm" : "nothing"}.` } : { stream: never() };
    }
    return echo(asked);
  });
  await openGroup(page);
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("@tester are you there?");
  await field.press("Enter");
  await expect(entries(page).last()).toContainText("@tester · tower");
  const parts = page.getByRole("navigation", { name: "Parts of the group" });
  await parts.getByRole("link", { name: "Chains" }).click();
  await page.getByRole("button", { name: "New chain" }).click();
  await page.getByLabel("Name of the chain").fill("rain");
  for (const [number, agent, instruction] of [["1", "coder", "measure the rain"], ["2", "writer", "write about the report"], ["3", "tester", "check it"]] as const) {
    if (number !== "1") await page.getByRole("button", { name: "Add step" }).click();
    await page.getByLabel(`Agent of step ${number}`).selectOption(agent);
    await page.getByLabel(`Instruction of step ${number}`).fill(instruction);
  }
  await page.getByTestId("step").nth(0).getByLabel("Files for the next step").fill("report/");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByLabel("Request").fill("the rain of today");
  await page.getByRole("button", { name: "Run rain" }).click();
  await expect(page.getByTestId("gate")).toContainText("report");
  await expect(steps(page).nth(0)).toHaveAttribute("data-state", "asking");

  // Bob asks for another attempt, on a phone.
  const { page: bobs, errors } = await signedIn(browser, team.bob);
  await bobs.setViewportSize({ width: 390, height: 844 });
  await bobs.goto(`/${new URL(page.url()).hash}`);
  const gate = bobs.getByTestId("gate");
  await gate.getByRole("button", { name: "Do it again" }).click();
  await gate.getByLabel("What to change").fill("make the report");
  await gate.getByRole("button", { name: "Do it again" }).click();

  // The server is killed while the writer answers: after a reload the panel is correct, and the run continues.
  await expect.poll(() => readIfThere(join(team.desk.workspace, "read.log"))).toBe("once\n");
  isKilled = true;
  await server.restart("SIGKILL");
  await page.reload();
  await expect(steps(page).nth(0)).toContainText("2 attempts");
  await expect(steps(page).nth(0)).toHaveAttribute("data-state", "done");
  for (const of of [page, bobs]) {
    await expect(of.getByTestId("run-state")).toHaveText("done", { timeout: 60_000 });
    await expect(steps(of).nth(0)).toContainText("2 attempts");
    await expect(steps(of).nth(1)).toContainText("received files in handed/1/1");
    await expect(steps(of).nth(2)).not.toContainText("received files");
  }
  await expectAccessible(bobs);
  expect(readFileSync(join(team.desk.workspace, "read.log"), "utf8")).toBe("once\n");
  expect(readFileSync(join(team.desk.workspace, "handed/1/1/report/rain.txt"), "utf8")).toBe("12 mm");
  expect(existsSync(join(laptop.workspace, "handed"))).toBe(false);
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByRole("button", { name: "Next step" }).click();
  await expect(page.getByTestId("replay")).toContainText("It says 12 mm.");
  await parts.getByRole("link", { name: "Log" }).click();
  await expect(entries(page).filter({ hasText: "Step 1 (@coder) handed files to @writer" })).toContainText("desk");
  await field.fill("@tester wait for the rain");
  await field.press("Enter");
  await page.getByRole("button", { name: "Stop @tester" }).click();
  await expect(page.getByTestId("call")).toHaveCount(0);
  expect(errors).toEqual([]);
  await bobs.context().close();
});

test("a run is stopped, and the members of a group are managed", async ({ page, model, team }) => {
  model.answers(echo);
  void team;
  await openGroup(page);
  const parts = page.getByRole("navigation", { name: "Parts of the group" });
  await parts.getByRole("link", { name: "Chains" }).click();
  await page.getByRole("button", { name: "New chain" }).click();
  // A template uses the matching agents of the group, and names those that are missing.
  await page.getByLabel("Begin with").selectOption("Change to a program");
  await expect(page.getByLabel("Agent of step 2")).toHaveValue("coder");
  await expect(page.getByText("Not in this group: @planner, @reviewer.", { exact: false })).toBeVisible();
  await page.getByLabel("Instruction of step 1").fill("plan it");
  await page.getByLabel("Begin with").selectOption("Article");
  await expect(page.getByRole("group", { name: "Replace what you have written with Article?" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Keep mine" }).click();
  await expect(page.getByLabel("Instruction of step 1")).toHaveValue("plan it");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "New chain" }).click();
  await page.getByLabel("Name of the chain").fill("slow");
  await page.getByLabel("Instruction of step 1").fill("wait");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByLabel("Request").fill("anything to wait for");
  await page.getByRole("button", { name: "Run slow" }).click();
  await expect(steps(page).first()).toHaveAttribute("data-state", "running");
  await page.getByRole("button", { name: "Stop the run" }).click();
  await expect(page.getByTestId("run-state")).toHaveText("stopped");
  await page.getByRole("link", { name: "All chains and runs" }).click();
  await expect(page.getByTestId("run")).toHaveAttribute("data-state", "stopped");

  await parts.getByRole("link", { name: "Members" }).click();
  await page.getByLabel("Access of bob").selectOption("reader");
  await expect(page.getByLabel("Access of bob")).toHaveValue("reader");
  await page.getByRole("button", { name: "Make lead: @tester" }).click();
  await expect(page.getByTestId("agent").filter({ hasText: "@tester" })).toContainText("lead");
  await page.getByLabel("Handle").fill("helper");
  await page.getByLabel("Machine").selectOption("tower");
  await page.getByRole("button", { name: "Add agent" }).click();
  await expect(page.getByTestId("agent")).toHaveCount(4);
  await page.getByTestId("agent").filter({ hasText: "@helper" }).getByText("0 other people may ask it").click();
  await page.getByRole("button", { name: "Let bob ask @helper" }).click();
  await expect(page.getByTestId("agent").filter({ hasText: "@helper" })).toContainText("1 other person may ask it");
  await page.getByRole("button", { name: "Remove @helper" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByTestId("agent")).toHaveCount(3);
  await expect(page.getByRole("region", { name: "On messengers" })).toContainText("No conversation is linked to this group.");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Delete the group" }).click();
  await page.getByRole("group", { name: /^Delete Work/ }).getByRole("button", { name: "Delete the group" }).click();
  await expect(page.getByTestId("group")).toHaveCount(0);
});
