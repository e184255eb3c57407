/** Helpers for the panels next to the chat. */
import type { Page } from "@playwright/test";

/** Opens a panel by its button, unless it is open already: the page keeps panels open across a reload. */
export async function showPanel(page: Page, name: "Terminal" | "Files" | "Background tasks"): Promise<void> {
  const button = page.getByRole("button", { name, exact: true });
  if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
}
