import { expect, expectAccessible, picture, say, test } from "../house/test";
import { showPanel } from "../house/panels";

test("a background command is listed, its output is shown, and it is ended", async ({ page, alice }) => {
  await alice.run(["exec", "--detach", "--", "sh", "-c", "echo first words; sleep 300"]);
  await alice.run(["exec", "--detach", "--", "sh", "-c", "seq 1 20000; exit 3"]);
  await showPanel(page, "Background tasks");
  const [running, ended] = [page.getByRole("region", { name: "Running" }), page.getByRole("region", { name: "Ended" })];
  const task = running.getByTestId("task").filter({ hasText: "first words" });
  await task.getByRole("button", { expanded: false }).click();
  await expect(task.getByText("first words", { exact: true })).toBeVisible();
  await expect(task).toContainText("laptop");
  const other = ended.getByTestId("task").filter({ hasText: "seq" });
  await expect(other.getByTestId("task-status")).toHaveText("exit 3");
  await other.getByRole("button", { expanded: false }).click();
  await expect(other.getByLabel(/^Output of/)).toContainText(/left out[^]*20000/);
  await expectAccessible(page);
  await picture(page, "tasks");

  await task.getByRole("button", { name: /^End / }).click();
  await task.getByRole("button", { name: "End it" }).click();
  await expect(ended.getByTestId("task").filter({ hasText: "first words" }).getByTestId("task-status")).toHaveText("cancelled");
  expect(await alice.json(["ps"])).toEqual([]);
});

test("a command in the chat is not a background command, and is not listed once it has ended", async ({ page }) => {
  await showPanel(page, "Background tasks");
  const [running, ended] = [page.getByRole("region", { name: "Running" }), page.getByRole("region", { name: "Ended" })];
  await say(page, "!echo begun; sleep 300");
  const task = running.getByTestId("task").filter({ hasText: "echo begun" });
  await expect(task).toContainText("in a chat");
  await expect(task).not.toContainText("background");
  await task.getByRole("button", { name: /^End / }).click();
  await task.getByRole("button", { name: "End it" }).click();
  await expect(task).toHaveCount(0);
  await expect(ended.getByTestId("task")).toHaveCount(0);
});

test("a terminal in the list of tasks is shown again, also in another window, and both show typed text", async ({ page }) => {
  await showPanel(page, "Terminal");
  await expect(page.locator(".xterm-rows")).toContainText(/[$#] /);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await showPanel(other, "Background tasks");
  await other.getByRole("button", { name: "Show in the terminal" }).click();
  await expect(other.getByTestId("terminal-status")).toHaveAttribute("data-state", "open");
  await page.bringToFront();
  await page.keyboard.type("echo both-$((1+1))\n");
  for (const window of [page, other]) await expect(window.locator(".xterm-rows")).toContainText("both-2");
});
