import type { Page, Request } from "@playwright/test";
import type { Asked } from "../house/model";
import { composer, expect, expectAccessible, lastOfUser, messages, run, say, signedIn, Speech, test } from "../house/test";

const rows = (page: Page) => page.getByTestId("chat");

async function chatNamed(page: Page, title: string): Promise<void> {
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(rows(page).first()).toContainText("Untitled");
  await rename(page, title);
}

async function rename(page: Page, title: string): Promise<void> {
  await rows(page).first().hover();
  await rows(page).first().getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.getByRole("textbox", { name: "Title of the chat" }).fill(title);
  await page.keyboard.press("Enter");
  await expect(rows(page).first()).toContainText(title);
}

test("chats are found by title and by messages, renamed, forked and deleted", async ({ page }) => {
  await chatNamed(page, "Bread");
  await run(page, "!echo flour");
  await chatNamed(page, "Build");
  await run(page, "!echo compile");
  const search = page.getByRole("searchbox", { name: "Search chats" });
  await search.fill("brea");
  await expect(rows(page)).toHaveCount(1);
  await search.fill("compile");
  await expect(rows(page)).toHaveText([/Build.*compile/]);
  await search.press("Escape");
  await expect(rows(page)).toHaveCount(2);

  await rows(page).first().getByRole("button", { name: "Actions for Build" }).click();
  await page.getByRole("menuitem", { name: "Continue in a copy" }).click();
  await expect(rows(page)).toHaveCount(3);
  await expect(page.getByText("compile", { exact: true })).toBeVisible();

  const download = page.waitForEvent("download");
  await rows(page).first().getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Export as Markdown" }).click();
  expect((await download).suggestedFilename()).toMatch(/^chat-.*\.md$/);

  await rows(page).first().getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await expectAccessible(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Keep" }).click();
  await expect(rows(page)).toHaveCount(3);
  await rows(page).first().getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(rows(page)).toHaveCount(2);
});

test("the list works without a mouse", async ({ page }) => {
  for (const title of ["first", "second", "third"]) await chatNamed(page, title);
  const title = (name: string) => rows(page).getByRole("button", { name, exact: true });
  await title("third").focus();
  await page.keyboard.press("ArrowDown");
  await expect(title("second")).toBeFocused();
  await page.keyboard.press("End");
  await expect(title("first")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(title("first")).toHaveAttribute("aria-current", "page");
  await expect(composer(page)).toBeFocused();
  await title("first").focus();
  await page.keyboard.press("F2");
  await expect(page.getByRole("textbox", { name: "Title of the chat" })).toBeFocused();
  await page.keyboard.type("renamed");
  await page.keyboard.press("Escape");
  await expect(title("first")).toBeFocused();
  await page.keyboard.press("F2");
  await expect(page.getByRole("textbox", { name: "Title of the chat" })).toBeFocused();
  await page.keyboard.type("last one");
  await page.keyboard.press("Enter");
  await expect(title("last one")).toBeFocused();
  await page.keyboard.press("Delete");
  await page.getByRole("alertdialog").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(rows(page)).toHaveCount(2);
});

test("the list and the window's title show which chat is running, and which one asks", async ({ page, model }) => {
  const speech = new Speech();
  model.answers((_, turn) => (turn === 0 ? { stream: speech } : { call: [["Shell", { command: "ls" }]] }));
  await say(page, "Speak");
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(rows(page).filter({ hasText: "Speak" }).getByRole("img", { name: "Running" })).toBeVisible();
  await expect(page).toHaveTitle(/^● /);
  speech.say("Spoken.");
  speech.end();
  await expect(page.getByRole("img", { name: "Running" })).toHaveCount(0);
  await say(page, "List");
  await expect(rows(page).filter({ hasText: "List" }).getByRole("img", { name: "Has a question for you" })).toBeVisible();
  await expect(page).toHaveTitle(/^\(1\) Question/);
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await page.reload();
  await expect(rows(page).filter({ hasText: "List" }).getByRole("img", { name: "Has a question for you" })).toBeVisible();
});

test("two users see only their own chats", async ({ page, browser, server }) => {
  await run(page, "!echo of-alice");
  const bob = await server.person("bob");
  try {
    await bob.machine("workstation");
    const other = await signedIn(browser, bob);
    await run(other.page, "!echo of-bob");
    await expect(rows(other.page)).toHaveCount(1);
    await expect(rows(page)).toHaveCount(1);
    await other.page.getByRole("button", { name: /^Active runner/ }).click();
    await expect(other.page.getByRole("menuitemradio")).toHaveText([/Automatic/, /workstation/]);
    await other.page.keyboard.press("Escape");
    const chat = new URL(page.url()).hash;
    await other.page.goto(`/${chat}`);
    await composer(other.page).waitFor();
    await expect(other.page.getByText("of-alice")).toHaveCount(0);
    expect(other.errors).toEqual([]);
  } finally {
    await bob.close();
  }
});

test("on a phone the list is a drawer over the chat that closes when a chat is chosen", async ({ page }) => {
  await chatNamed(page, "Bread");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(rows(page)).not.toBeInViewport();
  await page.getByRole("button", { name: "Chats", exact: true }).click();
  await expect(rows(page)).toBeInViewport();
  await expectAccessible(page);
  await rows(page).getByRole("button", { name: "Bread", exact: true }).click();
  await expect(rows(page)).not.toBeInViewport();
  await page.getByRole("button", { name: "Chats", exact: true }).click();
  await page.keyboard.press("Escape");
  await expect(rows(page)).not.toBeInViewport();
});

test("two clicks on New chat leave one untitled chat", async ({ page }) => {
  let [asked, created] = [0, 0];
  const creates = (request: Request) => request.method() === "POST" && new URL(request.url()).pathname === "/api/v1/chats";
  page.on("request", (request) => void (asked += Number(creates(request))));
  page.on("response", (answer) => void (created += Number(creates(answer.request()))));
  const twice = async () => {
    const before = created;
    await page.getByRole("button", { name: "New chat", exact: true }).dblclick();
    // The second click asks again only if the first one is over; what was asked is answered.
    await expect.poll(() => created > before && created === asked).toBe(true);
  };
  await twice();
  await expect(rows(page)).toHaveText([/Untitled/]);
  await run(page, "!echo bread");
  await twice();
  // The empty chat is the first of the list, and stays the only one after a reload.
  await expect(rows(page)).toHaveText([/Untitled/, /!echo bread/]);
  await page.reload();
  await expect(rows(page)).toHaveText([/Untitled/, /!echo bread/]);
});

test.describe("with a swift model", () => {
  test.use({ serverOptions: ["--llm-model-swift", "scripted-swift"] });

  const isTitling = (asked: Asked) => asked.model === "scripted-swift" && JSON.stringify(asked.messages).includes("a title of at most six words");

  test("the swift model titles a chat after its first answer, and a title given by a person stays", async ({ page, model }) => {
    const speech = new Speech();
    model.answers((asked) => {
      if (isTitling(asked)) return { say: "\"Kettles that whistle.\"" };
      return lastOfUser(asked) === "Why does a kettle whistle?" ? { stream: speech } : { say: `Answer to: ${lastOfUser(asked)}` };
    });
    const titlings = () => model.asked.filter(isTitling);
    await say(page, "Why does a kettle whistle?");
    speech.say("It is ");
    await expect(messages(page, "assistant").last()).toContainText("It is");
    // Until the first answer is complete, the first message is the title.
    await expect(rows(page)).toHaveText([/^Why does a kettle whistle\?/]);
    expect(titlings()).toHaveLength(0);
    speech.say("the steam.");
    speech.end();
    await expect(rows(page)).toHaveText([/^Kettles that whistle$/]);
    await expect(page).toHaveTitle(/Kettles that whistle/);
    expect(titlings()).toHaveLength(1);
    for (const text of ["Why does a kettle whistle?", "It is the steam."]) expect(JSON.stringify(titlings()[0])).toContain(text);
    await rename(page, "Steam");
    await say(page, "And a train?");
    await expect(messages(page, "assistant").last()).toContainText("Answer to: And a train?");
    await page.reload();
    await expect(rows(page)).toHaveText([/^Steam$/]);

    // A title that was given before the first answer stays, too.
    await chatNamed(page, "Bread");
    await say(page, "How long does dough rise?");
    await expect.poll(() => titlings().length).toBe(2);
    await say(page, "How long does it bake?");
    await expect(messages(page, "assistant").last()).toContainText("Answer to: How long does it bake?");
    await expect(rows(page)).toHaveText([/^Bread$/, /^Steam$/]);
    // Only first answers give titles.
    expect(titlings()).toHaveLength(2);
  });
});
