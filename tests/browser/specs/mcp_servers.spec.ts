/** MCP servers in the settings: a waiting server is shown in full and approved, a checked server lists its tools, changes are shown. */
import { copyFileSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, isAfterTool, messages, picture, say, test } from "../house/test";

/** A server with one tool, `echo`; a file that the server's command does not name contains the description of that tool. */
const ECHO = join(import.meta.dirname, "../../fixtures/mcp_echo.py");

const list = (page: Page) => page.getByRole("region", { name: "All servers" });
/** The card of a server, by its heading, since the tools on a card are list items too. */
const card = (page: Page, name: string) => list(page).getByRole("listitem").filter({ has: page.getByRole("heading", { name }) });
const form = (page: Page) => page.getByRole("form", { name: "Add a server of your own" });

test("a server of the workspace waits, is approved, lists its tools, and changes in them are accepted", async ({ page, laptop }) => {
  const description = join(laptop.workspace, "echo-description");
  copyFileSync(ECHO, join(laptop.workspace, "echo.py"));
  writeFileSync(description, "Repeats a text.");
  const echo = { command: "python3", args: ["echo.py"], env: { ECHO_TOKEN: "shown too" } };
  writeFileSync(join(laptop.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { echo } }));
  await page.goto("/#/settings/mcp");
  const echoed = card(page, "echo");
  await expect(echoed).toContainText("Waiting for approval");
  await expect(echoed).toContainText(".mcp.json");
  // Values set in a file of the workspace are not secret, and may change what runs, so they are shown.
  await expect(echoed).toContainText("Environment variables: ECHO_TOKEN=shown too");
  await expect(echoed).toContainText("The approval covers these files: echo.py");
  await expect(echoed.getByRole("button", { name: "Check echo" })).toHaveCount(0);
  await echoed.getByRole("button", { name: "Approve echo" }).click();
  await expect(echoed.getByRole("group").getByText("python3 echo.py")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "mcp-approve");
  await echoed.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(echoed.getByText("Ready", { exact: true })).toBeVisible();
  await echoed.getByRole("button", { name: "Check echo" }).click();
  await expect(echoed.getByText("The server answered: it offers 1 tool.")).toBeVisible();
  await expect(echoed.getByText("mcp__echo__echo")).toBeVisible();
  await expect(echoed.getByText("Repeats a text.")).toBeVisible();
  // The picture that the server sent is drawn; the one that it has an address for is not asked for.
  await expect(echoed.locator("img")).toHaveJSProperty("naturalWidth", 1);
  await expectAccessible(page);
  await picture(page, "mcp");

  writeFileSync(description, "Repeats a text, and sends it to somebody else.");
  await echoed.getByRole("button", { name: "Check echo" }).click();
  await expect(echoed.getByText(/^1 tool changed/)).toBeVisible();
  await expect(echoed.locator("pre").filter({ hasText: "Repeats a text." })).toBeVisible();
  await expect(echoed.locator("pre").filter({ hasText: "to somebody else" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "mcp-changed");
  await echoed.getByRole("button", { name: "Accept the changes to echo" }).click();
  await echoed.getByRole("button", { name: "Accept the changes", exact: true }).click();
  await expect(echoed.getByText(/^1 tool changed/)).toHaveCount(0);
  await page.reload();
  await echoed.getByText("1 tool", { exact: true }).click();
  await expect(echoed.getByText("to somebody else")).toBeVisible();

  await echoed.getByRole("button", { name: "Revoke the approval of echo" }).click();
  await echoed.getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(echoed).toContainText("Waiting for approval");
});

test("the user's own server is entered with hints, checked at once, replaced and removed", async ({ page, laptop }) => {
  copyFileSync(ECHO, join(laptop.workspace, "echo.py"));
  writeFileSync(join(laptop.workspace, "a description.txt"), "Says it again.");
  await page.goto("/#/settings/mcp");
  await expect(list(page)).toContainText("There are no MCP servers.");
  await expect(list(page)).toContainText(".mcp.json");
  const [name, command, variables] = [form(page).getByLabel("Name"), form(page).getByLabel("Command line"), form(page).getByLabel(/^Environment variables/)];
  await name.fill("my echo");
  await command.fill("python3 echo.py 'a description.txt");
  await variables.fill("TOKEN=secret value\nexport B=1");
  await form(page).getByRole("button", { name: "Add server" }).click();
  await expect(name).toBeFocused();
  await expect(name).toHaveAccessibleDescription(/^Enter a name of letters/);
  await expect(command).toHaveAccessibleDescription(/^A quote is opened but not closed\./);
  await expect(variables).toHaveAccessibleDescription(/^Line 2 is not of the form NAME=value\./);
  await expectAccessible(page);
  await picture(page, "mcp-problems");
  await name.fill("mine");
  await command.fill("python3 echo.py 'a description.txt'");
  await variables.fill("TOKEN=secret value");
  await form(page).getByRole("button", { name: "Add server" }).click();
  const mine = card(page, "mine");
  await expect(mine).toContainText("by you");
  await expect(mine).toContainText("Environment variables: TOKEN");
  await expect(form(page).getByText("mine is saved.")).toBeVisible();
  await expect(variables).toHaveValue("");
  await form(page).getByRole("button", { name: "Check it now" }).click();
  await expect(form(page).getByText("The server answered: it offers 1 tool.")).toBeVisible();
  await mine.getByText("1 tool", { exact: true }).click();
  await expect(mine.getByText("mcp__mine__echo")).toBeVisible();
  await expect(mine.getByText("Says it again.")).toBeVisible();

  await name.fill("mine");
  await command.fill(`python3 -c 'import sys; sys.exit("the database\\nis away")'`);
  await form(page).getByRole("button", { name: "Replace server" }).click();
  await expect(mine).toContainText("Its tools are not known yet.");
  await mine.getByRole("button", { name: "Check mine" }).click();
  await expect(mine.getByRole("alert").filter({ hasText: "the database\nis away" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "mcp-failed");
  await page.reload();
  await expect(list(page)).not.toContainText("secret value");
  await mine.getByRole("button", { name: "Remove mine" }).click();
  await mine.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(list(page)).toContainText("There are no MCP servers.");
});

test("an address has headers, and an invalid one is refused with an explanation", async ({ page }) => {
  await page.goto("/#/settings/mcp");
  await form(page).getByRole("radio", { name: "Network service" }).check();
  await form(page).getByLabel("Name").fill("far");
  const address = form(page).getByLabel("Address", { exact: true });
  await address.fill("mcp.example.com");
  await form(page).getByLabel(/^Headers/).fill("Authorization: Bearer secret value");
  await form(page).getByRole("button", { name: "Add server" }).click();
  await expect(address).toHaveAccessibleDescription(/^Enter an address that begins with/);
  await address.fill("https://mcp.example.com/mcp");
  await form(page).getByRole("button", { name: "Add server" }).click();
  const far = card(page, "far");
  await expect(far).toContainText("https://mcp.example.com/mcp");
  await expect(far).toContainText("Headers: Authorization");
  await expect(far).not.toContainText("secret value");
  // The same service in the network of a runner, with client credentials.
  await form(page).getByLabel("Name").fill("inner");
  await address.fill("http://10.0.0.5:8080/mcp");
  const via = form(page).getByLabel(/^Through a runner/);
  await via.fill("auto");
  await form(page).getByText("Client credentials (optional)").click();
  await form(page).getByLabel("Client ID").fill("sandbridge");
  const secret = form(page).getByLabel("Client secret");
  await expect(secret).toHaveAttribute("type", "password");
  await form(page).getByRole("button", { name: "Add server" }).click();
  await expect(via).toHaveAccessibleDescription(/^Enter the name of a runner/);
  await expect(secret).toHaveAccessibleDescription(/^Enter the secret of the client/);
  await expectAccessible(page);
  await via.fill("laptop");
  await secret.fill("a-s3cret-of-mine");
  await form(page).getByRole("button", { name: "Add server" }).click();
  const inner = card(page, "inner");
  await expect(inner).toContainText("http://10.0.0.5:8080/mcp via laptop");
  await expect(inner).toContainText("oauth.clientSecret");
  await expect(page.locator("body")).not.toContainText("a-s3cret-of-mine");
  await expectAccessible(page);
});

test("a tool of a published server is added in the page, allowed in a chat, and its result is shown", async ({ page, model, laptop }) => {
  const published = join(import.meta.dirname, "../../mcp/node_modules");
  // The package `node`, another Node.js, is two thirds of them.
  const filter = (source: string) => !/node_modules\/(node|@octokit)$/.test(source);
  cpSync(published, join(laptop.workspace, "node_modules"), { recursive: true, verbatimSymlinks: true, filter });
  await page.goto("/#/settings/mcp");
  await form(page).getByLabel("Name").fill("everything");
  await form(page).getByLabel("Command line").fill("node node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio");
  await form(page).getByRole("button", { name: "Add server" }).click();
  await form(page).getByRole("button", { name: "Check it now" }).click();
  await expect(form(page).getByText(/^The server answered: it offers \d+ tools\.$/)).toBeVisible();
  await page.goto("/");
  model.answers((asked) => (isAfterTool(asked) ? { say: "It is added." } : { call: [["mcp__everything__get-sum", { a: 2, b: 40 }]] }));
  await say(page, "Add 2 and 40");
  const asked = page.getByRole("group", { name: /^Allow .*get-sum/ });
  await expect(asked).toBeVisible();
  await expectAccessible(page);
  await picture(page, "mcp-call");
  await asked.getByRole("button", { name: "Allow", exact: true }).click();
  await expect(messages(page, "assistant").last()).toContainText("It is added.");
  const result = page.getByTestId("tool").last();
  await result.click();
  await expect(page.getByText("The sum of 2 and 40 is 42.")).toBeVisible();
});
