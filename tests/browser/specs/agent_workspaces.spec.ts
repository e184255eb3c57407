/** Workspaces of agents: documents from a template, edited before they are created; an offline machine; missing documents, created later. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, picture, test } from "../house/test";

const NAMES = ["SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md"];

async function openMembers(page: Page): Promise<void> {
  await page.getByTestId("group").getByRole("button", { name: "Work" }).click();
  await page.getByRole("navigation", { name: "Parts of the group" }).getByRole("link", { name: "Members" }).click();
}

const agent = (page: Page, handle: string) => page.getByTestId("agent").filter({ hasText: `@${handle}` });

test("an agent is created with an edited SOUL.md in its workspace, and answers accordingly", async ({ page, alice, laptop, model }) => {
  const { id: group } = await alice.json(["group", "create", "Work"]);
  model.answers((asked) => ({ say: String(asked.messages[0]?.content).includes("> You love blue umbrellas.") ? "Umbrellas!" : "Nothing." }));
  await openMembers(page);
  await page.getByLabel("Handle").fill("reviewer");
  await page.getByLabel("Documents", { exact: true }).selectOption("Reviewer");
  await expect(page.getByText("finds faults in changes, and changes nothing itself")).toBeVisible();
  await expect(page.getByLabel("Folder")).toHaveValue("agents/reviewer");
  const soul = page.getByLabel("SOUL.md");
  await expect(soul).toHaveValue(/^# How you work/);
  await soul.fill("You love blue umbrellas.\n");
  await page.getByLabel("USER.md").fill("");
  await expectAccessible(page);
  await picture(page, "agent-form");
  await page.getByRole("button", { name: "Add agent" }).click();
  await expect(agent(page, "reviewer")).toBeVisible();
  await expect(page.getByLabel("SOUL.md")).toHaveCount(0);
  const folder = join(laptop.workspace, "agents/reviewer");
  await expect.poll(() => existsSync(join(folder, "TOOLS.md"))).toBe(true);
  expect(readFileSync(join(folder, "SOUL.md"), "utf8")).toBe("You love blue umbrellas.\n");
  expect(readFileSync(join(folder, "IDENTITY.md"), "utf8")).toContain("You are the reviewer of this group");
  expect(existsSync(join(folder, "USER.md"))).toBe(false);

  // A document that was left out is created later; existing documents stay unchanged.
  const card = agent(page, "reviewer");
  await card.getByText("Workspace: agents/reviewer").click();
  const rows = card.getByTestId("workspace-file");
  await expect(rows.filter({ hasText: "USER.md" })).toHaveAttribute("data-state", "missing");
  await expect(rows.and(card.locator("[data-state=present]"))).toHaveCount(3);
  await card.getByLabel("Documents", { exact: true }).selectOption("Your own texts");
  await expect(card.getByLabel("SOUL.md")).toHaveCount(0);
  await card.getByLabel("USER.md").fill("They like short answers.\n");
  await card.getByRole("button", { name: "Create missing files" }).click();
  await expect(rows.filter({ hasText: "USER.md" })).toContainText("just created");
  await expect(card.getByRole("button", { name: "Create missing files" })).toHaveCount(0);
  expect(readFileSync(join(folder, "USER.md"), "utf8")).toBe("They like short answers.\n");
  expect(readFileSync(join(folder, "SOUL.md"), "utf8")).toBe("You love blue umbrellas.\n");
  await expectAccessible(page);
  await picture(page, "agent-workspace");

  await alice.run(["group", "post", String(group), "@reviewer what do you love?"]);
  await page.getByRole("link", { name: "Log" }).click();
  await expect(page.getByTestId("entry").last()).toContainText("Umbrellas!");
});

test("if the machine is offline the agent is added and the texts stay; obstacles on the machine are named", async ({ page, alice }) => {
  await alice.json(["group", "create", "Work"]);
  const box = await alice.machine("box");
  await openMembers(page);
  await page.getByLabel("Handle").fill("builder");
  await page.getByLabel("Machine").selectOption("box");
  await page.getByLabel("Documents", { exact: true }).selectOption("Coder");
  await page.getByLabel("SOUL.md").fill("You build.\n");
  await box.stop();
  await alice.online("box", false);
  await page.getByRole("button", { name: "Add agent" }).click();
  const alert = page.getByRole("alert").filter({ hasText: "@builder was added, but its workspace is not complete" });
  await expect(alert).toContainText("runner box is offline");
  await expect(agent(page, "builder")).toBeVisible();
  await expect(page.getByLabel("SOUL.md")).toHaveValue("You build.\n");
  expect(existsSync(join(box.workspace, "agents"))).toBe(false);

  // In the meantime a document and a directory were created there.
  const folder = join(box.workspace, "agents/builder");
  mkdirSync(join(folder, "TOOLS.md"), { recursive: true });
  writeFileSync(join(folder, "IDENTITY.md"), "mine");
  box.start();
  await alice.online("box");
  await page.getByRole("button", { name: "Add agent" }).click();
  await expect(page.getByLabel("Handle")).toHaveValue("");
  const card = agent(page, "builder");
  await card.getByText("Workspace: agents/builder").click();
  const row = (name: string) => card.getByTestId("workspace-file").filter({ hasText: name });
  await expect(row("SOUL.md")).toHaveAttribute("data-state", "present");
  await expect(row("TOOLS.md")).toContainText("it is not a file");
  expect(readFileSync(join(folder, "SOUL.md"), "utf8")).toBe("You build.\n");
  expect(readFileSync(join(folder, "IDENTITY.md"), "utf8")).toBe("mine");
  await expectAccessible(page);

  // Put a file in place of the folder.
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "a file");
  await page.reload();
  await card.getByText("Workspace: agents/builder").click();
  await expect(card.getByRole("alert").filter({ hasText: "a file has this name; choose another folder" })).toBeVisible();
  expect(NAMES.some((name) => existsSync(join(box.workspace, name)))).toBe(false);
});
