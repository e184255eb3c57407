/** Output that is legible: the colours of commands, failed commands of a model, and tables of the server and of models. */
import type { Locator, Page } from "@playwright/test";
import { composer, expect, expectAccessible, isAfterTool, lastOfUser, messages, picture, run, say, test } from "../house/test";

const COLOURFUL = "printf '\\033[31mcherry\\033[0m plain \\033[1;32mleaf\\033[0m \\033[38;5;27msky\\033[0m\\n'";

/** The computed colour of a text's element, as red, green and blue. */
async function colour(text: Locator): Promise<number[]> {
  const written = await text.evaluate((element) => getComputedStyle(element).color);
  expect(written).toMatch(/^rgb\(/);
  return [...written.matchAll(/\d+/g)].map(Number);
}

/** The component that is the strongest in a text's colour, which differs in shade between the themes. */
async function hue(text: Locator): Promise<string | undefined> {
  const parts = await colour(text);
  return ["red", "green", "blue"][parts.indexOf(Math.max(...parts))];
}

async function expectColours(output: Locator): Promise<void> {
  const word = (text: string) => output.getByText(text, { exact: true });
  for (const [text, expected] of [["cherry", "red"], ["leaf", "green"], ["sky", "blue"]] as const) {
    await expect(word(text)).toBeVisible();
    expect(await hue(word(text)), text).toBe(expected);
    expect(await colour(word(text)), text).not.toEqual(await colour(output));
  }
  await expect(word("leaf")).toHaveCSS("font-weight", "700");
  await expect(output).toContainText("cherry plain leaf sky");
  expect(await output.textContent()).not.toContain("\u001b");
}

/** Calls `check` in both themes. */
async function inBothThemes(page: Page, check: () => Promise<void>): Promise<void> {
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    await check();
    await expectAccessible(page);
  }
}

test("a command's output has its colours, while it arrives and after a reload", async ({ page }) => {
  const output = messages(page, "exec").getByRole("group", { name: "Output" });
  await say(page, `!${COLOURFUL}; sleep 300`);
  await expect(output).toContainText("sky");
  await expect(messages(page, "exec")).toHaveAttribute("data-status", "running");
  await inBothThemes(page, () => expectColours(output));
  await page.getByRole("button", { name: "Cancel" }).first().click();
  await expect(messages(page, "exec")).toHaveAttribute("data-status", "cancelled");
  await page.reload();
  await expect(messages(page, "exec")).toHaveAttribute("data-status", "cancelled");
  await inBothThemes(page, () => expectColours(output));
});

test("a model's failed command is unfolded, with its colours, its exit code and no words meant for the model", async ({ page, model }) => {
  model.answers((asked) => {
    if (isAfterTool(asked)) return { say: "So it ended." };
    const ending = lastOfUser(asked) === "fail" ? "; exit 3" : "";
    return { call: [["Shell", { command: COLOURFUL + ending }]] };
  });
  const card = page.getByTestId("tool").last();
  const output = messages(page, "assistant").getByRole("group", { name: "Output" });
  await say(page, "fail");
  await page.getByRole("group", { name: /Allow Shell/ }).getByRole("button", { name: "Always in this chat" }).click();
  await expect(messages(page, "assistant").last()).toContainText("So it ended.");
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    await expect(card).toHaveAttribute("aria-expanded", "true");
    await expect(card).toContainText("failed, exit 3");
    await expectColours(output);
    await expect(output).toHaveText("cherry plain leaf sky");
  }
  // The model was told more.
  const told = model.asked.flatMap((asked) => asked.messages).findLast((message) => message.role === "tool");
  expect(String(told?.content)).toContain("(exit code 3)");
  await picture(page, "failed-command");

  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await say(page, "succeed");
  await page.getByRole("group", { name: /Allow Shell/ }).getByRole("button", { name: "Allow", exact: true }).click();
  await expect(messages(page, "assistant").last()).toContainText("So it ended.");
  await expect(card).toHaveAttribute("aria-expanded", "false");
  await expect(card).not.toContainText("exit");
  await card.click();
  await inBothThemes(page, () => expectColours(output));
});

/** The horizontal positions of these texts' beginnings and ends within an element, in CSS pixels. */
function edges(element: Locator, texts: string[]): Promise<{ left: number; right: number }[]> {
  return element.evaluate((within, wanted) => {
    const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    const nodes: Text[] = [];
    while (walker.nextNode()) nodes.push(walker.currentNode as Text);
    return wanted.map((text) => {
      const node = nodes.find(({ data }) => data.includes(text));
      if (node === undefined) throw new Error(`no text ${text}`);
      const range = document.createRange();
      range.setStart(node, node.data.indexOf(text));
      range.setEnd(node, node.data.indexOf(text) + text.length);
      const { left, right } = range.getBoundingClientRect();
      return { left: Math.round(left), right: Math.round(right) };
    });
  }, texts);
}

/** The number of different positions in a list. */
const count = (positions: number[]) => new Set(positions).size;

test("the tables of /help, /usage and /runner stand in columns, on a phone, too", async ({ page, model }) => {
  model.answersWith({ say: "Counted." });
  await say(page, "Count");
  await expect(messages(page, "assistant").last()).toContainText("Counted.");
  const notice = messages(page, "notice").last();
  const table = notice.getByRole("group", { name: "Notice" });
  const both = async (check: () => Promise<void>) => {
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await check();
      // Wide tables scroll instead of the page.
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  };
  await say(page, "/help");
  await expect(table).toContainText("this list");
  await both(async () => {
    const abouts = ["this list", "run a shell command in this chat's sandbox", "tokens and cost of this chat", "a message that begins with a slash"];
    expect(count((await edges(table, abouts)).map(({ left }) => left))).toBe(1);
  });
  await say(page, "/usage");
  await expect(table).toContainText("of which cached");
  await both(async () => {
    expect(count((await edges(table, ["this chat", "today (UTC)", "30 days"])).map(({ left }) => left))).toBe(1);
    // Numbers end below the ends of their headings. Without a price there is no cost.
    expect(count((await edges(table, ["cost", "–"])).map(({ right }) => right))).toBe(1);
  });
  await expect(table).not.toContainText("$");
  await say(page, "/runner");
  await expect(table).toContainText("not available");
  await both(async () => {
    expect(count((await edges(table, ["online", "not available"])).map(({ left }) => left))).toBe(1);
  });
  await expectAccessible(page);
});

test("a notice in sentences has the font of the page", async ({ page }) => {
  await run(page, "!true");
  await say(page, "/runner laptop");
  const notice = messages(page, "notice").last();
  await expect(notice).toContainText("This chat's commands go to laptop now.");
  const family = (element: Locator) => element.evaluate((shown) => getComputedStyle(shown).fontFamily);
  expect(await family(notice.getByText("This chat's commands"))).toBe(await family(page.locator("body")));
});

test("the words in a table's head are not broken, however narrow the page", async ({ page, model }) => {
  const heads = ["Id", "Name", "Status", "Description", "Repository", "Owner"];
  const cells = ["1", "sandbridge", "running", "a long description of what it does, in many words", "https://example.org/a/very/long/address/without/any/space", "alice"];
  const row = (all: string[]) => `| ${all.join(" | ")} |`;
  model.answersWith({ say: [row(heads), row(heads.map(() => "---")), row(cells), row(cells)].join("\n") });
  await say(page, "List them");
  const table = messages(page, "assistant").getByRole("table");
  await expect(table.getByRole("row")).toHaveCount(3);
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    for (const head of heads) {
      const lines = await table.getByRole("columnheader", { name: head, exact: true }).evaluate((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
      });
      expect(lines, `${head} at ${width} px`).toBe(1);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
  await expect(composer(page)).toBeInViewport();
  await expectAccessible(page);
});
