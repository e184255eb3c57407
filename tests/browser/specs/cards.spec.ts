/** Cards from agents: read, filled in, answered once, and unchanged after a reload. */
import { type Asked } from "../house/model";
import { expect, expectAccessible, lastOfUser, messages, picture, say, test } from "../house/test";

/** The results of the current turn's calls. */
function results(asked: Asked): string[] {
  const since = asked.messages.findLastIndex((message) => message.role === "user");
  return asked.messages.slice(since + 1).filter((message) => message.role === "tool").map((message) => String(message.content));
}

test("a card is a form that is answered once, by the keyboard alone, and stays answered", async ({ page, model }) => {
  model.answers((asked) => {
    if (!lastOfUser(asked).startsWith("card")) return { say: `You chose: ${lastOfUser(asked)}` };
    const all = results(asked);
    const card = /card-[0-9a-f]+/.exec(all[0] ?? "")?.[0] ?? "";
    if (all.length === 0) return { call: [["card_create", { title: "Deploy <b>now</b>?", style: "warning" }]] };
    if (all.length === 1) {
      const content = [
        { kind: "text", text: "Build **12** is ready. <img src=x onerror=alert(1)>" },
        { kind: "fields", fields: [{ name: "Branch", value: "*main*" }] },
        { kind: "table", columns: ["Test", "Result"], rows: [["unit", "passed"]] },
        { kind: "link", text: "The log", url: "https://ci.example/12" },
      ];
      const form = [
        { kind: "select", name: "where", label: "Place", options: ["staging", "production"], required: true },
        { kind: "input", name: "why", label: "Reason", placeholder: "In a few words" },
      ];
      const buttons = [
        { kind: "button", name: "go", label: "Deploy", style: "primary" },
        { kind: "button", name: "no", label: "Not now" },
      ];
      return {
        call: [
          ["card_add_content", { card, content }],
          ["card_add_container", { card, layout: "columns", title: "How", controls: form }],
          ["card_add_interactive", { card, controls: buttons }],
        ],
      };
    }
    return all.length === 4 ? { call: [["card_send", { card }]] } : { say: "Choose, please." };
  });
  await say(page, "card");
  const card = page.getByRole("form", { name: "Deploy <b>now</b>?" });
  await expect(card).toBeVisible();
  await expect(messages(page, "assistant").last()).toContainText("Choose, please.");
  await expect(card.getByText("*main*")).toBeVisible();
  await expect(card.locator("img")).toHaveCount(0);
  await expect(card.getByRole("cell", { name: "passed" })).toBeVisible();
  await expect(card.getByRole("link", { name: "The log" })).toHaveAttribute("rel", /noopener/);
  await expectAccessible(page);
  await picture(page, "card");
  // A required choice keeps the form from being sent.
  await card.getByRole("button", { name: "Deploy" }).click();
  await expect(card.getByLabel("Place")).toBeFocused();
  await expect(card.getByRole("status")).toHaveCount(0);
  await card.getByLabel("Place").selectOption("staging");
  await card.getByLabel("Reason").fill("it is ready");
  await card.getByLabel("Reason").press("Tab");
  await expect(card.getByRole("button", { name: "Deploy" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(messages(page, "user").last()).toContainText("→ Deploy (Deploy <b>now</b>?)");
  await expect(messages(page, "user").last()).toContainText("Place: staging");
  await expect(card.getByRole("status")).toHaveText("Answered: Deploy");
  await expect(card.getByRole("button", { name: "Not now" })).toBeDisabled();
  await expectAccessible(page);
  await page.reload();
  await expect(card.getByRole("status")).toHaveText("Answered: Deploy");
  await expect(card.getByLabel("Reason")).toHaveValue("it is ready");
  await expect(card.getByLabel("Reason")).toBeDisabled();
  expect(model.asked.filter((asked) => lastOfUser(asked).startsWith("→ Deploy"))).toHaveLength(1);
});
