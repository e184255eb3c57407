import type { Page } from "@playwright/test";
import { showPanel } from "../house/panels";
import { expect, expectAccessible, expectLooks, isAfterTool, loaded, messages, run, say, test } from "../house/test";

test("the main views are accessible in both themes and both widths, and the themes differ only in colours", async ({ page, model, alice }) => {
  await alice.machine("desktop");
  await alice.run(["use", "laptop"]);
  model.answers((asked) =>
    isAfterTool(asked) ? { say: "Three files are there: **a**, **b** and **c**." } : { call: [["Shell", { command: "ls" }]] },
  );
  await run(page, "!touch a b c; ls -l; echo; uname");
  await say(page, "What is there?");
  await page.getByRole("group", { name: /Allow Shell/ }).getByRole("button", { name: "Allow", exact: true }).click();
  await messages(page, "assistant").getByText("Three files are there").waitFor();
  await page.getByRole("button", { name: "New chat" }).click();
  await expect(messages(page, "exec")).toHaveCount(0);
  await run(page, "!for i in 1 2 3; do echo line $i; done");
  await page.getByRole("button", { name: "New chat" }).click();
  await expect(page.getByTestId("chat")).toHaveCount(3);
  await expectLooks(page, "empty");
  await page.getByTestId("chat").filter({ hasText: "touch a b c" }).getByRole("button").first().click();
  await messages(page, "assistant").getByText("Three files are there").waitFor();
  await expectLooks(page, "chat");
  await page.getByRole("button", { name: "Terminal", exact: true }).click();
  await expect(page.getByTestId("terminal-status")).toHaveAttribute("data-state", "open");
  await expectLooks(page, "dock");
  await page.getByRole("complementary", { name: "Terminal" }).getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("button", { name: /^Active runner/ }).click();
  await expectLooks(page, "where");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await expectLooks(page, "palette");
  await page.keyboard.press("Escape");
  for (const section of ["", "general", "appearance", "account", "runners", "models", "approvals", "hooks", "mcp", "trust", "http", "plugins", "automations", "channels", "knowledge", "memory", "usage", "keys", "users", "server", "nodes", "audit", "about"]) {
    await page.goto(section === "" ? "/#/settings" : `/#/settings/${section}`);
    await page.getByRole("dialog").waitFor();
    await loaded(page);
    await expectLooks(page, `settings-${section || "list"}`);
  }
});

/** The landmarks that a screen reader lists, with their names. */
async function landmarks(page: Page): Promise<string[]> {
  const tree = await page.locator("body").ariaSnapshot();
  return [...tree.matchAll(/^\s*- ((?:main|navigation|complementary|region|banner|contentinfo|search|form)(?: "[^"]*")?)/gm)].map((found) => found[1] ?? "");
}

test("each view has one first heading, and landmarks with different names", async ({ page, browser, server, model }) => {
  const check = async (view: Page, atLeast: number) => {
    await expect(view.getByRole("heading", { level: 1 })).toHaveCount(1);
    const found = await landmarks(view);
    expect(new Set(found).size, found.join(", ")).toBe(found.length);
    expect(found.filter((name) => name.startsWith("main"))).toHaveLength(1);
    expect(found.length, found.join(", ")).toBeGreaterThanOrEqual(atLeast);
    await expectAccessible(view);
  };
  await check(page, 3);
  model.answersWith({ call: [["todo_write", { items: [{ content: "Paint it", status: "in_progress" }] }]] }, { say: "Text." });
  await say(page, "Hello");
  await expect(messages(page, "assistant").last()).toContainText("Text.");
  await expect(page.getByRole("region", { name: "To do" })).toBeVisible();
  for (const panel of ["Terminal", "Files", "Background tasks"] as const) {
    await showPanel(page, panel);
    await expect(page.getByRole("complementary", { name: panel })).toBeVisible();
    await check(page, 4);
  }
  const stranger = await browser.newContext({ baseURL: server.url, locale: "en-GB", reducedMotion: "reduce" });
  const entrance = await stranger.newPage();
  await entrance.goto("/");
  await entrance.getByLabel("Password", { exact: true }).waitFor();
  await check(entrance, 1);
  await stranger.close();
});

test("a screen reader hears the answer, or why there is none", async ({ page, model }) => {
  await page.evaluate(() => {
    const heard: string[] = [];
    Object.assign(window, { heard });
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const status = (target instanceof Element ? target : target.parentElement)?.closest("[role=status], [role=alert], [aria-live]");
        if (status?.textContent) heard.push(status.textContent);
      }
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
  });
  const heard = () => page.evaluate(() => (window as unknown as { heard: string[] }).heard);
  model.answersWith({ refuse: 401, body: JSON.stringify({ error: { message: "no such key" } }) }, { say: "Now it works." });
  await say(page, "Hello");
  await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
  await expect.poll(heard).toContainEqual(expect.stringMatching(/^The answer failed: .*no such key/));
  expect((await heard()).filter((text) => text.includes("Sandbridge answered"))).toEqual([]);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(heard).toContainEqual("Sandbridge answered: Now it works.");
  await say(page, "!exit 3");
  await expect.poll(heard).toContainEqual(expect.stringMatching(/^Command ended: exit 3/));
  expect((await heard()).filter((text) => /:\s*$/.test(text))).toEqual([]);
});
