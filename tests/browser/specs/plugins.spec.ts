/** Plugins in the settings: an archive is inspected, installed, disabled and removed; differences of another copy are shown. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, picture, test } from "../house/test";

/** An entry of a tar archive: a ustar header, and the content filled up to whole blocks. */
function entry(name: string, text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write("0000755\0", 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        0", 148);
  header.write("ustar\0", 257);
  header.write("00", 263);
  // The checksum treats its own field as spaces.
  const sum = header.reduce((before, byte) => before + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

/** A plugin in the format of Claude Code, as a .tar.gz archive. */
function guard(version: string, script: string) {
  const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "${CLAUDE_PLUGIN_ROOT}/hooks/guard.sh" }] }] };
  const files = {
    ".claude-plugin/plugin.json": JSON.stringify({ name: "guard", version, description: "Guards the shell", lspServers: { x: { command: "x" } } }),
    "hooks/hooks.json": JSON.stringify({ hooks }),
    "hooks/guard.sh": script,
    ".mcp.json": JSON.stringify({ mcpServers: { db: { command: "db-server" } } }),
    "commands/look.md": "---\ndescription: Looks around\n---\nLook around.",
    "skills/release/SKILL.md": "---\nname: release\ndescription: How to release\n---\nTag it.",
    "agents/looker.md": "---\ndescription: Only looks\n---\nYou only look.",
  };
  const entries = Object.entries(files).map(([name, text]) => entry(`guard/${name}`, text));
  const buffer = gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));
  return { name: "guard.tar.gz", mimeType: "application/gzip", buffer };
}

const list = (page: Page) => page.getByRole("region", { name: "Your plugins" });
/** The card of a plugin, by its heading, since the parts on a card are list items too. */
const card = (page: Page) => list(page).getByRole("listitem").filter({ has: page.getByRole("heading", { name: /^guard / }) });
const form = (page: Page) => page.getByRole("form", { name: "Install a plugin" });

test("an archive shows what it runs before it is installed, and is then listed, disabled and removed", async ({ page }) => {
  await page.goto("/#/settings/plugins");
  await expect(list(page)).toContainText("You have no plugins.");
  await form(page).getByRole("radio", { name: "An archive file" }).check();
  await form(page).getByLabel("Archive", { exact: true }).setInputFiles(guard("1.0", "#!/bin/sh\nexit 2\n"));
  await form(page).getByRole("button", { name: "Inspect" }).click();
  const looked = form(page).getByRole("region", { name: "guard 1.0" });
  await expect(looked).toContainText("Guards the shell");
  await expect(looked.getByText("PreToolUse Bash")).toBeVisible();
  await expect(looked.locator("pre").filter({ hasText: "${CLAUDE_PLUGIN_ROOT}/hooks/guard.sh" })).toBeVisible();
  await expect(looked.locator("pre").filter({ hasText: "db-server" })).toBeVisible();
  await expect(looked.getByText("lspServers", { exact: true })).toBeVisible();
  await expect(form(page).getByRole("status")).toContainText("Nothing is installed yet.");
  await expect(list(page)).toContainText("You have no plugins.");
  await expectAccessible(page);
  await picture(page, "plugins-look");

  await form(page).getByRole("button", { name: "Install" }).click();
  await expect(form(page).getByRole("status")).toHaveText("guard is installed. Agents use it from the next turn on.");
  await expect(form(page).getByRole("button", { name: "Install" })).toHaveCount(0);
  await expect(card(page).getByRole("heading", { name: "guard 1.0 Used" })).toBeVisible();
  await expect(card(page)).toContainText("the archive guard");
  for (const [fold, part] of [["1 hook", "PreToolUse Bash"], ["1 slash command", "/guard:look"], ["1 skill", "guard:release"], ["1 role for sub-agents", "guard:looker"]] as const) {
    await expect(card(page).getByText(part)).toBeHidden();
    await card(page).getByText(fold, { exact: true }).click();
    await expect(card(page).getByText(part)).toBeVisible();
  }
  await expectAccessible(page);
  await picture(page, "plugins");

  await card(page).getByRole("button", { name: "Disable guard" }).click();
  await expect(card(page).getByRole("heading", { name: "guard 1.0 Not used" })).toBeVisible();
  await page.reload();
  await card(page).getByRole("button", { name: "Enable guard" }).click();
  await expect(card(page).getByRole("heading", { name: "guard 1.0 Used" })).toBeVisible();
  await card(page).getByRole("button", { name: "Remove guard" }).click();
  await card(page).getByRole("button", { name: "Remove", exact: true }).click();
  await expect(list(page)).toContainText("You have no plugins.");
});

test("another copy names the files that differ, and a failed installation shows the reason and keeps the form", async ({ page }) => {
  await page.goto("/#/settings/plugins");
  await form(page).getByRole("button", { name: "Inspect" }).click();
  await expect(form(page).getByLabel("Source", { exact: true })).toHaveAccessibleDescription(/^Enter a source\./);
  await form(page).getByLabel("Source", { exact: true }).fill("nothing at all");
  await form(page).getByRole("button", { name: "Inspect" }).click();
  await expect(form(page).getByRole("alert").filter({ hasText: "the plugin cannot be installed" })).toBeVisible();
  await expect(form(page).getByLabel("Source", { exact: true })).toHaveValue("nothing at all");
  await expectAccessible(page);

  await form(page).getByRole("radio", { name: "An archive file" }).check();
  const archive = form(page).getByLabel("Archive", { exact: true });
  await archive.setInputFiles({ name: "guard.zip", mimeType: "application/zip", buffer: Buffer.from("no archive") });
  await form(page).getByRole("button", { name: "Inspect" }).click();
  await expect(form(page).getByRole("alert").filter({ hasText: "neither a .tar.gz nor a .zip archive" })).toBeVisible();
  for (const version of ["1.0", "2.0"]) {
    await archive.setInputFiles(guard(version, `#!/bin/sh\necho ${version}\n`));
    await form(page).getByRole("button", { name: "Inspect" }).click();
    const looked = form(page).getByRole("region", { name: `guard ${version}` });
    await expect(looked).toBeVisible();
    if (version === "2.0") {
      await expect(looked).toContainText("It replaces your copy 1.0");
      await expect(looked.getByRole("listitem").filter({ hasText: /^hooks\/guard\.sh$/ })).toBeVisible();
      await expect(looked.getByRole("listitem").filter({ hasText: /^commands\/look\.md$/ })).toHaveCount(0);
      await expectAccessible(page);
      await picture(page, "plugins-other-copy");
    }
    await form(page).getByRole("button", { name: "Install" }).click();
    await expect(card(page).getByRole("heading", { name: `guard ${version} Used` })).toBeVisible();
  }
  await expect(card(page)).toHaveCount(1);
});

test("a marketplace lists its plugins, one is installed by name, another copy is detected, and a plugin is shared", async ({ page, laptop }) => {
  const market = join(laptop.workspace, "market");
  const write = (text: string) => {
    mkdirSync(join(market, ".claude-plugin"), { recursive: true });
    mkdirSync(join(market, "style/skills/write"), { recursive: true });
    const plugins = [{ name: "style", source: "./style", description: "How we write", version: "1.0" }];
    writeFileSync(join(market, ".claude-plugin/marketplace.json"), JSON.stringify({ name: "tools", plugins }));
    writeFileSync(join(market, "style/skills/write/SKILL.md"), `---\nname: write\ndescription: How to write\n---\n${text}`);
  };
  write("Short sentences.");
  await page.goto("/#/settings/plugins");
  await page.getByText("Marketplaces", { exact: true }).click();
  const markets = page.getByRole("region", { name: "Marketplaces" });
  await markets.getByLabel("Source of a marketplace").fill("runner:laptop:nothing");
  await markets.getByRole("button", { name: "Add a marketplace" }).click();
  await expect(markets.getByRole("alert").filter({ hasText: "cannot be read" })).toHaveCount(1);
  await expect(markets.getByLabel("Source of a marketplace")).toHaveValue("runner:laptop:nothing");
  await markets.getByLabel("Source of a marketplace").fill("runner:laptop:market");
  await markets.getByRole("button", { name: "Add a marketplace" }).click();
  await expect(markets).toContainText("How we write");
  await expectAccessible(page);
  await picture(page, "marketplaces");
  await markets.getByRole("button", { name: "Inspect style@tools" }).click();
  await expect(form(page).getByLabel("Source", { exact: true })).toHaveValue("style@tools");
  await form(page).getByRole("button", { name: "Inspect" }).click();
  await form(page).getByRole("button", { name: "Install", exact: true }).click();
  const style = list(page).getByRole("listitem").filter({ has: page.getByRole("heading", { name: /^style/ }) });
  await expect(style).toContainText("Used");
  await expect(style).not.toContainText("now offers a different copy");
  write("Very short sentences.");
  await markets.getByRole("button", { name: "Read it again: tools" }).click();
  await expect(markets.getByText("Different copy", { exact: true })).toBeVisible();
  await page.reload();
  await expect(style).toContainText("Its source now offers a different copy.");
  await style.getByRole("button", { name: "Share style" }).click();
  await style.getByRole("button", { name: "Share", exact: true }).last().click();
  await expect(style.getByText("Shared", { exact: true })).toBeVisible();
  await page.getByText("Shared on this server", { exact: true }).click();
  const shelf = page.getByRole("region", { name: "Shared on this server" });
  await expect(shelf).toContainText("yours");
  await expectAccessible(page);
  await picture(page, "shelf");
  await shelf.getByRole("button", { name: /^Stop sharing / }).click();
  await shelf.getByRole("button", { name: "Stop sharing", exact: true }).last().click();
  await expect(shelf).toContainText("No user of this server shares a plugin.");
});
