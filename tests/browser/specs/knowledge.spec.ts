/** Knowledge in the settings: a collection with documents, the reasons why a passage is found, sharing, and citations in answers. */
import type { Page } from "@playwright/test";
import { docx, pdf, xlsx } from "../house/documents";
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

async function upload(page: Page, name: string, files: [string, string | Buffer][]): Promise<void> {
  const given = files.map(([file, text]) => ({ name: file, mimeType: "application/octet-stream", buffer: typeof text === "string" ? Buffer.from(text) : text }));
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

/** Lines that fill several passages. */
const filler = (words: string) => Array.from({ length: 48 }, (_, at) => `${words}, line ${at + 1} of the part before.`);

/** A document for each format, the words in it that an answer relies on, what finds them, and where they are shown to be. */
const CITED: { file: string; bytes: string | Buffer; query: string; words: string; place: string }[] = [
  {
    file: "kettle.md",
    bytes: `${"水壶说明。".repeat(40)}\n\n${KETTLE}`,
    query: "how long is the guarantee",
    words: "The guarantee lasts two years.",
    place: "manuals, page 1",
  },
  {
    file: "lamp.pdf",
    bytes: pdf([filler("About the lamp"), [...filler("Café and lamp"), "The bulb needs (at most) forty watts.", ...filler("More")], ["The end."]]),
    query: "watts of the bulb",
    words: "The bulb needs (at most) forty watts.",
    place: "manuals, page 2",
  },
  {
    file: "radio.docx",
    bytes: docx([...filler("收音机 📻 & more"), "# Stations", "The receiver stores nine stations & forgets none.", ...filler("After it")]),
    query: "stations of the receiver",
    words: "The receiver stores nine stations & forgets none.",
    place: "manuals, page 1",
  },
  {
    file: "prices.xlsx",
    bytes: xlsx([
      ["Notes", filler("价格 and notes").map((line) => [line])],
      ["Prices <2026>", [...filler("Other prices").map((line) => [line, "0"]), ["Toaster", "39 euros"], ...filler("Later").map((line) => [line])]],
    ]),
    query: "toaster euros",
    words: "Toaster | 39 euros",
    place: "manuals, page 2 · Prices <2026>",
  },
  {
    file: "clock.html",
    bytes: `<!doctype html><title>Clock</title><script>var spring = 1;</script>${filler("钟表&nbsp;&mdash; 说明").map((line) => `<p>${line}</p>`).join("")}
      <h2>Spring</h2><p>The <b>spring</b> drives the clock &mdash; wind it\n monthly.</p>${filler("After it").map((line) => `<p>${line}</p>`).join("")}`,
    query: "spring drives clock monthly",
    words: "The spring drives the clock — wind it monthly.",
    place: "manuals, page 1",
  },
];

test("a citation of an answer opens the passage that it cites, in a document of any format", async ({ page, model }) => {
  await make(page, "manuals");
  await upload(page, "manuals", [...CITED.map(({ file, bytes }): [string, string | Buffer] => [file, bytes]), ["garden.md", GARDEN]]);
  await expect(card(page, "manuals").getByRole("status").first()).toHaveText("6 documents");
  // The citation before some words in the result of a search, and the text of the passage.
  const citation = (words: string, found: string): [string, string] => {
    const at = found.lastIndexOf("[doc:", found.indexOf(words));
    const [quotation = ""] = found.slice(found.indexOf("\n", at) + 1).split("\n\n");
    return [found.slice(at, found.indexOf("]", at) + 1), quotation.split("\n").map((line) => line.slice("> ".length)).join("\n")];
  };
  let passages: string[] = [];
  model.answers((asked) => {
    const found = asked.messages.filter((message) => message.role === "tool").map((message) => String(message.content));
    if (found.length === 0) return { call: CITED.map(({ query }) => ["knowledge_search", { query }]) };
    const each = CITED.map(({ words }, at) => citation(words, found[at] ?? ""));
    passages = each.map(([, text]) => text);
    return { say: each.map(([cited], at) => `${CITED[at]?.words} ${cited}`).join("\n\n") };
  });
  await page.goto("/#/");
  await composer(page).waitFor();
  await say(page, "How long is the guarantee, and all the rest?");
  const citations = messages(page, "assistant").last().getByRole("button", { name: /doc:/ });
  await expect(citations).toHaveCount(CITED.length);
  const chat = page.url();
  for (const [at, { file, words, place }] of CITED.entries()) {
    await citations.nth(at).click();
    const opened = page.getByRole("article", { name: file });
    const marked = opened.locator("mark");
    await expect(marked).toContainText(words);
    expect(await marked.textContent(), file).toBe(passages[at]);
    await expect(marked).toBeInViewport();
    await expect(opened.getByText(place, { exact: true })).toBeVisible();
    // It is a part of the page, which is shown as a whole.
    const whole = await opened.locator("pre").textContent();
    expect(whole?.length ?? 0, file).toBeGreaterThan((passages[at] ?? "").length);
    expect(whole).not.toContain("About the lamp");
    await expect(opened.getByText("was changed after the answer")).toHaveCount(0);
    await page.goto(chat);
  }
  // A new version of a document has other passages, which is said.
  await page.goto("/#/settings/knowledge");
  await upload(page, "manuals", [["kettle.md", `${"Another beginning. ".repeat(9)}\n\n${KETTLE}`]]);
  await expect(async () => {
    await ask(page, "another beginning");
    await expect(search(page).getByRole("listitem").first()).toContainText("Another beginning", { timeout: 1000 });
  }).toPass();
  await page.goto(chat);
  await citations.first().click();
  await expect(page.getByRole("article", { name: "kettle.md" }).getByText("was changed after the answer")).toBeVisible();
});
