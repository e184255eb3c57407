import { composer, expect, expectAccessible, run, test } from "../house/test";

test("the palette opens chats, runners and settings, and changes the theme", async ({ page, alice }) => {
  await alice.machine("desktop");
  await alice.run(["use", "laptop"]);
  await run(page, "!echo hello");
  await page.keyboard.press("Control+Shift+O");
  await expect(page.getByTestId("chat")).toHaveCount(2);
  await expect(composer(page)).toBeFocused();

  const palette = async (typed: string) => {
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox");
    await field.fill(typed);
    await expect(page.getByRole("option").first()).toBeVisible();
  };
  await palette("hello");
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(page.getByText("hello", { exact: true })).toBeVisible();

  await palette("run on desktop");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: /^Active runner: desktop/ })).toBeVisible();

  await palette("theme dark");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");

  await palette("api keys");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "API keys" })).toBeVisible();
  expect(new URL(page.url()).hash).toBe("#/settings/keys");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText("hello", { exact: true })).toBeVisible();

  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("nothing has this name");
  await expect(page.getByText("Nothing found")).toBeVisible();
});

test("a question mark shows the shortcuts, but not while typing a message", async ({ page }) => {
  await composer(page).focus();
  await page.keyboard.type("why?");
  await expect(composer(page)).toHaveValue("why?");
  await page.getByRole("button", { name: "Settings" }).focus();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await expect(composer(page)).toBeFocused();
  await expect(composer(page)).toHaveValue("why?");
});

test("the page switches to Chinese on request, and stays in Chinese", async ({ page }) => {
  await page.keyboard.press("Control+,");
  await page.getByLabel("Language", { exact: true }).selectOption("zh");
  await expect(page.getByRole("heading", { name: "通用" })).toBeVisible();
  await expectAccessible(page);
  await page.reload();
  await expect(page.getByRole("heading", { name: "通用" })).toBeVisible();
  expect(await page.locator("html").getAttribute("lang")).toBe("zh");
  await page.getByLabel("语言", { exact: true }).selectOption("en");
  await expect(page.getByRole("heading", { name: "General" })).toBeVisible();
});

test("without the server the page says so, counts down, and continues where it was", async ({ page, server }) => {
  await run(page, "!echo before");
  await composer(page).fill("a draft");
  await server.stop();
  await expect(page.getByTestId("offline-banner")).toContainText("No connection to the server");
  await server.start();
  await page.getByRole("button", { name: "Try now" }).click({ force: true }).catch(() => undefined);
  await expect(page.getByTestId("offline-banner")).toHaveCount(0);
  await expect(composer(page)).toHaveValue("a draft");
  await expect(page.getByText("before", { exact: true })).toBeVisible();
});
