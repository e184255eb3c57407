import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, run, say, test } from "../house/test";

const button = (page: Page) => page.getByRole("button", { name: /^Active runner/ });

async function choose(page: Page, name: string): Promise<void> {
  await button(page).click();
  await page.getByRole("menuitemradio", { name, exact: true }).click();
  await expect(button(page)).toHaveAccessibleName(new RegExp(`^Active runner: ${name}`));
}

test("a machine joins with the pasted command, becomes the active one, and commands run there until it is revoked", async ({ page, laptop }) => {
  const [workspace, state] = ["workspace", "state"].map((name) => mkdtempSync(join(tmpdir(), `sandbridge-${name}-`)));
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Runners" }).click();
  await page.getByLabel("Runner name").fill("third");
  await page.getByRole("button", { name: "Add runner" }).click();
  await expect(page.getByText("Waiting for third to connect…")).toBeVisible();
  await expectAccessible(page);
  const command = (await page.getByTestId("runner-command").innerText()).trim();
  const token = await page.getByTestId("runner-token").textContent();
  expect(command).toContain(token);
  const pasted = `${command} --prefix '${state}' --workspace '${workspace}' --state-dir '${state}'`;
  const machine = spawn("sh", ["-c", pasted], { stdio: "ignore", detached: true });
  try {
    await expect(page.getByText("third is connected.")).toBeVisible();
    await page.keyboard.press("Escape");
    await choose(page, "third");
    expect(await run(page, "!pwd")).toContain(workspace);
    await choose(page, "laptop");
    expect(await run(page, "!pwd")).toContain(laptop.workspace);
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Runners" }).click();
    await page.getByRole("button", { name: "Revoke third" }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await expect(page.locator("[data-testid=runner][data-name=third]")).toHaveCount(0);
  } finally {
    if (machine.pid !== undefined && machine.exitCode === null) process.kill(-machine.pid, "SIGTERM");
    for (const directory of [workspace, state]) if (directory) rmSync(directory, { recursive: true, force: true });
  }
});

test("a chat bound to a machine shows that and runs there, whatever runner is active", async ({ page, alice, laptop }) => {
  const desktop = await alice.machine("desktop");
  await choose(page, "laptop");
  await run(page, "!true");
  await button(page).click();
  await page.getByRole("menuitem", { name: "Only this chat…" }).press("ArrowRight");
  await page.getByRole("menuitemradio", { name: "desktop", exact: true }).last().click();
  await expect(button(page)).toHaveAccessibleName(/^Active runner: desktop/);
  expect(await run(page, "!pwd")).toContain(desktop.workspace);
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(button(page)).toHaveAccessibleName(/^Active runner: laptop/);
  expect(await run(page, "!pwd")).toContain(laptop.workspace);
});

test("a running command is cancelled from the chat", async ({ page }) => {
  await say(page, "!echo started; sleep 300");
  await expect(page.getByText("started", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).first().click();
  await expect(page.locator("[data-testid=message][data-status=cancelled]")).toBeVisible();
});

test("the place of the next command shows that its machine is offline", async ({ page, laptop }) => {
  await choose(page, "laptop");
  await laptop.stop();
  await expect(page.getByTestId("where")).toHaveAttribute("data-state", "offline");
  await expect(page.getByText("Offline: start the runner there, or choose another")).toBeVisible();
  laptop.start();
  await expect(page.getByTestId("where")).toHaveAttribute("data-state", "online");
});

test("a runner's layers of confinement are one line that unfolds, and only missing ones are shown at once", async ({ page, alice }) => {
  const [runner] = (await alice.json(["runner", "list"])) as { layers: { name: string; holds: boolean; by_choice: boolean }[] }[];
  const layers = runner?.layers ?? [];
  const wanted = layers.filter((layer) => layer.holds || !layer.by_choice);
  const missing = wanted.filter((layer) => !layer.holds);
  expect(layers.length).toBeGreaterThan(3);
  await page.goto("/#/settings/runners");
  const card = page.locator("[data-testid=runner][data-name=laptop]");
  const summary = card.getByText(missing.length === 0 ? "Confined, all layers" : `Confined by ${wanted.length - missing.length} of ${wanted.length} layers`);
  await expect(summary).toBeVisible();
  await expect(card.getByRole("list", { name: "Confinement" })).toBeHidden();
  await expect(card.getByRole("listitem")).toHaveCount(missing.length);
  await summary.click();
  await expect(card.getByRole("list", { name: "Confinement" }).getByRole("listitem")).toHaveCount(layers.length);
  for (const { name } of layers) await expect(card.getByRole("list", { name: "Confinement" })).toContainText(name);
  await expectAccessible(page);
});
