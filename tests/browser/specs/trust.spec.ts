/** Trust in the settings: everything that a workspace defines is approved in one place, and a changed item waits again and is marked. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, isAfterTool, messages, picture, say, test } from "../house/test";

const TOOL = `#!/bin/sh
[ "$1" = --describe ] && { echo '{"description": "Says hello"}'; exit; }
echo "hello from the tool"
`;

test("an item that a workspace defines waits, is approved, works, waits again after a change, and is revoked", async ({ page, model, laptop }) => {
  model.answers((asked) => (isAfterTool(asked) ? { say: "Done." } : { call: [["custom__hello", {}]] }));
  const tool = join(laptop.workspace, "custom-tools/hello");
  mkdirSync(join(laptop.workspace, "custom-tools"));
  writeFileSync(tool, TOOL);
  chmodSync(tool, 0o755);
  mkdirSync(join(laptop.workspace, "skills/talk"), { recursive: true });
  writeFileSync(join(laptop.workspace, "skills/talk/SKILL.md"), "---\nalways: true\n---\nBe kind.");
  await page.goto("/#/settings/trust");
  const list = page.getByRole("region", { name: "What this workspace defines" });
  const card = list.getByRole("listitem").filter({ hasText: "Custom tool hello" });
  await expect(list.getByRole("listitem")).toHaveCount(2);
  await expect(card).toContainText("Waiting for approval");
  await expect(card).toContainText("Covered files: custom-tools/hello");
  await expectAccessible(page);
  await picture(page, "trust");
  await card.getByRole("button", { name: /^Approve hello \([0-9a-f]{12}\)$/ }).click();
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(card).toContainText("Approved");
  await page.keyboard.press("Escape");
  await say(page, "Go");
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await expect(messages(page, "assistant").last()).toContainText("Done.");
  await expect(page.getByText("Waiting for your approval in this workspace")).toBeVisible();
  writeFileSync(tool, TOOL.replace("hello from", "goodbye from"));
  await page.goto("/#/settings/trust");
  await expect(card).toContainText("Changed since you approved it");
  await expect(card).toContainText("Changed files: custom-tools/hello");
  await expectAccessible(page);
  await card.getByRole("button", { name: /^Approve hello / }).click();
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(card).toContainText("Approved");
  // The approval of the old content still exists, and can be revoked.
  const given = page.getByRole("region", { name: "Your approvals elsewhere" });
  await given.getByRole("button", { name: /^Revoke the approval of hello / }).click();
  await given.getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(given).toContainText("You have approved nothing in other workspaces.");
  await card.getByRole("button", { name: /^Revoke the approval of hello / }).click();
  await card.getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(card).toContainText("Waiting for approval");
});

test("/trust asks in the chat about waiting items, shows each in full, and approves it there", async ({ page, laptop }) => {
  mkdirSync(join(laptop.workspace, "skills/talk"), { recursive: true });
  writeFileSync(join(laptop.workspace, "skills/talk/SKILL.md"), "---\nalways: true\n---\nBe kind.");
  await say(page, "/trust");
  await expect(page.getByText("skills/talk/SKILL.md").first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "trust-question");
  await page.getByRole("button", { name: "Approve all of it" }).click();
  await page.goto("/#/settings/trust");
  const card = page.getByRole("region", { name: "What this workspace defines" }).getByRole("listitem");
  await expect(card).toContainText("Approved");
});
