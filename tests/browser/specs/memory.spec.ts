/** Memory in the settings: memories are kept, proposed, changed, exported and forgotten. */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { composer, expect, expectAccessible, messages, picture, say, test } from "../house/test";

const kept = (page: Page) => page.getByRole("region", { name: "Remembered" });
const card = (page: Page, text: string) => page.getByRole("listitem").filter({ hasText: text });

async function remember(page: Page, text: string, kind = "semantic"): Promise<void> {
  await kept(page).getByLabel("Kind").selectOption(kind);
  await kept(page).getByLabel("Text to remember").fill(text);
  await kept(page).getByRole("button", { name: "Remember", exact: true }).click();
  await expect(card(page, text)).toBeVisible();
}

test("a memory is added, changed with its history, exported and forgotten", async ({ page }) => {
  await page.goto("/#/settings/memory");
  await remember(page, "I prefer tabs.");
  await remember(page, "Deploys run on Fridays.", "episodic");
  const tabs = card(page, "I prefer tabs.");
  await expect(tabs).toContainText("Fact");
  await expect(tabs).toContainText("from you");
  await expectAccessible(page);
  // Change the memory and give it an end; the earlier text stays in its history.
  await tabs.getByRole("button", { name: /^Edit/ }).click();
  await tabs.getByLabel("Text").fill("I prefer spaces.");
  await tabs.getByLabel("Valid until").fill("2099-05-01");
  await tabs.getByRole("button", { name: "Save" }).click();
  const spaces = card(page, "I prefer spaces.");
  await expect(spaces).toContainText("valid until");
  await spaces.getByText("Earlier texts").click();
  await expect(spaces.getByText("I prefer tabs.")).toBeVisible();
  await picture(page, "memory");
  const [download] = await Promise.all([page.waitForEvent("download"), kept(page).getByRole("link", { name: "Export as JSON" }).click()]);
  expect(download.suggestedFilename()).toBe("memories.json");
  const exported = JSON.parse(readFileSync(await download.path(), "utf8")) as { text: string; kind: string }[];
  expect(exported.map(({ text, kind }) => [text, kind])).toEqual([
    ["I prefer spaces.", "semantic"],
    ["Deploys run on Fridays.", "episodic"],
  ]);
  // An earlier text matches, too, and the whole memory is forgotten.
  await kept(page).getByLabel("Forget memories with these words").fill("tabs");
  await kept(page).getByRole("button", { name: "Forget", exact: true }).last().click();
  await expect(page.getByText("Forgotten memories: 1")).toBeVisible();
  await expect(card(page, "I prefer spaces.")).toHaveCount(0);
  const fridays = card(page, "Deploys run on Fridays.");
  await fridays.getByRole("button", { name: /^Forget/ }).click();
  await fridays.getByRole("group").getByRole("button", { name: "Forget" }).click();
  await expect(fridays).toHaveCount(0);
  await page.reload();
  await expect(kept(page)).toBeVisible();
  await expect(page.getByText("Fridays")).toHaveCount(0);
});

test("a core block is in the next prompt, and one that is too long is refused", async ({ page, model }) => {
  await page.goto("/#/settings/memory");
  await kept(page).getByLabel("Kind").selectOption("core");
  await kept(page).getByLabel("Block").selectOption("user");
  await kept(page).getByLabel("Text to remember").fill("x".repeat(2001));
  await kept(page).getByRole("button", { name: "Remember", exact: true }).click();
  await expect(page.getByRole("alert").filter({ hasText: "2001 characters" })).toBeVisible();
  await kept(page).getByLabel("Text to remember").fill("Alice builds kettles.");
  await kept(page).getByRole("button", { name: "Remember", exact: true }).click();
  await expect(card(page, "Alice builds kettles.")).toBeVisible();
  model.answersWith({ say: "Hello." });
  await page.goto("/#/");
  await composer(page).waitFor();
  await say(page, "Hi");
  await expect(messages(page, "assistant").last()).toContainText("Hello.");
  expect(JSON.stringify(model.asked.at(-1))).toContain("Alice builds kettles.");
});

test("an agent's proposal is used only after it is accepted", async ({ page, model }) => {
  await page.goto("/#/settings/memory");
  await remember(page, "The laptop is fast.");
  const number = /#(\d+)/.exec((await card(page, "The laptop is fast.").textContent()) ?? "")?.[1];
  model.answersWith({ call: [["memory_write", { text: "The laptop is slow.", replaces: [Number(number)] }]] }, { say: "Noted." });
  await page.goto("/#/");
  await composer(page).waitFor();
  await say(page, "Look around");
  const allow = page.getByRole("button", { name: /^Allow/ }).first();
  const answer = messages(page, "assistant").filter({ hasText: "Noted." });
  await expect(allow.or(answer).first()).toBeVisible();
  if (await allow.isVisible()) await allow.click();
  await expect(answer).toBeVisible();
  await page.goto("/#/settings/memory");
  const proposals = page.getByRole("region", { name: "Proposed by agents" });
  await expect(proposals).toContainText("The laptop is slow.");
  await expect(proposals).toContainText(`would replace #${String(number)}: The laptop is fast.`);
  await proposals.getByRole("button", { name: /^Accept/ }).click();
  await expect(proposals).toHaveCount(0);
  await expect(kept(page)).toContainText("The laptop is slow.");
  await expect(card(page, "The laptop is fast.")).toContainText("superseded by");
});

test("memories of a group's agent are shown separately, and its owner accepts its proposals", async ({ page, alice, laptop, model }) => {
  void laptop;
  const { id: group } = await alice.json(["group", "create", "Work"]);
  await alice.run(["group", "add-agent", String(group), "coder", "--on", "laptop", "--approval", "full"]);
  await alice.run(["memory", "add", "I like tea."]);
  await alice.run(["memory", "add", "Deploys run on Fridays.", "--agent", "coder"]);
  model.answersWith({ call: [["memory_write", { text: "The laptop is slow." }]] }, { say: "Noted." });
  await alice.run(["group", "post", String(group), "@coder look around"]);
  await page.goto("/#/settings/memory");
  const proposals = page.getByRole("region", { name: "Proposed by agents" });
  await expect(async () => {
    await page.reload();
    await expect(proposals).toContainText("The laptop is slow.", { timeout: 1_000 });
  }).toPass();
  await expect(proposals).toContainText("@coder in Work");
  await expect(kept(page)).toContainText("I like tea.");
  await expect(kept(page)).not.toContainText("Fridays");
  await page.getByLabel("Whose memories").selectOption("@coder in Work");
  await expect(kept(page)).toContainText("Deploys run on Fridays.");
  await expect(kept(page)).not.toContainText("I like tea.");
  await expectAccessible(page);
  await proposals.getByRole("button", { name: /^Accept/ }).click();
  await expect(kept(page)).toContainText("The laptop is slow.");
  await remember(page, "The desk is white.");
  await page.getByLabel("Whose memories").selectOption("Yours");
  await expect(kept(page)).toContainText("I like tea.");
  await expect(kept(page)).not.toContainText("The desk is white.");
});
