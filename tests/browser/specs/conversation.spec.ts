import type { Page } from "@playwright/test";
import { expect, isAfterTool, messages, Speech, run, say, test } from "../house/test";

test("a command runs on the active machine, and the page shows where and how it ended", async ({ page, laptop }) => {
  const said = await run(page, "!pwd; exit 3");
  expect(said).toContain(laptop.workspace);
  expect(said).toContain("laptop");
  expect(said).toContain("exit 3");
});

test("an answer is shown while it streams, and is complete after a reload in the middle", async ({ page, model }) => {
  const speech = new Speech();
  model.answersWith({ stream: speech });
  await say(page, "Tell me a story");
  speech.say("Once upon ");
  await expect(messages(page, "assistant").last()).toContainText("Once upon");
  await page.reload();
  await expect(messages(page, "assistant").last()).toContainText("Once upon");
  speech.say("a time.");
  speech.end();
  await expect(messages(page, "assistant").last()).toContainText("Once upon a time.");
  await expect(page.locator("[data-testid=message][data-status=running]")).toHaveCount(0);
});

test("a tool waits for approval, and runs once it is given", async ({ page, model }) => {
  model.answers((asked) =>
    isAfterTool(asked) ? { say: "It is there." } : { call: [["Shell", { command: "touch made-by-model; pwd" }]] },
  );
  await say(page, "Make the file");
  await page.getByRole("group", { name: /Allow Shell/ }).getByRole("button", { name: "Allow", exact: true }).click();
  await expect(messages(page, "assistant").last()).toContainText("It is there.");
  expect(await run(page, "!ls")).toContain("made-by-model");
});

/** The pace of a quick model: less than the time for which a virtual list repeats its scrolling. */
const PARAGRAPH_MS = 25;

/** Speaks short paragraphs until it is stopped. */
function speakOn(speech: Speech): () => void {
  let count = 0;
  const timer = setInterval(() => speech.say(`Paragraph ${(count += 1)} of the story.\n\n`), PARAGRAPH_MS);
  return () => {
    clearInterval(timer);
    speech.end();
  };
}

const positionOf = (page: Page) =>
  page.getByRole("log").evaluate((log) => ({ top: log.scrollTop, height: log.scrollHeight, below: log.scrollHeight - log.clientHeight - log.scrollTop }));

/** Waits until a scroll has ended, and returns the position. */
async function restingAt(page: Page): Promise<number> {
  let last = -1;
  await expect(async () => {
    const before = last;
    last = (await positionOf(page)).top;
    expect(last).toBe(before);
  }).toPass();
  return last;
}

/** Waits until the list has grown by some paragraphs. */
async function grown(page: Page): Promise<void> {
  const { height } = await positionOf(page);
  await expect.poll(async () => (await positionOf(page)).height).toBeGreaterThan(height + 400);
}

/** Turns the wheel by a little at a time, as a touchpad does: the list grows between two steps. */
async function scrollSlowly(page: Page): Promise<void> {
  for (let step = 0; step < 10; step += 1) {
    const { height } = await positionOf(page);
    await page.mouse.wheel(0, -12);
    await expect.poll(async () => (await positionOf(page)).height).toBeGreaterThan(height);
  }
}

for (const [name, turn] of [
  ["a turn of the wheel", (page: Page) => page.mouse.wheel(0, -120)],
  ["a slow scroll of two fingers", scrollSlowly],
  ["the key PageUp", (page: Page) => page.keyboard.press("PageUp")],
] as const) {
  test(`${name} stops the list from following an answer, even after a reload, and its end is followed again on request`, async ({ page, model }) => {
    const speech = new Speech();
    model.answersWith({ stream: speech });
    await say(page, "Tell me a long story");
    const stop = speakOn(speech);
    const jump = page.getByRole("button", { name: /Jump to newest/ });
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload();
      await expect.poll(async () => (await positionOf(page)).height).toBeGreaterThan(1_500);
      await expect.poll(async () => (await positionOf(page)).below).toBeLessThan(48);
      await page.getByRole("log").focus();
      await page.getByRole("log").hover();
      await turn(page);
      await expect(jump).toBeVisible();
      const top = await restingAt(page);
      await grown(page);
      expect((await positionOf(page)).top).toBe(top);
      await jump.click();
      await expect(jump).toHaveCount(0);
      await grown(page);
      await expect.poll(async () => (await positionOf(page)).below).toBeLessThan(48);
      await expect(jump).toHaveCount(0);
    }
    stop();
    await expect(page.getByTestId("turn-status")).toHaveCount(0);
    await expect.poll(async () => (await positionOf(page)).below).toBeLessThan(48);
  });
}
