import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import type { Page } from "@playwright/test";
import { test as base } from "@playwright/test";
import { ScriptedModel } from "../house/model";
import { Server, temporary } from "../house/server";
import { complaints, composer, expect, expectAccessible, PASSWORD, picture, say, sessionOf } from "../house/test";

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

test("the first run leads from the printed secret to a first command on a first machine", async ({ fresh: page, server, model }) => {
  const secret = await server.setupSecret();
  await page.goto(`/#setup=${secret}`);
  await page.getByLabel("Name").fill("ada");
  await expect(page.getByLabel("Setup secret")).toHaveCount(0);
  await expectAccessible(page);
  await picture(page, "setup-account");
  await expect(page.getByLabel("Password", { exact: true })).toHaveAccessibleDescription("At least 8 characters.");
  await createAccount(page);

  await expect(page.getByRole("heading", { name: "Which model should answer you?" })).toBeVisible();
  // Tiers, prices and fallbacks are not part of the first steps.
  await expect(page.getByText("Vanguard")).toHaveCount(0);
  model.answersWith({ say: "pong" });
  model.key = "sk-right";
  await expectAccessible(page);
  await picture(page, "setup-model");
  await page.getByLabel("Address").fill(model.options()[3] ?? "");
  await page.getByLabel("API key").fill("sk-wrong");
  await page.getByLabel("Model", { exact: true }).fill("scripted");
  await page.getByRole("button", { name: "Try it and save" }).click();
  await expect(page.getByLabel("API key")).toBeFocused();
  await expect(page.getByLabel("API key")).toHaveAccessibleDescription(/Incorrect API key provided/);
  await expect(page.getByLabel("Address")).toHaveValue(model.options()[3] ?? "");
  await expect(page.getByLabel("Model", { exact: true })).toHaveValue("scripted");
  await expectAccessible(page);
  await picture(page, "setup-model-key");
  await page.getByLabel("API key").fill("sk-right");
  await page.getByLabel("Model", { exact: true }).focus();
  await expect(page.getByText("Choose one of the provider's models (2)")).toBeVisible();
  await expect(page.locator("datalist option[value=scripted-swift]")).toHaveCount(1);
  await page.getByRole("button", { name: "Try it and save" }).click();
  await expect(page.getByText("scripted answered: pong")).toBeVisible();
  await page.getByRole("button", { name: "Continue" }).click();

  await expect(page.getByText("Other machines cannot reach this server")).toBeVisible();
  await page.getByText("How to open it to other machines").click();
  await expect(page.getByText(/sandbridge serve --listen 0\.0\.0\.0:\d+ --tls-cert/)).toBeVisible();
  await expectAccessible(page);
  await page.getByText("How to open it to other machines").click();
  const [base, state] = [temporary("ws"), temporary("state")];
  const workspace = `${base}/my work`;
  mkdirSync(workspace);
  await page.getByLabel("Directory on that machine").fill(workspace);
  await page.getByRole("button", { name: "Show the command" }).click();
  await expect(page.getByText("Waiting for laptop to connect…")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "setup-runner");
  const command = (await page.getByTestId("runner-command").innerText()).trim();
  expect(command).toContain(` --workspace '${workspace}'`);
  const pasted = `${command} --prefix '${state}' --state-dir '${state}'`;
  const machine = spawn("sh", ["-c", pasted], { stdio: "ignore", detached: true });
  try {
    await expect(page.getByText("laptop is connected.")).toBeVisible();
    await page.getByRole("button", { name: /^Run a first command/ }).click();
    await composer(page).waitFor();
    await expect(page.getByText(workspace)).toBeVisible();
    await expect(page.getByRole("button", { name: /^Active runner: laptop/ })).toBeVisible();
  } finally {
    // If the machine's process has ended by itself, an error above shows why.
    if (machine.pid !== undefined && machine.exitCode === null) process.kill(-machine.pid, "SIGTERM");
    for (const directory of [base, state]) rmSync(directory, { recursive: true, force: true });
  }
});

test("without the address the secret is asked for, a wrong one creates no account, and later steps can be skipped", async ({ fresh: page, server }) => {
  const secret = await server.setupSecret();
  await page.goto("/");
  await page.getByLabel("Setup secret").fill("not-the-secret");
  await createAccount(page);
  await expect(page.getByRole("alert").filter({ hasText: /./ })).toBeVisible();
  await page.getByLabel("Setup secret").fill(secret);
  await createAccount(page);
  await page.getByRole("button", { name: "Skip: I will add one later" }).click();
  await page.getByRole("button", { name: "Skip: take me to the chat" }).click();
  await composer(page).waitFor();
  await page.reload();
  await composer(page).waitFor();
  await page.getByRole("button", { name: "Connect a machine" }).first().click();
  await expect(page.getByRole("heading", { name: "Runners" })).toBeVisible();
});

test("a second user sees the first steps once, and without a model the chat offers to add one", async ({ browser, server, model }) => {
  await server.person("ada");
  const bob = await server.person("bob");
  const context = await sessionOf(browser, bob, true);
  const page = await context.newPage();
  const errors = complaints(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Which model should answer you?" })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "Skip: I will add one later" }).press("Enter");
  await expect(page.getByText("Ask the administrator of this server")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await expectAccessible(page);
  const skipped = page.waitForResponse((answer) => answer.url().endsWith("/me/welcomed"));
  await page.getByRole("button", { name: "Skip: take me to the chat" }).press("Enter");
  expect((await skipped).ok()).toBe(true);
  await composer(page).waitFor();
  await page.reload();
  await composer(page).waitFor();
  // The steps are not shown in another browser, either.
  const other = await (await sessionOf(browser, bob, true)).newPage();
  await other.goto("/");
  await composer(other).waitFor();
  await other.context().close();

  const steps = page.getByRole("list", { name: "First steps" });
  await expect(steps.getByRole("button", { name: "Connect a runner" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "first-steps");
  await steps.getByRole("button", { name: "Add a model" }).click();
  await expect(page.getByRole("heading", { name: "Models", exact: true })).toBeVisible();
  await page.keyboard.press("Escape");
  await say(page, "hello");
  await expect(page.getByText("No model is set up, so you can only run commands.")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("status").getByRole("button", { name: "Add a model" }).click();
  await expect(page.getByRole("heading", { name: "Models", exact: true })).toBeVisible();
  // Bob is not an administrator: he may not use a model in the server's own network, and the address field says so.
  await page.getByRole("button", { name: "Add a subscription" }).click();
  const form = page.getByRole("form", { name: "Add a subscription" });
  await form.getByLabel("Name", { exact: true }).fill("mine");
  await form.getByLabel("Address").fill(model.options()[3] ?? "");
  await form.getByRole("combobox", { name: "Balance" }).fill("scripted");
  await form.getByRole("button", { name: "Save", exact: true }).click();
  await expect(form.getByLabel("Address")).toHaveAccessibleDescription(/own network/);
  expect(model.asked).toEqual([]);
  await context.close();
  expect(errors).toEqual([]);
  await bob.close();
});
