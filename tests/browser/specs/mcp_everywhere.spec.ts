/**
 * The published MCP servers from the page: `e2e/mcp_everywhere.rs` has a chat in which they answered from a runner, from a container and
 * over HTTP, names it, and runs this.
 */
import { expect, messages, say, sessionOf, test } from "../house/test";
import { Person, Server } from "../house/server";

test("the published servers answer in the page from a runner, from a container and over HTTP", async ({ browser }) => {
  const server = new Server([]);
  server.url = process.env.SERVER_URL ?? "";
  const alice = new Person(server, "alice");
  const page = await (await sessionOf(browser, alice)).newPage();
  await page.goto(`/#/chats/${process.env.CHAT_ID}`);
  const place = page.getByRole("button", { name: /^Active runner/ });
  for (const [kind, word, name, answeredFrom] of [
    ["programs", "onpage", "laptop", "laptop"],
    ["programs", "inpage", "the Docker container", "container"],
    ["services", "bypage", "the Docker container", "service"],
  ] as const) {
    await expect(place).toBeVisible();
    if (!(await place.innerText()).includes(name)) {
      await place.click();
      await page.getByRole("menuitemradio", { name }).click();
    }
    await expect(place).toHaveAccessibleName(new RegExp(`^Active runner: ${name}`));
    await say(page, `${kind} ${word}`);
    await expect(messages(page, "assistant").last()).toContainText(`${word}: all five answered from the ${answeredFrom}`);
  }
  const results = page.getByTestId("tool");
  await results.last().click();
  await expect(page.getByText("Message: Add the notes").last()).toBeVisible();
  await page.context().close();
  await alice.close();
  await server.close();
});
