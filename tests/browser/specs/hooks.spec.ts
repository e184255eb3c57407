/** Hooks in the settings: a waiting hook is shown in full and approved, an entered text stays, and runs are listed. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, isAfterTool, messages, picture, say, test } from "../house/test";

const COMMAND = "echo 'nothing is touched' >&2\nexit 2";

test("a hook of the workspace waits, is approved, takes effect, is listed with its run, and is revoked", async ({ page, model, laptop }) => {
  model.answers((asked) => (isAfterTool(asked) ? { say: "Done." } : { call: [["Shell", { command: "touch mark" }]] }));
  mkdirSync(join(laptop.workspace, ".sandbridge"));
  const hooks = { PreToolUse: [{ matcher: "Shell", hooks: [{ type: "command", command: COMMAND }] }] };
  writeFileSync(join(laptop.workspace, ".sandbridge/hooks.json"), JSON.stringify({ enable_command_hooks: true, hooks }));
  await page.goto("/#/settings/hooks");
  const card = page.getByRole("region", { name: "Hooks that apply to you" }).getByRole("listitem");
  await expect(card).toContainText("Waiting for approval");
  await expect(card).toContainText(".sandbridge/hooks.json");
  await card.getByRole("button", { name: /^Approve the hook [0-9a-f]{12}$/ }).click();
  await expect(card.getByRole("group").getByText(COMMAND)).toBeVisible();
  await expectAccessible(page);
  await picture(page, "hooks-approve");
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(card.getByText("Runs", { exact: true })).toBeVisible();
  await card.getByText("Try it").click();
  await card.getByRole("button", { name: "Run", exact: true }).click();
  await expect(card.getByText("Deny: the action would be blocked, if this event can block it.")).toBeVisible();
  await expect(card.getByLabel("Standard error")).toContainText("nothing is touched");
  await expect(card.getByLabel("The payload that the hook received")).toContainText('"command":"ls"');
  await card.getByLabel("Fields of the event (JSON)").fill("[1]");
  await card.getByRole("button", { name: "Run", exact: true }).click();
  await expect(card.getByRole("alert")).toContainText("JSON object");
  await expectAccessible(page);
  await picture(page, "hooks-try");
  await page.keyboard.press("Escape");
  await say(page, "Go");
  await expect(messages(page, "assistant").last()).toContainText("Done.");
  expect(existsSync(join(laptop.workspace, "mark"))).toBe(false);
  await page.goto("/#/settings/hooks");
  // A run is listed shortly after the hook has decided.
  await expect(async () => {
    await page.reload();
    await page.getByText("Newest runs").click();
    await expect(page.getByText("deny: nothing is touched")).toBeVisible({ timeout: 2_000 });
  }).toPass();
  await expectAccessible(page);
  await picture(page, "hooks");
  await card.getByRole("button", { name: /^Revoke the approval of the hook / }).click();
  await card.getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(card).toContainText("Waiting for approval");
});

test("the user's own hooks are entered, refused with the text kept, saved and removed", async ({ page }) => {
  await page.goto("/#/settings/hooks");
  const list = page.getByRole("region", { name: "Hooks that apply to you" });
  const own = page.getByRole("region", { name: "Your own hooks" });
  const text = own.getByLabel("Your hooks.json");
  const written = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: "command", command: "./check.sh" }] }] } });
  await text.fill(written.slice(1));
  await own.getByRole("button", { name: "Save" }).click();
  await expect(own.getByRole("alert")).toContainText("JSON");
  await expect(text).toHaveValue(written.slice(1));
  const eleven = Array.from({ length: 11 }, (_, number) => ({ type: "http", url: `https://example.com/${number}` }));
  await text.fill(JSON.stringify({ hooks: { Stop: [{ hooks: eleven }] } }));
  await own.getByRole("button", { name: "Save" }).click();
  await expect(own.getByRole("alert")).toContainText("this event would have 11 hooks");
  await text.fill(JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "callback", name: "approve" }] }] } }));
  await own.getByRole("button", { name: "Save" }).click();
  await expect(own.getByRole("alert")).toContainText("the callbacks are approval, audit, logging, timing");
  await own.getByText("Callbacks: functions of the server").click();
  await expect(own.getByRole("listitem").filter({ hasText: '"audit"' })).toContainText("adds the event to the audit trail");
  await expectAccessible(page);
  await text.fill(written);
  await own.getByRole("button", { name: "Save" }).click();
  await expect(own.getByRole("status")).toHaveText("Saved.");
  await expect(list.getByRole("listitem")).toContainText("Commands not enabled");
  await page.reload();
  await expect(text).toHaveValue(written);
  await text.fill("");
  await own.getByRole("button", { name: "Save" }).click();
  await expect(list).toContainText("There are no hooks.");
});
