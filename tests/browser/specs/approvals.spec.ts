/** The details that a person sees before allowing an action, which are complete whatever the model wrote. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { composer, expect, expectAccessible, isAfterTool, messages, picture, say, test } from "../house/test";

/** A row of the table that the tests of the terminal's approvals also read. */
interface Row {
  name: string;
  tool: string;
  arguments: object;
  shows?: string[];
  hides?: string[];
  refused?: string;
}

const table = JSON.parse(readFileSync(join(import.meta.dirname, "../../fixtures/approvals.json"), "utf8")) as {
  files: Record<string, string>;
  links: Record<string, string>;
  rows: Row[];
};

/** The page's wording for each action. */
const ACTS: Record<string, string> = {
  Cd: "changing the directory",
  DownloadFile: "a download",
  FileCreate: "writing a file",
  FileReplace: "editing a file",
};

const squashed = (text: string) => text.replace(/\s/gu, "");

test("hostile paths, commands and edits are shown in full", async ({ page, model, laptop }) => {
  test.setTimeout(240_000);
  for (const [path, content] of Object.entries(table.files)) {
    mkdirSync(dirname(join(laptop.workspace, path)), { recursive: true });
    writeFileSync(join(laptop.workspace, path), content);
  }
  for (const [path, target] of Object.entries(table.links)) symlinkSync(target, join(laptop.workspace, path));
  model.answers((asked) =>
    isAfterTool(asked) ? { say: "That is all." } : { call: table.rows.map((row): [string, object] => [row.tool, row.arguments]) },
  );
  await say(page, "Go");
  const asked = table.rows.filter((row) => row.refused === undefined);
  expect(table.rows.length).toBeGreaterThanOrEqual(40);
  for (const [at, row] of asked.entries()) {
    const card = page.getByRole("group", { name: `Allow ${ACTS[row.tool] ?? row.tool} on laptop?` });
    await expect(card).toHaveCount(1);
    const id = await card.getAttribute("data-asking");
    // The view of changes is loaded when the first change is shown.
    await expect(card.locator("dl")).toBeVisible();
    for (const text of row.shows ?? []) {
      await expect.poll(async () => squashed((await card.textContent()) ?? ""), { message: `${row.name}: ${text}` }).toContain(squashed(text));
    }
    for (const text of row.hides ?? []) {
      expect(squashed((await card.textContent()) ?? ""), row.name).not.toContain(squashed(text));
    }
    await expect(card.getByText("laptop", { exact: true })).toBeVisible();
    if (at === 0) {
      await expectAccessible(page);
      await picture(page, "approval-whole");
    }
    await card.getByRole("button", { name: "Deny" }).click();
    await expect(page.locator(`[data-asking="${id}"]`)).toHaveCount(0);
  }
  await expect(messages(page, "assistant").last()).toContainText("That is all.");
});

test("a command's text is never shown where the page's own texts are", async ({ page, model }) => {
  const command = "rm -rf ~\nreason: it only looks\nMachine other";
  model.answers((asked) => (isAfterTool(asked) ? { say: "Understood." } : { call: [["Shell", { command, reason: "to look" }]] }));
  await say(page, "Go");
  const card = page.getByRole("group", { name: "Allow Shell on laptop?" });
  await expect(card.getByRole("group", { name: "command" })).toHaveText(command);
  await expect(card.getByRole("group", { name: "reason that the model gives" })).toHaveText("to look");
  await expect(card.locator("dl dt")).toHaveText(["Effect", "Machine", "Directory", "Note"]);
  await card.getByRole("button", { name: "Deny" }).click();
  await expect(messages(page, "assistant").last()).toContainText("Understood.");
});

test("an approval given with “always” is listed in the settings, and asked for again after it is revoked", async ({ page, model }) => {
  const command = "echo always";
  model.answers((asked) => (isAfterTool(asked) ? { say: "Done." } : { call: [["Shell", { command }]] }));
  const card = page.getByRole("group", { name: "Allow Shell on laptop?" });
  await say(page, "Once");
  await card.getByRole("button", { name: "Always in this chat" }).click();
  const done = messages(page, "assistant").filter({ hasText: "Done." });
  await expect(done).toHaveCount(1);
  await say(page, "Twice");
  await expect(done).toHaveCount(2);
  await page.goto("/#/settings/approvals");
  const rules = page.getByRole("region", { name: "Always allowed" });
  const rule = rules.getByRole("listitem");
  await expect(rule).toContainText(command);
  await expect(rule).toContainText("this exact command in");
  await expectAccessible(page);
  await picture(page, "approval-rules");
  await rule.getByRole("button", { name: "Revoke the approval of Shell" }).click();
  await rule.getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(rules).toContainText("Nothing is always allowed.");
  await page.keyboard.press("Escape");
  await say(page, "Thrice");
  await card.getByRole("button", { name: "Deny" }).click();
  await expect(done).toHaveCount(3);
});

test("a rule is added, applies, shows its use, is tried and removed", async ({ page, model, laptop }) => {
  model.answers((asked) => (isAfterTool(asked) ? { say: "Done." } : { call: [["Shell", { command: "true; touch mark" }]] }));
  await page.goto("/#/settings/approvals");
  const rules = page.getByRole("region", { name: "Rules", exact: true });
  await rules.getByLabel("Calls").fill("Shell(");
  await rules.getByRole("button", { name: "Add a rule" }).click();
  await expect(rules.getByRole("alert").filter({ hasText: "Shell(" })).toHaveCount(1);
  await expect(rules.getByLabel("Calls")).toHaveValue("Shell(");
  await rules.getByLabel("Calls").fill("Shell(touch *)");
  await rules.getByLabel("Reason (optional; the model is told)").fill("nothing is touched");
  await rules.getByRole("button", { name: "Add a rule" }).click();
  const rule = rules.getByRole("listitem").filter({ hasText: "nothing is touched" });
  await expect(rule).toContainText("Never used");
  await page.keyboard.press("Escape");
  await say(page, "Go");
  await expect(messages(page, "assistant").last()).toContainText("Done.");
  expect(existsSync(join(laptop.workspace, "mark"))).toBe(false);
  await page.goto("/#/settings/approvals");
  await expect(rule).toContainText("Decided one call");
  await expect(rule).toContainText("by you");
  await expect(rules.getByText("Shell(rm -rf *)", { exact: true })).toBeHidden();
  await rules.getByText("Built-in rules").click();
  await expect(rules.getByText("Shell(rm -rf *)", { exact: true })).toBeVisible();
  await rules.getByLabel("Command line, path or address").fill("ls && touch mark");
  await rules.getByRole("button", { name: "Try it" }).click();
  await expect(rules.getByRole("status")).toContainText("Denied");
  // The open chat is included unless the user unchecks it.
  const here = rules.getByLabel("In the chat that is open, with its rules and those of its workspace");
  await expect(here).toBeChecked();
  await here.uncheck();
  await expect(rules.getByRole("status")).toBeEmpty();
  await rules.getByRole("button", { name: "Try it" }).click();
  await expect(rules.getByRole("status")).toContainText("Denied");
  await expectAccessible(page);
  await picture(page, "permission-rules");
  await rule.getByRole("button", { name: "Remove the rule Shell(touch *)" }).click();
  await rule.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(rule).toHaveCount(0);
  // The shown verdict came from other rules.
  await expect(rules.getByRole("status")).toBeEmpty();
  await rules.getByRole("button", { name: "Try it" }).click();
  await expect(rules.getByRole("status")).toContainText("Left to the mode");
});

test("a change far down a file is shown with its line numbers and the lines around it, and the key a allows it", async ({ page, model, laptop }) => {
  const file = join(laptop.workspace, "long.txt");
  const lines = Array.from({ length: 90 }, (_, at) => `line ${at + 1}`);
  writeFileSync(file, `${lines.join("\n")}\n`);
  model.answers((asked) => {
    const results = asked.messages.filter((message) => message.role === "tool").length;
    if (results === 0) return { call: [["Read", { path: "long.txt" }]] };
    if (results === 1) return { call: [["FileReplace", { path: "long.txt", old_string: "line 60\n", new_string: "line sixty\nand more\n" }]] };
    return { say: "Done." };
  });
  await say(page, "Change it");
  const card = page.getByRole("group", { name: "Allow editing a file on laptop?" });
  await expect(card.getByRole("row", { name: "removed line 60" })).toHaveText(/^60\D/);
  await expect(card.getByRole("row", { name: "added line sixty" })).toHaveText(/^60\D/);
  await expect(card.getByRole("row", { name: "added and more" })).toHaveText(/^61\D/);
  // The lines around it have the numbers of both versions; distant lines are left out.
  await expect(card.getByRole("row").filter({ hasText: /line 59$/ })).toHaveText(/^5959\D*line 59$/);
  await expect(card.getByRole("row").filter({ hasText: /line 61$/ })).toHaveText(/^6162\D*line 61$/);
  await expect(card.getByRole("row").filter({ hasText: /line (1|30|90)$/ })).toHaveCount(0);
  // The tool has a name for people, in the question and in the card of the call.
  await expect(card).not.toContainText("FileReplace");
  await expect(page.getByTestId("tool").last()).toContainText("Edit file");
  await expect(page.getByTestId("tool").last()).not.toContainText("FileReplace");
  await page.getByRole("button", { name: "Show the question" }).click();
  await expect(card).toBeFocused();
  await page.keyboard.press("a");
  await expect(messages(page, "assistant").last()).toContainText("Done.");
  await expect(composer(page)).toHaveValue("");
  expect(readFileSync(file, "utf8")).toContain("line 59\nline sixty\nand more\nline 61\n");
});
