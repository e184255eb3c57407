import type { Page } from "@playwright/test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, picture, run, test } from "../house/test";
import { showPanel } from "../house/panels";

const UPLOAD_BYTES = 5_000_000;

const item = (page: Page, name: string) => page.getByRole("treeitem", { name });

async function openFiles(page: Page): Promise<void> {
  await showPanel(page, "Files");
  await page.getByRole("tree", { name: "Files of the workspace" }).waitFor();
}

test("the tree by keyboard, a file in colours, a picture, a large file in pieces, and a binary file", async ({ page, laptop }) => {
  const at = (name: string) => join(laptop.workspace, name);
  mkdirSync(at("src"));
  writeFileSync(at("src/main.rs"), "// crab\nfn main() {}\n");
  writeFileSync(at(".hidden"), "x");
  writeFileSync(at("bytes"), Buffer.of(0, 1, 2));
  writeFileSync(at("large.log"), Array.from({ length: 200_000 }, (_, index) => `line ${index} ä`).join("\n"));
  writeFileSync(at("picture.svg"), '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>');
  await openFiles(page);
  await item(page, "src").waitFor();
  await expect(item(page, ".hidden")).toHaveCount(0);
  await page.getByRole("tree").focus();
  await page.keyboard.press("ArrowRight");
  await item(page, "main.rs").waitFor();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("file-text")).toContainText("fn main");
  await expect(page.locator(".hljs-keyword")).toHaveText("fn");
  await expectAccessible(page);
  await picture(page, "files");

  await item(page, "large.log").click();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await expect(page.getByTestId("file-text")).toContainText("line 199999 ä");
  await item(page, "bytes").click();
  await expect(page.getByText("This is not text.")).toBeVisible();
  await item(page, "picture.svg").click();
  await expect(page.getByRole("img", { name: "Image picture.svg" })).toHaveJSProperty("naturalWidth", 9);

  await page.getByLabel("Path in the workspace").fill("../../etc/passwd");
  await page.keyboard.press("Enter");
  await expect(page.getByText("path escapes the workspace")).toBeVisible();
});

test("an edit is written only if the file is unchanged; otherwise both versions are shown and nothing is lost", async ({ page, laptop }) => {
  const path = join(laptop.workspace, "notes.txt");
  writeFileSync(path, "one\r\ntwo\r\n");
  await openFiles(page);
  await item(page, "notes.txt").click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const text = page.getByRole("textbox", { name: "Text of notes.txt" });
  await text.fill("one\nmine\n");
  await page.keyboard.press("Control+S");
  await expect(page.getByText("Saved.")).toBeVisible();
  expect(readFileSync(path, "utf8")).toBe("one\r\nmine\r\n");

  await text.fill("one\nmine\nmore\n");
  writeFileSync(path, "one\r\ntheirs\r\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("alertdialog", { name: /has changed since/ }).waitFor();
  expect(readFileSync(path, "utf8")).toBe("one\r\ntheirs\r\n");
  await page.getByRole("button", { name: "Show the difference" }).click();
  await expect(page.getByTestId("difference")).toContainText("-theirs");
  await expect(page.getByTestId("difference")).toContainText("+mine");
  await picture(page, "files-conflict");

  // The edit survives a reload; the browser asks first, which is not tested here.
  page.once("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await openFiles(page);
  await item(page, "notes.txt").click();
  await expect(text).toHaveValue("one\nmine\nmore\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Overwrite with mine" }).click();
  await expect(page.getByTestId("file-text")).toContainText("more");
  expect(readFileSync(path, "utf8")).toBe("one\r\nmine\r\nmore\r\n");
});

test("files are uploaded with progress, downloaded unchanged, and deleted only after a confirmation", async ({ page, laptop }) => {
  mkdirSync(join(laptop.workspace, "into"));
  await openFiles(page);
  await item(page, "into").click();
  const content = Buffer.alloc(UPLOAD_BYTES, 7);
  // Delay the upload, so that its progress is visible.
  await page.route("**/api/v1/files?*parents=true", async (route) => {
    await expect(page.getByRole("progressbar", { name: "Upload of into/five.bin" })).toBeVisible();
    await route.continue();
  });
  await page.getByTestId("upload-chooser").setInputFiles({ name: "five.bin", mimeType: "application/octet-stream", buffer: content });
  await expect(page.getByTestId("upload")).toHaveAttribute("data-state", "done");
  await item(page, "five.bin").waitFor();
  expect(readFileSync(join(laptop.workspace, "into/five.bin")).equals(content)).toBe(true);

  await page.getByTestId("upload-chooser").setInputFiles({ name: "five.bin", mimeType: "text/plain", buffer: Buffer.from("short") });
  await expect(page.getByRole("dialog", { name: "Replace existing files?" })).toContainText("five.bin");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  expect(statSync(join(laptop.workspace, "into/five.bin")).size).toBe(UPLOAD_BYTES);

  await item(page, "five.bin").click();
  const tools = page.getByRole("toolbar", { name: "File tools" });
  await expect(tools).toBeVisible();
  const [download] = await Promise.all([page.waitForEvent("download"), tools.getByRole("link", { name: "Download five.bin" }).click()]);
  expect(download.suggestedFilename()).toBe("five.bin");
  expect(readFileSync(await download.path()).equals(content)).toBe(true);
  await item(page, "into").click();
  const [archive] = await Promise.all([page.waitForEvent("download"), tools.getByRole("link", { name: "Download into as a tar archive" }).click()]);
  expect(archive.suggestedFilename()).toBe("into.tar");
  expect(statSync(await archive.path()).size).toBeGreaterThan(UPLOAD_BYTES);

  await page.getByRole("tree").focus();
  await page.keyboard.press("F2");
  await page.getByLabel("Name", { exact: true }).fill("moved");
  await page.keyboard.press("Enter");
  await item(page, "moved").waitFor();
  await page.getByRole("tree").focus();
  await page.keyboard.press("Delete");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(item(page, "moved")).toHaveCount(0);
  expect(existsSync(join(laptop.workspace, "moved"))).toBe(false);
});

test("the toolbar above the tree stays on one line, however narrow the panel", async ({ page }) => {
  await showPanel(page, "Files");
  const tools = page.getByRole("toolbar", { name: "File tools" });
  await expect(tools).toBeVisible();
  for (const width of [1600, 1280, 1000, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const tops = await tools.locator("button, a").evaluateAll((all) => all.map((tool) => Math.round(tool.getBoundingClientRect().top)));
    expect(new Set(tops).size, `${width} px: ${tops}`).toBe(1);
    expect(await tools.evaluate((bar) => bar.scrollWidth <= bar.clientWidth), `${width} px`).toBe(true);
  }
});

test("a file made by a command is in the tree once the command has ended", async ({ page }) => {
  await openFiles(page);
  await expect(page.getByText("Empty")).toBeVisible();
  await run(page, "!touch made");
  await item(page, "made").waitFor();
});
