/** Conversations across reloads, restarts of the server and lost connections. */
import type { Page } from "@playwright/test";
import { composer, expect, messages, say, signedIn, Speech, test } from "../house/test";

/**
 * Opens the page as if its address had been typed, and delays the answer that names its chat; returns a function that releases
 * it.
 */
async function opening(page: Page): Promise<() => void> {
  let come = () => {};
  const held = new Promise<void>((done) => (come = done));
  await page.route("**/api/v1/settings", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/");
  await composer(page).waitFor();
  return come;
}

test("a command continues across a restart of the server, and its output is shown once", async ({ page, server }) => {
  await say(page, "!for i in 1 2 3 4 5 6; do echo line-$i; sleep 0.5; done");
  const answer = messages(page, "exec").last();
  await expect(answer).toContainText("line-1");
  await server.restart();
  await expect(answer).toHaveAttribute("data-status", "exited", { timeout: 60_000 });
  const output = await answer.getByLabel("Output").innerText();
  expect(output.match(/line-\d/g)).toEqual([1, 2, 3, 4, 5, 6].map((at) => `line-${at}`));
  await expect(page.getByTestId("offline-banner")).toHaveCount(0);
});

test("an answer interrupted by a killed server is begun again in its place, and nothing is repeated", async ({ page, server, model }) => {
  const speech = new Speech();
  model.answersWith({ stream: speech }, { say: "Once more, whole." }, { say: "Here I am again." });
  await say(page, "Tell me a story");
  speech.say("Once upon a time");
  await expect(messages(page, "assistant").last()).toContainText("Once upon a time");
  await server.restart("SIGKILL");
  await expect(messages(page, "assistant").last()).toContainText("Once more, whole.");
  await expect(page.getByTestId("offline-banner")).toHaveCount(0);
  await expect(page.getByText("Once upon a time")).toHaveCount(0);
  await say(page, "Go on");
  await expect(messages(page, "assistant").last()).toContainText("Here I am again.");
  await expect(messages(page, "user")).toHaveCount(2);
});

test("two tabs show the same text, without repetition", async ({ page, browser, alice, model }) => {
  const speech = new Speech();
  model.answersWith({ stream: speech });
  await say(page, "Tell both");
  await expect(messages(page, "user")).toHaveCount(1);
  const other = await signedIn(browser, alice, new URL(page.url()).hash.replace(/^/, "/"));
  const tabs = [page, other.page];
  for (const word of ["one ", "two ", "three."]) speech.say(word);
  speech.end();
  for (const tab of tabs) {
    await expect(messages(tab, "assistant").last()).toHaveText(/^one two three\.$/);
    await expect(messages(tab, "user")).toHaveCount(1);
  }
  await say(other.page, "!echo from the other");
  await expect(messages(page, "exec").last()).toContainText("from the other");
  // A setting changed in one tab is shown in the other.
  await other.page.getByRole("button", { name: /^Approvals:/ }).click();
  await other.page.getByRole("menuitemradio", { name: /^Plan/ }).click();
  await expect(page.getByRole("button", { name: "Approvals: Plan" })).toBeVisible();
  await say(page, "/approval full");
  await expect(other.page.getByRole("button", { name: "Approvals: Full" })).toBeVisible();
  expect(other.errors).toEqual([]);
  await other.page.context().close();
});

test("a message sent without a connection stays, and is sent once when the connection is back", async ({ page, server }) => {
  await say(page, "!echo before");
  await expect(messages(page, "exec")).toHaveCount(1);
  await server.stop();
  await expect(page.getByTestId("offline-banner")).toBeVisible();
  await say(page, "!echo kept-one");
  await say(page, "!echo kept-two");
  await expect(page.getByTestId("pending")).toHaveCount(2);
  await expect(page.getByTestId("pending").first()).toContainText("Not sent yet");
  await server.start();
  await expect(messages(page, "exec")).toHaveCount(3, { timeout: 60_000 });
  await expect(page.getByTestId("pending")).toHaveCount(0);
  expect(await messages(page, "user").allInnerTexts()).toEqual(["!echo before", "!echo kept-one", "!echo kept-two"]);
});

test("a message whose response was lost is not carried out twice, and a message kept across a reload is sent", async ({ page }) => {
  await say(page, "!echo first");
  await expect(messages(page, "exec")).toHaveCount(1);
  // The server receives the message, but its response is lost; then nothing gets through.
  let lost = 0;
  await page.route("**/messages", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    lost += 1;
    if (lost === 1) await route.fetch();
    await route.abort();
  });
  await say(page, "!echo only-once >> log; wc -l < log");
  await expect.poll(() => lost).toBeGreaterThan(0);
  await composer(page).fill("a draft");
  // Wait for running route handlers to end.
  await page.unrouteAll({ behavior: "wait" });
  await page.reload();
  await expect(composer(page)).toHaveValue("a draft");
  await expect(page.getByTestId("pending")).toHaveCount(0);
  await composer(page).fill("!wc -l < log");
  await page.keyboard.press("Enter");
  await expect(messages(page, "exec")).toHaveCount(3);
  await expect(messages(page, "exec").last().getByLabel("Output")).toHaveText("1");
});

test("a message that the server refuses can be discarded", async ({ page }) => {
  await say(page, "!echo there");
  await expect(messages(page, "exec")).toHaveCount(1);
  await page.route("**/messages", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 400, json: { error: { kind: "invalid", message: "This cannot be said." } } })
      : route.continue(),
  );
  await say(page, "never");
  await expect(page.getByTestId("pending")).toContainText("Not sent: This cannot be said.");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(page.getByTestId("pending")).toHaveCount(0);
});

test("text typed while the page opens the last chat stays, below the draft left there, and so does the cursor", async ({ page }) => {
  await say(page, "!echo first");
  await expect(messages(page, "exec")).toHaveCount(1);
  let come = await opening(page);
  await page.keyboard.type("typed ahead");
  for (let step = 0; step < "ahead".length; step += 1) await page.keyboard.press("ArrowLeft");
  come();
  await expect(messages(page, "exec")).toHaveCount(1);
  await page.keyboard.type("far ");
  await expect(composer(page)).toHaveValue("typed far ahead");
  await expect(page.getByRole("button", { name: "Send" })).toBeEnabled();
  await page.unrouteAll({ behavior: "wait" });
  come = await opening(page);
  await page.keyboard.type("and more");
  come();
  await expect(messages(page, "exec")).toHaveCount(1);
  await expect(composer(page)).toHaveValue("typed far ahead\n\nand more");
  await page.unrouteAll({ behavior: "wait" });
  await page.reload();
  await expect(composer(page)).toHaveValue("typed far ahead\n\nand more");
});

test("a file chosen while the page opens the last chat moves with the text to the chat created for it", async ({ page }) => {
  await say(page, "!echo first");
  await expect(messages(page, "exec")).toHaveCount(1);
  const come = await opening(page);
  let make = () => {};
  const made = new Promise<void>((done) => (make = done));
  // A pattern without the query would not match, and the chat would sometimes be created before the list is loaded.
  await page.route(/\/api\/v1\/chats(\?|$)/, async (route) => {
    if (route.request().method() === "POST") await made;
    await route.continue();
  });
  await page.keyboard.type("Look at this");
  await page.getByTestId("attach").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") });
  come();
  // The list has loaded, and the last chat is known.
  await expect(page.getByTestId("chat")).toHaveCount(1);
  make();
  await expect(page.getByRole("button", { name: "Send" })).toBeEnabled();
  await expect(composer(page)).toHaveValue("Look at this");
  await expect(page.locator("form", { has: composer(page) })).toContainText("notes.txt");
  await page.unrouteAll({ behavior: "wait" });
});

test("each chat keeps its draft", async ({ page }) => {
  await say(page, "!echo first");
  await expect(messages(page, "exec")).toHaveCount(1);
  const first = page.url();
  await composer(page).fill("for the first");
  await page.getByRole("button", { name: "New chat" }).first().click();
  await expect(page).not.toHaveURL(first);
  await expect(composer(page)).toHaveValue("");
  await composer(page).fill("for the second");
  await page.goBack();
  await expect(composer(page)).toHaveValue("for the first");
  await page.goForward();
  await expect(composer(page)).toHaveValue("for the second");
});
