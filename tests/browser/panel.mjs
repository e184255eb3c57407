// The four journeys in a real browser: connect a runner, register its token, switch the active one, run a command in chat.
// Environment: URL, PASSWORD, LAPTOP and DESKTOP (workspaces of alice's two runners), RUNNER (the runner's program),
// SCREENSHOTS (a directory, optional).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { URL: url, PASSWORD: password, LAPTOP: laptop, DESKTOP: desktop, RUNNER: runner, SCREENSHOTS: screenshots } = process.env;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function signIn(name) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text())) errors.push(message.text());
  });
  await page.goto(url);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Message", { exact: true }).waitFor();
  return { page, errors };
}

async function shot(page, name) {
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) });
}

// Sends a chat text and gives the text of the exec message that answers it, once it has ended.
async function run(page, text) {
  const before = await page.locator('[data-testid=message][data-role=exec]').count();
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
  const answer = page.locator("[data-testid=message][data-role=exec]").nth(before);
  await answer.waitFor();
  await page.waitForFunction(
    (at) => document.querySelectorAll("[data-testid=message][data-role=exec]")[at]?.dataset.status !== "running",
    before,
  );
  return answer.innerText();
}

async function choose(page, name) {
  await page.getByRole("button", { name: "Settings" }).click();
  const radio = page.getByRole("radio", { name, exact: true });
  await radio.click();
  await page.waitForFunction((element) => element.checked, await radio.elementHandle());
  await page.keyboard.press("Escape");
}

// The shell and the runner share a group; a revoked runner has ended by itself.
function stop(child) {
  try {
    process.kill(-child.pid, "SIGTERM");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

const children = [];
const workspace = mkdtempSync(join(tmpdir(), "sandbridge-panel-"));
const state = mkdtempSync(join(tmpdir(), "sandbridge-panel-state-"));
try {
  const { page, errors } = await signIn("alice");
  for (const [name, directory] of [["laptop", laptop], ["desktop", desktop], ["laptop", laptop]]) {
    await choose(page, name);
    const said = await run(page, "!pwd");
    assert.ok(said.includes(directory), `${said} runs in ${directory}`);
    assert.ok(said.includes(name) && said.includes("exit 0"), said);
  }
  await shot(page, "chat");

  // Add a runner: the token is shown once, and the command that is shown connects it.
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Runner name").fill("third");
  await page.getByRole("button", { name: "Add runner" }).click();
  const token = (await page.getByTestId("runner-token").innerText()).trim();
  const command = (await page.getByTestId("runner-command").innerText()).trim();
  assert.ok(token.startsWith("sbr_") && command.includes(token) && command.includes("| sandbridge-runner "), command);
  await shot(page, "settings");
  const pasted = command.replace("sandbridge-runner", `'${runner}'`);
  children.push(spawn("sh", ["-c", `${pasted} --workspace '${workspace}' --state-dir '${state}'`], { stdio: "ignore", detached: true }));
  await page.locator('[data-testid=runner][data-name=third][data-online=true]').waitFor();
  await page.keyboard.press("Escape");
  await choose(page, "third");
  assert.ok((await run(page, "!pwd")).includes(workspace));

  // Messages stay over a reload; a failing command shows its code; output is live.
  await page.reload();
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.getByText(workspace).first().waitFor();
  assert.ok((await run(page, "!echo oops >&2; exit 3")).includes("exit 3"));
  await page.getByLabel("Message", { exact: true }).fill("!echo started; sleep 300");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("started", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("[data-testid=message][data-status=cancelled]").waitFor();

  // Revoke: it goes from the list and its socket is closed.
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Revoke third" }).click();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.locator('[data-testid=runner][data-name=third]').waitFor({ state: "detached" });

  // Another user sees only their own.
  const other = await signIn("bob");
  await other.page.getByRole("button", { name: "Settings" }).click();
  await other.page.locator('[data-testid=runner][data-name=workstation]').waitFor();
  assert.equal(await other.page.locator("[data-testid=runner]").count(), 1);
  assert.deepEqual([errors, other.errors], [[], []]);
} finally {
  for (const child of children) stop(child);
  await browser.close();
  for (const directory of [workspace, state]) rmSync(directory, { recursive: true, force: true });
}
