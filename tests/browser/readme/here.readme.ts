import { expect, test } from "@playwright/test";
import { complaints, messages, run } from "../house/test";

test("the printed address opens the chat of the terminal, and README's first command runs again", async ({ page }) => {
  const errors = complaints(page);
  await page.goto(process.env.README_PAGE ?? "");
  await expect(messages(page, "exec")).toContainText("No commits yet");
  expect(await run(page, "!git status")).toContain("No commits yet");
  expect(errors).toEqual([]);
});
