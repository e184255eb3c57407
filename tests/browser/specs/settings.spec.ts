import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { Server } from "../house/server";
import { expect, expectAccessible, loaded, messages, PASSWORD, say, sessionOf, signedIn, together as test } from "../house/test";

/** Each section's id, as in its address, and its name. */
const SECTIONS = {
  general: "General",
  appearance: "Appearance",
  account: "Account",
  runners: "Runners",
  models: "Models",
  approvals: "Approvals",
  hooks: "Hooks",
  mcp: "MCP servers",
  trust: "Trust",
  http: "HTTP tools",
  plugins: "Plugins",
  automations: "Automations",
  channels: "Channels",
  knowledge: "Knowledge",
  memory: "Memory",
  usage: "Usage and cost",
  keys: "API keys",
  users: "Users",
  server: "Server",
  nodes: "Nodes",
  audit: "Audit",
  about: "About",
};
/** Sections that together use every colour of the settings. */
const COLOURFUL = ["Runners", "Approvals", "Usage and cost"];
const PHONE = { width: 360, height: 740 };

async function open(page: Page, section: string): Promise<void> {
  if ((await page.getByRole("dialog").count()) === 0) await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("navigation", { name: "Settings" }).getByRole("button", { name: section, exact: true }).click();
  await expect(page.getByRole("heading", { name: section, exact: true })).toBeVisible();
  await loaded(page);
}

/** The parts of the settings that are wider than their place. */
function tooWide(page: Page): Promise<string[]> {
  return page.getByRole("dialog").evaluate((dialog) =>
    [dialog, ...dialog.querySelectorAll("section, header, form, ul, dl, fieldset")]
      .filter((element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible")
      .map((element) => element.outerHTML.slice(0, 200)),
  );
}

// The tests share a server: each leaves it as the next ones need it.

/** Alice, the first user, administers the server. `looks.spec.ts` examines how the sections look. */
test("every section opens, has an address and fits a phone, and the language is chosen in one place", async ({ page }) => {
  const languages = page.locator("select").filter({ has: page.locator("option[lang=zh]") });
  const desktop = page.viewportSize() ?? PHONE;
  for (const [id, name] of Object.entries(SECTIONS)) {
    await open(page, name);
    expect(new URL(page.url()).hash).toBe(`#/settings/${id}`);
    // In a test, the server has no embedder, as its settings say.
    if (id !== "server") await expect(page.getByRole("dialog").getByRole("alert").filter({ hasText: /./ })).toHaveCount(0);
    await expect(languages).toHaveCount(id === "general" ? 1 : 0);
    await page.setViewportSize(PHONE);
    expect(await tooWide(page), name).toEqual([]);
    await page.setViewportSize(desktop);
  }
  await open(page, "General");
  await expect(page.getByRole("combobox", { name: "Language", exact: true })).toHaveCount(1);
  await open(page, "Nodes");
  await expect(page.getByText("This server runs alone.")).toBeVisible();
  await open(page, "About");
  await page.reload();
  await expect(page.getByRole("heading", { name: "About", exact: true })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.goto("/#/settings/models");
  await expect(page.getByRole("heading", { name: "Models", exact: true })).toBeVisible();
});

test("users are added, made administrators, given a password and removed", async ({ page }) => {
  await open(page, "Users");
  await page.getByLabel("Name", { exact: true }).fill("carol");
  await page.getByLabel("First password").fill("a long enough password");
  await page.getByRole("button", { name: "Add user" }).click();
  const carol = page.getByTestId("user").filter({ hasText: "carol" });
  await carol.getByRole("button", { name: "Make administrator" }).click();
  await expect(carol.getByText("Administrator", { exact: true })).toBeVisible();
  await carol.getByRole("button", { name: "Set password" }).click();
  await carol.getByLabel("New password of carol").fill("another long password");
  await carol.getByRole("button", { name: "Save" }).click();
  await expect(carol.getByLabel("New password of carol")).toHaveCount(0);
  await carol.getByRole("button", { name: "Remove carol" }).click();
  await carol.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(carol).toHaveCount(0);
  await expect(page.getByTestId("user").filter({ hasText: "alice" }).getByRole("button")).toHaveCount(0);
  await open(page, "Audit");
  await page.getByLabel("Action").fill("user.");
  await expect(page.getByRole("cell", { name: "carol" }).first()).toBeVisible();
});

test("users are only for administrators", async ({ alice, browser, server }) => {
  const bob = await server.person("bob");
  const { page, errors } = await signedIn(browser, bob);
  await open(page, "General");
  for (const section of ["Users", "Nodes"]) await expect(page.getByRole("button", { name: section, exact: true })).toHaveCount(0);
  await page.goto("/#/settings/users");
  await expect(page.getByRole("heading", { name: "General", exact: true })).toBeVisible();
  expect([alice.name, errors]).toEqual(["alice", []]);
  await bob.close();
});

test("new chats begin in the chosen approval mode, and the open chat keeps its mode until it is changed", async ({ page }) => {
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await open(page, "Approvals");
  const begin = page.getByRole("group", { name: "New chats begin with" });
  await begin.getByRole("radio", { name: "Auto-edit" }).click();
  await expect(begin.getByRole("radio", { name: "Auto-edit" })).toBeChecked();
  const own = page.getByRole("group", { name: /^In “/ });
  await expect(own.getByRole("radio", { name: "Ask" })).toBeChecked();
  await own.getByRole("radio", { name: "Plan" }).click();
  await expect(own.getByRole("radio", { name: "Plan" })).toBeChecked();
  await page.reload();
  await expect(begin.getByRole("radio", { name: "Auto-edit" })).toBeChecked();
  await expect(own.getByRole("radio", { name: "Plan" })).toBeChecked();
  await page.keyboard.press("Escape");
  // `open` checks whether the settings are already open.
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await open(page, "Approvals");
  await expect(own.getByRole("radio", { name: "Auto-edit" })).toBeChecked();
});

test("instructions for agents are kept", async ({ page }) => {
  await open(page, "General");
  await page.getByLabel("Instructions for every agent").fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved.")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Instructions for every agent")).toHaveValue("Be brief.");
});

test("a key for a program is shown once, works, and stops when it is removed", async ({ page, server }) => {
  await open(page, "API keys");
  await page.getByLabel("Name", { exact: true }).fill("ci");
  await page.getByLabel("Permissions").selectOption("read");
  await page.getByRole("button", { name: "Make key" }).click();
  const key = await page.getByTestId("api-key").innerText();
  const asks = async () => (await fetch(`${server.url}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status;
  expect(await asks()).toBe(200);
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await expect(page.getByText("ci Read only")).toBeVisible();
  expect(await page.content()).not.toContain(key);
  await page.getByRole("button", { name: "Remove key ci" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByText("No keys yet.")).toBeVisible();
  expect(await asks()).toBe(401);
});

/** The server's tests cover Docker itself; here the page gets the responses for a made-up container. */
test("the user's container is stopped, committed, replaced and reset, with or without its workspace", async ({ page }) => {
  const asked: string[] = [];
  await page.route("**/api/v1/settings", async (route) => {
    const answer = await route.fetch();
    const settings = (await answer.json()) as { choices?: { kind: string; available: boolean }[] };
    for (const choice of settings.choices ?? []) if (choice.kind === "docker") choice.available = true;
    await route.fulfill({ response: answer, json: settings });
  });
  await page.route(/\/api\/v1\/container/, async (route) => {
    const request = route.request();
    const { pathname, search } = new URL(request.url());
    if (request.method() === "GET") {
      const limits = { memory: 2_147_483_648, pids: 512, cpus: 2, unlimited: ["cpus"], idle_stop: null };
      const facts = { name: "sandbridge-alice", state: "running", image: "debian:stable", own_image: true, network: "bridge" };
      await route.fulfill({ json: { ...facts, ...limits, read_only: false, user_namespace: "mapped", workspace: "volume" } });
      return;
    }
    asked.push(`${request.method()} ${pathname.replace("/api/v1/container", "")}${search}`);
    await route.fulfill(pathname.endsWith("commit") ? { json: { image: "sha256:0" } } : { status: 204 });
  });
  await page.reload();
  await open(page, "Runners");
  const card = page.getByTestId("container");
  await expect(card).toContainText("2,048 MiB · 512 processes · 2 CPUs");
  await expectAccessible(page);
  await card.getByRole("button", { name: "Stop" }).click();
  await expect(card.getByRole("status")).toHaveText("It is stopped; the next use starts it again.");
  await card.getByRole("button", { name: "Commit" }).click();
  await expect(card.getByRole("status")).toHaveText("Its contents are now the image of your next containers.");
  await card.getByLabel("Reset and import include the workspace").check();
  const chooser = page.waitForEvent("filechooser");
  await card.getByRole("button", { name: "Import…" }).click();
  await (await chooser).setFiles({ name: "container.tar", mimeType: "application/x-tar", buffer: Buffer.from("tar") });
  await expect(card.getByRole("status")).toHaveText("The archive is now the image of your next containers.");
  await card.getByRole("button", { name: "Reset" }).click();
  await expect(card.getByText("Reset the container and its workspace? Everything in them is lost.")).toBeVisible();
  await card.getByRole("button", { name: "Reset" }).click();
  await expect(card.getByRole("status")).toHaveText("The container is reset; the next use creates a new one.");
  expect(asked).toEqual(["POST /stop", "POST /commit", "PUT /import?workspace=true", "DELETE ?workspace=true"]);
});

test("the chat looks the same before and after the settings are open", async ({ page }) => {
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(page.getByTestId("message")).toHaveCount(0);
  await say(page, "!true");
  await expect(page.getByTestId("exec-status")).toContainText("exit 0");
  const looks = () =>
    page.evaluate(() =>
      Array.from(document.querySelectorAll("main *, aside *"), (element) => {
        const style = getComputedStyle(element);
        const shown = ["color", "backgroundColor", "fontSize", "fontFamily", "fontWeight", "display", "margin", "padding", "gap", "border", "overflowWrap", "whiteSpace"] as const;
        return `${element.tagName} ${element.getAttribute("class") ?? ""} ${shown.map((name) => style[name]).join("|")}`;
      }),
    );
  await expect(page.getByRole("button", { name: /^Model:/ })).toBeVisible();
  await expect(page.getByTestId("turn-status")).toHaveCount(0);
  // Move the pointer away: the card's menu is visible while the pointer or the focus is on the card.
  await page.mouse.move(0, 0);
  const before = await looks();
  await expect(page.locator("[data-tone=good]")).toHaveCount(1);
  for (const section of COLOURFUL) await open(page, section);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.mouse.move(0, 0);
  expect(await looks()).toEqual(before);
});

test("where no price is known, no cost is shown", async ({ page, model }) => {
  model.answersWith({ say: "Free of charge?" });
  await say(page, "What does it cost?");
  await expect(messages(page, "assistant").last()).toContainText("Free of charge?");
  await page.getByRole("button", { name: /^Context: / }).click();
  await expect(page.getByRole("dialog", { name: "This chat" })).toContainText("unknown price");
  await expect(page.getByText("$0")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await open(page, "Usage and cost");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("row", { name: /scripted/ })).toContainText("unknown price");
  // The figures of today and of the period, and the row of the model.
  await expect(dialog.getByText("unknown price")).toHaveCount(3);
  await expect(dialog.getByText("Tokens by day")).toBeVisible();
  await expect(dialog).not.toContainText("$0");
});

// Afterwards the default is a subscription that is gone, so no later test may ask a model.
test("a subscription is added, tested and made the default; its key is never shown again", async ({ page, model }) => {
  model.answersWith({ say: "pong" });
  await open(page, "Models");
  await page.getByRole("button", { name: "Add a subscription" }).click();
  const form = page.getByRole("form", { name: "Add a subscription" });
  await form.getByLabel("Name", { exact: true }).fill("mine");
  await form.getByLabel("Address").fill(model.options()[3] ?? "");
  await form.getByLabel("API key").fill("secret-key-of-mine-wxyz");
  await form.getByRole("combobox", { name: "Balance" }).fill("scripted");
  await expectAccessible(page);
  await form.getByRole("button", { name: "Save" }).click();
  const card = page.locator("[data-testid=subscription][data-name=mine]");
  await expect(card).toContainText("ends in wxyz");
  await card.getByRole("button", { name: "Test" }).click();
  await expect(card.getByRole("status")).toContainText("pong");
  await page.getByLabel("Default model").selectOption("mine/balance");
  await expect(card.getByText("default", { exact: true })).toBeVisible();
  await card.getByRole("button", { name: "Edit" }).click();
  await expect(page.getByLabel("API key")).toHaveValue("");
  await page.getByRole("button", { name: "Cancel" }).click();
  await card.getByRole("button", { name: "Remove mine" }).click();
  await card.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(card).toHaveCount(0);
  expect(await page.content()).not.toContain("secret-key-of-mine");
});

test("the audit trail is whole on a phone", async ({ page }) => {
  await say(page, `!echo ${"long".repeat(60)}`);
  await expect(page.getByTestId("exec-status").last()).toContainText("exit 0");
  await page.setViewportSize(PHONE);
  await page.goto("/#/settings/audit");
  const table = page.getByRole("group", { name: "Audit" }).getByRole("table");
  const rows = table.locator("tbody tr");
  await expect(rows.filter({ hasText: "longlonglong" }).first()).toBeVisible();
  const cut = await rows.locator("td").evaluateAll((cells) =>
    cells.filter((cell) => {
      const { left, right, height } = cell.getBoundingClientRect();
      const isCut = left < 0 || right > window.innerWidth || cell.scrollWidth > Math.ceil(right - left);
      return cell.textContent !== "" && (isCut || height === 0);
    }).map((cell) => cell.outerHTML),
  );
  expect(cut).toEqual([]);
  for (const element of [page.getByRole("group", { name: "Audit" }), page.locator("html")]) {
    expect(await element.evaluate((shown) => shown.scrollWidth <= shown.clientWidth)).toBe(true);
  }
  await expectAccessible(page);
});

test("About says whether a model is set up", async ({ browser, model }) => {
  const server = new Server([]);
  await server.start();
  const ada = await server.person("ada");
  const page = await (await sessionOf(browser, ada)).newPage();
  const fact = page.getByRole("definition").and(page.locator("dt:text-is('A model is set up') + dd"));
  await page.goto("/#/settings/about");
  await expect(fact).toHaveText("no");
  await open(page, "Models");
  await page.getByRole("button", { name: "Add a subscription" }).click();
  const form = page.getByRole("form", { name: "Add a subscription" });
  await form.getByLabel("Name", { exact: true }).fill("mine");
  await form.getByLabel("Address").fill(model.options()[3] ?? "");
  await form.getByRole("combobox", { name: "Balance" }).fill("scripted");
  await form.getByRole("button", { name: "Save" }).click();
  await expect(page.locator("[data-testid=subscription][data-name=mine]")).toBeVisible();
  await open(page, "About");
  await expect(fact).toHaveText("yes");
  await page.context().close();
  await ada.close();
  await server.close();
});

test("the text has a size that stays", async ({ page }) => {
  await open(page, "Appearance");
  const size = () => page.evaluate(() => parseFloat(getComputedStyle(document.body).fontSize));
  const sizes: number[] = [];
  for (const choice of ["Small", "Normal", "Large", "Very large"]) {
    await page.getByLabel("Text size").selectOption(choice);
    sizes.push(await size());
  }
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  expect(new Set(sizes).size).toBe(4);
  await page.reload();
  await expect(page.getByLabel("Text size")).toHaveValue("huge");
  expect(await size()).toBe(sizes.at(-1));
  await expectAccessible(page);
});

/** Moves the times at which users last gave their password half an hour into the past, since the server's clock cannot be changed. */
function agePasswords(home: string): void {
  const age = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=10); db.execute('UPDATE sessions SET confirmed_at_ms = confirmed_at_ms - 1800000'); db.commit()";
  execFileSync("python3", ["-c", age, join(home, "sandbridge.db")]);
}

// The last test: it leaves all sessions without a recent confirmation.
test("the password is asked for again before a key, a user or a machine is added, and then the action continues", async ({ page, server, alice }) => {
  const dialog = page.getByRole("dialog", { name: "Confirm your password" });
  await open(page, "API keys");
  agePasswords(server.home);
  await page.getByLabel("Name", { exact: true }).fill("late");
  await page.getByRole("button", { name: "Make key" }).click();
  await expect(dialog).toBeVisible();
  await expectAccessible(page);
  await dialog.getByLabel("Password").fill("a wrong one");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await expect(dialog.getByRole("alert")).toContainText("that is not your password");
  expect(await alice.json(["key", "list"])).toEqual([]);
  // Cancelling creates nothing, and the user may begin again.
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("heading", { name: "API keys", exact: true })).toBeVisible();
  expect(await alice.json(["key", "list"])).toEqual([]);
  await page.getByRole("button", { name: "Make key" }).click();
  await dialog.getByLabel("Password").fill(PASSWORD);
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("api-key")).toBeVisible();
  await expect(dialog).toHaveCount(0);
  // The confirmation is valid for a few minutes.
  await open(page, "Users");
  await page.getByLabel("Name", { exact: true }).fill("carol");
  await page.getByLabel("First password").fill("a long enough password");
  await page.getByRole("button", { name: "Add user" }).click();
  await expect(page.getByTestId("user").filter({ hasText: "carol" })).toBeVisible();
  agePasswords(server.home);
  await page.getByTestId("user").filter({ hasText: "carol" }).getByRole("button", { name: "Make administrator" }).click();
  await expect(dialog).toBeVisible();
});
