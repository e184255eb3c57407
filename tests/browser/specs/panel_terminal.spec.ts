import type { Page } from "@playwright/test";
import { composer, expect, expectAccessible, PASSWORD, picture, sessionOf, test } from "../house/test";
import { showPanel } from "../house/panels";

/** The limit on the longest frame during heavy output; or this fraction of the total, since everything is slower on a busy machine. */
const FRAME_MS = 1_000;
const FRAME_PART = 1 / 4;

const status = (page: Page) => page.getByTestId("terminal-status");
const rows = (page: Page) => page.locator(".xterm-rows");

async function openTerminal(page: Page): Promise<void> {
  // The first terminal opens automatically.
  await showPanel(page, "Terminal");
  await expect(status(page)).toHaveAttribute("data-state", "open");
}

/** Types a line once the shell is ready to read it. */
async function type(page: Page, line: string): Promise<void> {
  await expect(rows(page)).toContainText(/[$#] /);
  await page.keyboard.type(`${line}\n`);
}

test("a shell on the active machine: keys, colours, its size, and how it ended", async ({ page, laptop }) => {
  await openTerminal(page);
  await expect(status(page)).toContainText("laptop");
  await type(page, "pwd; printf '\\e[38;2;200;30;90mcrab\\e[0m'; echo -$((6*7))-");
  await expect(rows(page)).toContainText("-42-");
  await expect(rows(page)).toContainText(laptop.workspace);
  await expect(rows(page).getByText("crab", { exact: true })).toHaveCSS("color", "rgb(200, 30, 90)");
  await expectAccessible(page);
  await picture(page, "terminal");

  await page.setViewportSize({ width: 1000, height: 600 });
  const sizes = new Set<string>();
  await expect(async () => {
    await page.keyboard.type("clear; echo size $(stty size)\n");
    await expect(rows(page)).toContainText(/size \d+ \d+/, { timeout: 2_000 });
    const size = /size (\d+ \d+)/.exec(await rows(page).innerText())?.[1] ?? "";
    sizes.add(size);
    const [lines, columns] = size.split(" ").map(Number);
    expect(lines).toBe(await rows(page).locator("> div").count());
    expect(columns).toBeLessThan(70);
  }).toPass();
  await page.keyboard.type("exit 3\n");
  await expect(status(page)).toContainText("ended with exit code 3");
  await page.getByRole("button", { name: "Open a new shell" }).click();
  await expect(status(page)).toHaveAttribute("data-state", "open");
});

test("a reload does not reopen a closed terminal, and the notice of a lost connection is short on a phone", async ({ page, server }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await openTerminal(page);
  await server.stop();
  await expect(status(page)).toHaveAttribute("data-state", "lost");
  expect((await status(page).boundingBox())?.height).toBeLessThan(110);
  await server.start();
  await expect(status(page)).toHaveAttribute("data-state", "open");
  await page.getByRole("tab").press("Delete");
  await page.getByRole("button", { name: "End the shell" }).click();
  await expect(page.getByRole("button", { name: "Open a terminal on laptop" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("button", { name: "Open a terminal on laptop" })).toBeVisible();
  await expect(page.getByRole("tab")).toHaveCount(0);
});

test("a terminal is restored after a reload, and after a restart of the server", async ({ page, server }) => {
  await openTerminal(page);
  await type(page, "word=kept; echo before-$((1+1))");
  await expect(rows(page)).toContainText("before-2");
  await page.reload();
  await showPanel(page, "Terminal");
  await expect(rows(page)).toContainText("before-2");
  await expect(status(page)).toHaveAttribute("data-state", "open");
  await page.keyboard.type("echo again-$word\n");
  await expect(rows(page)).toContainText("again-kept");

  await server.stop();
  await expect(status(page)).toHaveAttribute("data-state", "lost");
  await expect(status(page)).toContainText("not sent");
  await server.start();
  await expect(status(page)).toHaveAttribute("data-state", "open", { timeout: 40_000 });
  await page.keyboard.type("echo still-$word\n");
  await expect(rows(page)).toContainText("still-kept");
});

test("nothing of a user is left in the tab after signing out", async ({ browser, page, server }) => {
  const bob = await server.person("bob");
  // Bob has signed in before, and has dismissed the first steps.
  await (await sessionOf(browser, bob)).close();
  await openTerminal(page);
  await type(page, "echo mine-$((1+1))");
  await expect(rows(page)).toContainText("mine-2");
  await composer(page).fill("a draft of mine");
  await page.goto("/#/settings/account");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Name", { exact: true }).fill("bob");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(composer(page)).toHaveValue("");
  await showPanel(page, "Terminal");
  await expect(rows(page)).toHaveCount(0);
  await expect(page.getByText("mine-2")).toHaveCount(0);
  await bob.close();
});

test("the page stays responsive during a flood of output, and none of it is lost", async ({ page }) => {
  await openTerminal(page);
  await type(page, "yes | head -c 20M; echo over-$((1+1))");
  const begun = Date.now();
  let worst = 0;
  let isOver = false;
  while (!isOver) {
    worst = Math.max(worst, await page.evaluate(async () => {
      const begun = performance.now();
      await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - begun;
    }));
    isOver = /^over-2/m.test(await rows(page).innerText());
  }
  expect(worst).toBeLessThan(Math.max(FRAME_MS, (Date.now() - begun) * FRAME_PART));
});

test("a program's copy request is asked about, and a misleading title is made safe", async ({ page }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
  await openTerminal(page);
  await type(page, "printf '\\e]52;c;%s\\a' $(printf 'evil words' | base64); printf '\\e]0;a\\xe2\\x80\\xaeb%0999d\\a' 1; printf '\\e[8;5;5t'");
  await expect(page.getByRole("group", { name: /wants to copy this text to your clipboard/ })).toContainText("evil words");
  await page.getByRole("button", { name: "Refuse" }).click();
  await expect(page.getByRole("group", { name: /clipboard/ })).toHaveCount(0);
  const title = (await page.getByRole("tab").getAttribute("title")) ?? "";
  expect(title.length).toBeLessThanOrEqual(60);
  expect(title).not.toContain("\u202e");
  expect(await rows(page).locator("> div").count()).toBeGreaterThan(10);
});

test("closing a tab asks what to do with its shell", async ({ page, alice }) => {
  await openTerminal(page);
  await type(page, "echo here");
  await page.keyboard.press("Control+Shift+X");
  await expect(page.getByRole("tab")).toBeFocused();
  await page.keyboard.press("Delete");
  await page.getByRole("button", { name: "Leave it running" }).click();
  await expect(page.getByRole("tab")).toHaveCount(0);
  const running: { exec_id: string }[] = await alice.json(["ps"]);
  expect(running).toHaveLength(1);
});
