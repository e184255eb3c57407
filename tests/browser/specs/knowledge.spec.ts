/** Knowledge in the settings: a collection with documents, the reasons why a passage is found, sharing, and citations in answers. */
import type { Page } from "@playwright/test";
import { composer, expect, expectAccessible, messages, picture, say, signedIn, test } from "../house/test";

const KETTLE = "# Kettle\n\nBoils water.\n\n## Guarantee\n\nThe guarantee lasts two years.\n";
const GARDEN = "# Garden\n\nWater the flowers in the evening.\n";

const card = (page: Page, name: string) => page.getByRole("listitem").filter({ has: page.getByRole("heading", { name, exact: true }) });
const search = (page: Page) => page.getByRole("region", { name: "Search" });

async function make(page: Page, name: string): Promise<void> {
  await page.goto("/#/settings/knowledge");
  const making = page.getByRole("form", { name: "New collection" });
  await making.getByLabel("Name").fill(name);
  await making.getByRole("button", { name: "Add" }).click();
  await expect(making.getByRole("status")).toHaveText(`${name} was added.`);
}

async function upload(page: Page, name: string, files: [string, string][]): Promise<void> {
  const given = files.map(([file, text]) => ({ name: file, mimeType: "application/octet-stream", buffer: Buffer.from(text) }));
  await card(page, name).getByLabel("Add documents").setInputFiles(given);
  const sent = files.length === 1 ? "1 of 1 file sent" : `${files.length} of ${files.length} files sent`;
  await expect(card(page, name).getByText(sent)).toBeVisible();
}

async function ask(page: Page, question: string): Promise<void> {
  await search(page).getByLabel("Words or a question").fill(question);
  await search(page).getByRole("button", { name: "Search" }).click();
}

test("documents are added, found by words, opened and deleted, and an unreadable document shows the reason", async ({ page }) => {
  await page.goto("/#/settings/knowledge");
  await expect(page.getByText("There are no collections yet.")).toBeVisible();
  await make(page, "manuals");
  await upload(page, "manuals", [["kettle.md", KETTLE], ["broken.pdf", "%PDF-1.7\nnothing"], ["garden.md", GARDEN]]);
  const manuals = card(page, "manuals");
  await expect(manuals.getByRole("status").first()).toHaveText("3 documents · 1 cannot be read");
  if (!(await manuals.getByText("broken.pdf").isVisible())) await manuals.getByText("Documents", { exact: true }).click();
  await expect(manuals.getByText("the document is damaged")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "knowledge");
  // The reason why the passage is found, and the page that it opens.
  await ask(page, "how long is the guarantee");
  await expect(search(page).getByRole("status").last()).toHaveText(/\d passages?/);
  const hit = search(page).getByRole("listitem").filter({ hasText: "two years" });
  await expect(hit).toContainText(/Rank 1 by words: .*guarantee\./);
  await expect(search(page).getByText("found by words only: this server has no embedder installed")).toBeVisible();
  await hit.getByRole("button", { name: "Open" }).click();
  const opened = page.getByRole("article", { name: "kettle.md" });
  await expect(opened.locator("mark")).toContainText("The guarantee lasts two years.");
  await opened.getByRole("button", { name: "Done" }).click();
  await ask(page, "zebra");
  await expect(search(page).getByText("Nothing was found.")).toBeVisible();
  // A deleted document is no longer found.
  await manuals.getByRole("button", { name: "Delete kettle.md" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).last().click();
  await expect(manuals.getByText("kettle.md")).toHaveCount(0);
  await ask(page, "guarantee");
  await expect(search(page).getByText("Nothing was found.")).toBeVisible();
  await manuals.getByRole("button", { name: "Delete manuals" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).last().click();
  await expect(page.getByText("There are no collections yet.")).toBeVisible();
});

test("a passage is found by its meaning, and only by words while the embedder is unavailable", async ({ page, alice, model }) => {
  model.topics = [["guarantee", "warranty"], ["garden", "flowers"]];
  await alice.run(["server", "settings", "--embedder", "server/embed"]);
  await make(page, "manuals");
  await upload(page, "manuals", [["kettle.md", KETTLE], ["garden.md", GARDEN]]);
  await expect(async () => {
    await ask(page, "warranty");
    await expect(search(page).getByRole("listitem").first()).toContainText("Rank 1 by meaning.", { timeout: 1000 });
  }).toPass();
  await expect(search(page).getByRole("listitem").first()).toContainText("two years");
  await ask(page, "guarantee");
  const both = search(page).getByRole("listitem").first();
  await expect(both).toContainText("Rank 1 by words: guarantee. Rank 1 by meaning.");
  await picture(page, "knowledge-meaning");
  model.topics = null;
  await ask(page, "guarantee");
  await expect(search(page).getByText("found by words only: the server's embedder does not answer")).toBeVisible();
  await expect(search(page).getByRole("listitem").first()).toContainText("two years");
});

test("a collection is shared with a user and unshared", async ({ page, browser, server }) => {
  const bob = await server.person("bob");
  await make(page, "manuals");
  await upload(page, "manuals", [["kettle.md", KETTLE]]);
  const manuals = card(page, "manuals");
  await manuals.getByText("Not shared").click();
  await manuals.getByLabel("User name").fill("nobody");
  await manuals.getByRole("button", { name: "Share" }).click();
  await expect(manuals.getByRole("alert").filter({ hasText: "there is no user" })).toBeVisible();
  await manuals.getByLabel("User name").fill("bob");
  await manuals.getByRole("button", { name: "Share", exact: true }).click();
  await expect(manuals.getByText("Shared with 1")).toBeVisible();
  const theirs = await signedIn(browser, bob);
  await theirs.page.goto("/#/settings/knowledge");
  await expect(card(theirs.page, "manuals")).toContainText("Owned by alice");
  await expect(card(theirs.page, "manuals").getByRole("button", { name: "Delete manuals" })).toHaveCount(0);
  await ask(theirs.page, "guarantee");
  await expect(search(theirs.page).getByRole("listitem").first()).toContainText("two years");
  await manuals.getByRole("button", { name: "Stop sharing with bob" }).click();
  await expect(manuals.getByText("Not shared")).toBeVisible();
  await ask(theirs.page, "guarantee");
  await expect(search(theirs.page).getByText("Nothing was found.")).toBeVisible();
  expect(theirs.errors).toEqual([]);
  await theirs.page.context().close();
  await bob.close();
});

test("a citation in an answer opens the cited passage", async ({ page, model }) => {
  await make(page, "manuals");
  await upload(page, "manuals", [["kettle.md", `${"水壶说明。".repeat(40)}\n\n${KETTLE}`], ["garden.md", GARDEN]]);
  await expect(card(page, "manuals").getByRole("status").first()).toHaveText("2 documents");
  model.answers((asked) => {
    const last = asked.messages.at(-1);
    if (last?.role !== "tool") return { call: [["knowledge_search", { query: "how long is the guarantee" }]] };
    const found = String(last.content);
    const at = found.lastIndexOf("[doc:", found.indexOf("two years"));
    return { say: `Two years ${found.slice(at, found.indexOf("]", at) + 1)}.` };
  });
  await page.goto("/#/");
  await composer(page).waitFor();
  await say(page, "How long is the guarantee?");
  const answer = messages(page, "assistant").last();
  await expect(answer).toContainText("Two years");
  await answer.getByRole("button", { name: /doc:/ }).click();
  const opened = page.getByRole("article", { name: "kettle.md" });
  await expect(opened.locator("mark")).toContainText("The guarantee lasts two years.");
  await expect(opened.locator("mark")).toBeInViewport();
});
