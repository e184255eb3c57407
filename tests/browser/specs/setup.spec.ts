import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import type { Page } from "@playwright/test";
import { test as base } from "@playwright/test";
import { ScriptedModel } from "../house/model";
import { binary } from "../house/process";
import { Server, temporary } from "../house/server";
import { complaints, composer, expect, expectAccessible, PASSWORD, picture } from "../house/test";

/** A server without any account, and a page at the address that it printed. */
const test = base.extend<{ model: ScriptedModel; server: Server; fresh: Page }>({
  model: async ({}, use) => {
    const model = await ScriptedModel.start();
    await use(model);
    await model.close();
  },
  server: async ({}, use) => {
    const server = new Server([]);
    await server.start();
    await use(server);
    await server.close();
  },
  fresh: async ({ browser, server }, use) => {
    const context = await browser.newContext({ baseURL: server.url, locale: "en-GB", reducedMotion: "reduce" });
    const page = await context.newPage();
    const errors = complaints(page);
    await use(page);
    await context.close();
    expect(errors).toEqual([]);
  },
});

async function createAccount(page: Page): Promise<void> {
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByLabel("Password again").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account" }).click();
}

test("the first run leads from the secret that was printed to a first command on a first machine", async ({ fresh: page, server, model }) => {
  const secret = await server.setupSecret();
  await page.goto(`/#setup=${secret}`);
  await page.getByLabel("Name").fill("ada");
  await expect(page.getByLabel("Set-up secret")).toHaveCount(0);
  await expectAccessible(page);
  await picture(page, "setup-account");
  await createAccount(page);

  await expect(page.getByRole("heading", { name: "Which model should work for you?" })).toBeVisible();
  model.answersWith({ say: "pong" });
  await expectAccessible(page);
  await picture(page, "setup-model");
  await page.getByLabel("Name", { exact: true }).fill("mine");
  await page.getByLabel("Address").fill(model.options()[3] ?? "");
  await page.getByRole("textbox", { name: "Balance" }).fill("scripted");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("scripted answered: pong")).toBeVisible();
  await page.getByRole("button", { name: "Continue" }).click();

  await page.getByRole("button", { name: "Show the command" }).click();
  await expect(page.getByText("Waiting for laptop to connect…")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "setup-runner");
  const command = (await page.getByTestId("runner-command").innerText()).trim();
  const [workspace, state] = [temporary("ws"), temporary("state")];
  const pasted = `${command.replace("sandbridge-runner", `'${binary("sandbridge-runner")}'`)} --workspace '${workspace}' --state-dir '${state}'`;
  const machine = spawn("sh", ["-c", pasted], { stdio: "ignore", detached: true });
  try {
    await expect(page.getByText("laptop is connected.")).toBeVisible();
    await page.getByRole("button", { name: /^Run a first command/ }).click();
    await composer(page).waitFor();
    await expect(page.getByText(workspace)).toBeVisible();
    await expect(page.getByRole("button", { name: /^Active runner: laptop/ })).toBeVisible();
  } finally {
    if (machine.pid !== undefined) process.kill(-machine.pid, "SIGTERM");
    for (const directory of [workspace, state]) rmSync(directory, { recursive: true, force: true });
  }
});

test("without the address the secret is asked for, a wrong one makes no account, and everything after it can wait", async ({ fresh: page, server }) => {
  const secret = await server.setupSecret();
  await page.goto("/");
  await page.getByLabel("Set-up secret").fill("not-the-secret");
  await createAccount(page);
  await expect(page.getByRole("alert").filter({ hasText: /./ })).toBeVisible();
  await page.getByLabel("Set-up secret").fill(secret);
  await createAccount(page);
  await page.getByRole("button", { name: "Skip: I will add one later" }).click();
  await page.getByRole("button", { name: "Skip: take me to the chat" }).click();
  await composer(page).waitFor();
  await page.reload();
  await composer(page).waitFor();
  await page.getByRole("button", { name: "Connect a machine" }).first().click();
  await expect(page.getByRole("heading", { name: "Runners" })).toBeVisible();
});
