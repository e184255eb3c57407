/**
 * Measures how fast the page is, with a lower bound for each figure from the same run. Writes its samples as JSON, in milliseconds, to the file that
 * `SAMPLES` names; `scripts/bench page` turns them into rows of its table.
 */
import { writeFileSync } from "node:fs";
import { composer, expect, messages, say, Speech, test } from "../house/test";

const samples: Record<string, number[]> = {};
test.afterAll(() => writeFileSync(process.env.SAMPLES ?? "samples.json", JSON.stringify(samples)));

const WORDS = 60;
const VISITS = 15;
const LINES = 50_000;
const KEYS = 30;

test("words reach the screen", async ({ page, model, server, alice }) => {
  const speech = new Speech();
  model.answersWith({ stream: speech });
  await page.evaluate(() => {
    const seen: Record<string, number> = {};
    Object.assign(window, { seen });
    new MutationObserver(() => {
      const last = document.body.innerText.match(/word\d+word/g)?.at(-1);
      // The word is on the screen with the next frame.
      if (last !== undefined && !(last in seen)) requestAnimationFrame(() => (seen[last] ??= Date.now()));
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const heard = await listen(server.url, await token(alice));
  await say(page, "Tell me");
  const spoken: number[] = [];
  speech.say("Well, ");
  await expect(messages(page, "assistant").last()).toContainText("Well");
  for (let at = 0; at < WORDS; at += 1) {
    spoken.push(Date.now());
    speech.say(`word${at}word `);
    await page.waitForFunction((name) => (window as any).seen[name] !== undefined, `word${at}word`);
  }
  speech.end();
  const seen: Record<string, number> = await page.evaluate(() => (window as any).seen);
  samples.word_screen = spoken.map((from, at) => (seen[`word${at}word`] ?? NaN) - from);
  samples.word_socket = spoken.map((from, at) => (heard[`word${at}word`] ?? NaN) - from);
});

test("the first view is ready", async ({ page, browser, server }) => {
  await say(page, "!seq 100");
  await expect(messages(page, "exec").last()).toHaveAttribute("data-status", "exited");
  const state = await page.context().storageState();
  const { hash } = new URL(page.url());
  const timed = async (path: string, ready: (fresh: typeof page) => Promise<unknown>) => {
    // A new context has an empty cache.
    const context = await browser.newContext({ baseURL: server.url, storageState: state });
    const fresh = await context.newPage();
    const from = performance.now();
    await fresh.goto(path, { waitUntil: "commit" });
    await ready(fresh);
    const took = performance.now() - from;
    await context.close();
    return took;
  };
  samples.view_ready = [];
  samples.view_bare = [];
  for (let visit = 0; visit < VISITS; visit += 1) {
    samples.view_bare.push(await timed("/healthz", (fresh) => fresh.waitForLoadState("load")));
    samples.view_ready.push(
      await timed(`/${hash}`, async (fresh) => {
        // Checked at each frame: a locator that has to wait checks again only after half a second.
        await fresh.waitForFunction(
          () =>
            document.querySelector("[data-testid=message][data-role=exec]") !== null &&
            document.querySelector("textarea[aria-label=Message]:enabled") !== null,
        );
        await composer(fresh).fill("x");
      }),
    );
  }
});

test("the page responds to keys while a command writes much output", async ({ page }) => {
  const heap = async () => {
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number };
    return usedSize / 1e6;
  };
  // From a key press until after the frame that displays it, as the page itself sees it.
  await page.evaluate(() => {
    const delays: number[] = [];
    Object.assign(window, { delays });
    const written = (event: KeyboardEvent) =>
      requestAnimationFrame(() => setTimeout(() => delays.push(performance.now() - event.timeStamp)));
    window.addEventListener("keydown", written, { capture: true });
  });
  const keys = async (): Promise<number[]> => {
    await composer(page).click();
    await page.evaluate(() => ((window as any).delays.length = 0));
    for (let key = 1; key <= KEYS; key += 1) {
      await page.keyboard.press("x");
      await page.waitForFunction((count) => (window as any).delays.length >= count, key);
    }
    await composer(page).fill("");
    return page.evaluate(() => (window as any).delays);
  };
  samples.key_idle = await keys();
  samples.heap_before = [await heap()];
  // Ten lines at a time with pauses, so that the output lasts while keys are pressed.
  await say(page, `!for i in $(seq 1 100); do seq $((i*${LINES / 100})) $((i*${LINES / 100}+${LINES / 100 - 1})); sleep 0.05; done`);
  await expect(messages(page, "exec").last()).toHaveAttribute("data-status", "running");
  samples.key_busy = await keys();
  samples.busy_to_the_end = [(await messages(page, "exec").last().getAttribute("data-status")) === "running" ? 1 : 0];
  await expect(messages(page, "exec").last()).toHaveAttribute("data-status", "exited", { timeout: 60_000 });
  samples.heap_after = [await heap()];
});

/** Logs in like a program, and returns the session's token. */
async function token(alice: { run(options: string[]): Promise<string>; server: { url: string }; name: string }): Promise<string> {
  const answer = await fetch(`${alice.server.url}/api/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user: alice.name, password: "correct horse battery" }),
  });
  return ((await answer.json()) as { token: string }).token;
}

/** The times at which a bare WebSocket receives each word. */
async function listen(url: string, bearer: string): Promise<Record<string, number>> {
  const { WebSocket } = await import("ws");
  const heard: Record<string, number> = {};
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/events`, { headers: { authorization: `Bearer ${bearer}` } });
  socket.on("message", (data) => {
    for (const word of String(data).match(/word\d+word/g) ?? []) heard[word] ??= Date.now();
  });
  await new Promise((done, failed) => {
    socket.once("message", done);
    socket.once("error", failed);
  });
  return heard;
}
