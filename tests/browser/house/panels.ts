/** The panels beside the chat. */
import type { Page } from "@playwright/test";

/** Opens a panel by its button, unless it is open: the page keeps it open over a reload. */
export async function showPanel(page: Page, name: "Terminal" | "Files" | "Background tasks"): Promise<void> {
  const button = page.getByRole("button", { name, exact: true });
  if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
}
