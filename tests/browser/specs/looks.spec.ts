import { expect, expectAccessible, isAfterTool, messages, picture, run, say, test } from "../house/test";

test("the main views are accessible, in both themes and both widths", async ({ page, model, alice }) => {
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
  await picture(page, "empty");
  await page.getByTestId("chat").filter({ hasText: "touch a b c" }).getByRole("button").first().click();
  await messages(page, "assistant").getByText("Three files are there").waitFor();
  await picture(page, "chat");
  await page.getByRole("button", { name: "Terminal", exact: true }).click();
  await expect(page.getByTestId("terminal-status")).toHaveAttribute("data-state", "open");
  await picture(page, "dock");
  await page.getByRole("complementary", { name: "Terminal" }).getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("button", { name: /^Active runner/ }).click();
  await picture(page, "where");
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await picture(page, "palette");
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  for (const section of ["", "general", "appearance", "account", "runners", "models", "approvals", "hooks", "mcp", "trust", "http", "plugins", "memory", "usage", "keys", "users", "server", "audit", "about"]) {
    await page.goto(section === "" ? "/#/settings" : `/#/settings/${section}`);
    await page.getByRole("dialog").waitFor();
    await expect(page.getByText("Loading…")).toHaveCount(0);
    await picture(page, `settings-${section || "list"}`);
  }
});
