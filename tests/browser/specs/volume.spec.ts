/** Large amounts of output and messages: the page stays quick, and the number of elements stays bounded. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { composer, expect, messages, say, test } from "../house/test";

/** The time limit from a key press until after the frame that displays it. */
const KEY_MS = 100;

test("the page responds to keys while 50,000 lines arrive, and keeps only their end", async ({ page }) => {
  await page.evaluate(() => {
    const delays: number[] = [];
    Object.assign(window, { delays });
    const written = (event: KeyboardEvent) => requestAnimationFrame(() => setTimeout(() => delays.push(performance.now() - event.timeStamp)));
    window.addEventListener("keydown", written, { capture: true });
  });
  await say(page, "!for i in $(seq 50); do seq $((i*1000)) $((i*1000+999)); sleep 0.05; done");
  const answer = messages(page, "exec").last();
  await expect(answer).toHaveAttribute("data-status", "running");
  await composer(page).click();
  for (let key = 1; key <= 20; key += 1) {
    await page.keyboard.press("x");
    await page.waitForFunction((count) => (window as any).delays.length >= count, key);
  }
  const delays: number[] = await page.evaluate(() => (window as any).delays);
  expect(delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)]).toBeLessThan(KEY_MS);
  await expect(answer).toHaveAttribute("data-status", "exited", { timeout: 60_000 });
  expect((await answer.innerText()).length).toBeLessThan(250_000);
});

test("10,000 messages: few are drawn, earlier ones load without a jump, and the end is one click away", async ({ page, server }) => {
  await say(page, "!echo the-first");
  await expect(messages(page, "exec").last()).toHaveAttribute("data-status", "exited");
  const id = new URL(page.url()).hash.split("/").at(-1) ?? "";
  const fill = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=10)
db.executemany("INSERT INTO messages (chat_id, role, text, created_at_ms) VALUES (?, 'notice', ?, 0)", ((sys.argv[2], f"number {n}\\n" * (1 + n % 3)) for n in range(10000)))
db.commit()`;
  execFileSync("python3", ["-c", fill, join(server.home, "sandbridge.db"), id]);
  await page.reload();
  const log = page.getByRole("log");
  await expect(log.getByText("number 9999").first()).toBeVisible();
  expect(await page.getByTestId("message").count()).toBeLessThan(80);
  // Scroll up through several pages: the visible part stays in place when earlier messages are inserted before it.
  await log.hover();
  for (let round = 0; round < 3; round += 1) {
    // Delay earlier messages until the visible part has been examined.
    let open = () => {};
    const gate = new Promise<void>((done) => (open = done));
    await page.route(/before=/, async (route) => {
      await gate;
      await route.continue();
    });
    await expect(async () => {
      await log.evaluate((element) => element.scrollTo(0, 0));
      await expect(page.getByText("Loading earlier messages…")).toBeInViewport({ timeout: 1_000 });
    }).toPass();
    const top = log.getByTestId("message").first();
    const [text, before] = [(await top.innerText()).split("\n")[0] ?? "", await top.boundingBox()];
    open();
    await expect.poll(() => log.evaluate((element) => element.scrollTop)).toBeGreaterThan(1_000);
    await page.unroute(/before=/);
    const same = log.getByTestId("message").filter({ hasText: new RegExp(`^${text}\\b`) }).first();
    await expect.poll(async () => Math.abs(((await same.boundingBox())?.y ?? -9_999) - (before?.y ?? 0))).toBeLessThan(60);
  }
  expect(await page.getByTestId("message").count()).toBeLessThan(120);
  await say(page, "!echo at-the-end");
  await expect(messages(page, "exec").last()).toContainText("at-the-end");
  await expect(messages(page, "exec").last()).toHaveAttribute("data-status", "exited");
  const jump = page.getByRole("button", { name: /Jump to newest/ });
  await log.hover();
  await page.mouse.wheel(0, -3_000);
  await jump.click();
  await expect(messages(page, "exec").last()).toBeInViewport();
});
