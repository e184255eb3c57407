import { expect, expectAccessible, picture, test } from "../house/test";

test("a command in the background is seen, looked into and ended", async ({ page, alice }) => {
  await alice.run(["exec", "--detach", "--", "sh", "-c", "echo first words; sleep 300"]);
  await alice.run(["exec", "--detach", "--", "sh", "-c", "seq 1 20000; exit 3"]);
  await page.getByRole("button", { name: "Background tasks", exact: true }).click();
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
  await expect(ended.getByTestId("task").filter({ hasText: "first words" }).getByTestId("task-status")).toHaveText("ended by you");
  expect(await alice.json(["ps"])).toEqual([]);
});
