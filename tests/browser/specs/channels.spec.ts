/** Channels in the settings: a channel is added with the steps shown, tested, linked by a code, unlinked and removed. */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, picture, test as base } from "../house/test";

const TOKEN = "4839574812:AAFD39kkdpWt3ywyRZergyOLMaJhac60qcU";

interface Telegram {
  url: string;
  /** Makes the server refuse the bot's token, or accept it again. */
  refuse: (refuses: boolean) => void;
  /** Ann writes to the bot. */
  say: (text: string) => void;
  /** The texts that the bot sent. */
  said: string[];
}

/** A stand-in for the parts of Telegram's Bot API that this test needs: polls for updates, and messages of the bot. */
const test = base.extend<{ telegram: Telegram }>({
  telegram: async ({}, use) => {
    const said: string[] = [];
    let refuses = true;
    let updates: { update_id: number }[] = [];
    let wake: () => void = () => {};
    const me = { id: 4839574812, is_bot: true, first_name: "Sand", username: "sand_bot" };
    const method = async (name: string, body: any): Promise<unknown> => {
      if (name === "getMe") return me;
      if (name === "sendMessage") {
        said.push(body.text);
        return { message_id: 100 + said.length, date: 1780000000, chat: { id: body.chat_id, type: "private" } };
      }
      if (name !== "getUpdates") return true;
      const offset: number = body.offset ?? 0;
      updates = updates.filter((update) => update.update_id >= offset);
      if (updates.length === 0) {
        await new Promise<void>((done) => {
          wake = done;
          setTimeout(done, 1000 * (body.timeout ?? 0)).unref();
        });
      }
      return updates;
    };
    const server: HttpServer = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const name = request.url?.split("/").at(-1) ?? "";
        const answer = (status: number, document: unknown) => {
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document));
        };
        if (refuses) return answer(401, { ok: false, error_code: 401, description: "Unauthorized" });
        const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
        void method(name, body).then((result) => answer(200, { ok: true, result }));
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    await use({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      refuse: (value) => {
        refuses = value;
      },
      say: (text) => {
        const number = 800000001 + said.length + updates.length;
        const ann = { id: 4001, is_bot: false, first_name: "Ann" };
        const message = { message_id: number, date: 1780000000, chat: { id: 4001, type: "private" }, from: ann, text };
        updates.push({ update_id: number, message } as { update_id: number });
        wake();
      },
      said,
    });
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  },
});

test.use({ serverOptions: ["--fetch-allow", "127.0.0.1"] });

const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const card = (page: Page, name: string) => region(page, "All channels").getByRole("listitem").filter({ has: page.getByRole("heading", { name }) });

test("a channel is added with the steps shown, tested, linked by a code, unlinked and removed", async ({ page, telegram }) => {
  await page.goto("/#/settings/channels");
  await expect(region(page, "All channels")).toContainText("There are no channels.");
  const making = page.getByRole("form", { name: "Add a channel" });
  // Each messenger has its own steps.
  await making.getByLabel("Messenger").selectOption("DingTalk");
  await expect(making.getByText("Create an internal app in the developer console", { exact: false })).toBeVisible();
  await making.getByLabel("Messenger").selectOption("Telegram");
  await expect(making.getByText("write /newbot to @BotFather", { exact: false })).toBeVisible();
  await expect(making.getByText("internal app", { exact: false })).toHaveCount(0);
  await expectAccessible(page);
  await making.getByLabel("Name").fill("phone");
  await making.getByLabel("Bot token").fill("12:short");
  await making.getByLabel("Address of the Bot API").fill(telegram.url);
  await making.getByRole("button", { name: "Save" }).click();
  await expect(making.getByRole("alert").filter({ hasText: "the bot token has the form" })).toBeVisible();
  await making.getByLabel("Bot token").fill(TOKEN);
  await making.getByRole("button", { name: "Save" }).click();
  await expect(making.getByRole("status")).toHaveText("phone was saved.");
  const phone = card(page, "phone");
  await expect(phone).toContainText("Refused", { timeout: 20_000 });
  await expect(phone).toContainText("Telegram refuses the token: Unauthorized");
  await phone.getByRole("button", { name: "Test phone" }).click();
  await expect(phone.getByRole("status")).toContainText("The channel does not work: the platform refuses the account: Unauthorized");
  await picture(page, "channel-refused");
  telegram.refuse(false);
  await phone.getByRole("button", { name: "Test phone" }).click();
  await expect(phone.getByRole("status")).toHaveText("The channel works. Its name on the messenger is @sand_bot.");
  // A refused connection is retried only after minutes; a change of the channel connects at once.
  await phone.getByRole("button", { name: "Edit phone" }).click();
  const changing = page.getByRole("form", { name: "Change phone" });
  await expect(changing.getByText("Leave this empty to keep the stored value.", { exact: false })).toBeVisible();
  await expect(changing.getByLabel("Bot token")).toHaveValue("");
  await changing.getByRole("button", { name: "Save" }).click();
  await expect(phone).toContainText("Connected as @sand_bot", { timeout: 20_000 });
  await phone.getByRole("button", { name: "Link yourself to phone" }).click();
  const shown = phone.getByRole("group", { name: "Code for phone" });
  await expect(shown).toContainText("Never post it in a group.");
  const code = (await shown.getByTestId("link-code").textContent()) ?? "";
  await expectAccessible(page);
  await picture(page, "channel-code");
  telegram.say(code);
  await expect.poll(() => telegram.said.join("\n")).toContain("You are linked as alice");
  await shown.getByRole("button", { name: "Done" }).click();
  const links = region(page, "Links");
  await expect(links).toContainText("Ann (4001) on phone is the user alice", { timeout: 20_000 });
  await links.getByRole("button", { name: "Send server notices to Ann" }).click();
  await expect(links).toContainText("The server's notices for administrators are sent here.");
  await expectAccessible(page);
  await links.getByRole("button", { name: "Stop server notices to Ann" }).click();
  await expect(links.getByRole("button", { name: "Send server notices to Ann" })).toBeVisible();
  await links.getByRole("button", { name: "Remove the link of Ann" }).click();
  await links.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(links).toContainText("Nobody is linked.");
  telegram.say("hello?");
  await expect.poll(() => telegram.said.join("\n")).toContain("only people who are linked");
  await phone.getByRole("button", { name: "Remove phone" }).click();
  await phone.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(region(page, "All channels")).toContainText("There are no channels.");
});

test("the steps are in Chinese if the page is in Chinese", async ({ page }) => {
  await page.evaluate(() => localStorage.setItem("sandbridge.language", "zh"));
  await page.goto("/#/settings/channels");
  await page.reload();
  const making = page.getByRole("form", { name: "添加渠道" });
  await making.getByLabel("平台").selectOption("Telegram");
  await expect(making.getByText("向 @BotFather 发送 /newbot", { exact: false })).toBeVisible();
  await expect(making.getByLabel("机器人令牌")).toBeVisible();
});
