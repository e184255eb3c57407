/** Logins to the service of a channel: Feishu's page opens in a new tab and redirects back; a login is ended, refused and begun again. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, messages, picture, say, test as base } from "../house/test";

const APP = { id: "cli_0123456789abcdef", secret: "planted-secret-of-the-app" };

interface Feishu {
  url: string;
  /** True if the person agrees on the login page. */
  agrees: boolean;
  /** Revokes all tokens permanently. */
  revoke: () => void;
  /** The paths of calls with a valid token. */
  calls: string[];
  /** The redirect URLs of the requests. */
  redirects: string[];
}

/** A simple stand-in for Feishu's login and calls; the strict one is `tests/src/platforms/feishu`. */
const test = base.extend<{ feishu: Feishu }>({
  feishu: async ({}, use) => {
    const codes = new Map<string, string>();
    let [tokens, refreshes, next] = [new Set<string>(), new Set<string>(), 1];
    const feishu: Feishu = {
      url: "",
      agrees: true,
      revoke: () => {
        [tokens, refreshes] = [new Set(), new Set()];
      },
      calls: [],
      redirects: [],
    };
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", feishu.url);
      const chunks: Buffer[] = [];
      const answer = (status: number, document: unknown) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document));
      };
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        if (url.pathname === "/open-apis/authen/v1/authorize") {
          const back = new URL(url.searchParams.get("redirect_uri") ?? "");
          feishu.redirects.push(back.href);
          back.searchParams.set("state", url.searchParams.get("state") ?? "");
          if (feishu.agrees) {
            const code = `code-${next++}`;
            codes.set(code, url.searchParams.get("code_challenge") ?? "");
            back.searchParams.set("code", code);
          } else {
            back.searchParams.set("error", "access_denied");
          }
          response.writeHead(302, { location: back.href }).end();
        } else if (url.pathname === "/open-apis/authen/v2/oauth/token") {
          const body = JSON.parse(Buffer.concat(chunks).toString());
          const challenge = createHash("sha256").update(body.code_verifier ?? "").digest("base64url");
          const isFine = body.grant_type === "refresh_token" ? refreshes.delete(body.refresh_token) : codes.get(body.code) === challenge;
          codes.delete(body.code);
          if (!isFine || body.client_secret !== APP.secret) return answer(400, { code: 20064, error: "invalid_grant", error_description: "revoked" });
          const [token, refresh] = [`u-planted-${next}`, `ur-planted-${next++}`];
          tokens.add(token);
          refreshes.add(refresh);
          answer(200, { code: 0, access_token: token, refresh_token: refresh, expires_in: 7200, token_type: "Bearer" });
        } else {
          const token = (request.headers.authorization ?? "").replace("Bearer ", "");
          if (!tokens.has(token)) return answer(401, { code: 99991677, msg: "expired" });
          feishu.calls.push(url.pathname);
          answer(200, { code: 0, msg: "success", data: { items: [{ name: "Handbook" }] } });
        }
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    feishu.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await use(feishu);
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  },
});

test.use({ serverOptions: ["--fetch-allow", "127.0.0.1"] });

const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

test("a user logs in to Feishu in a browser, logs out, is refused, and sees when the login has ended", async ({ page, feishu, model }) => {
  await page.goto("/#/settings/channels");
  const making = page.getByRole("form", { name: "Add a channel" });
  await making.getByLabel("Messenger").selectOption("Feishu / Lark");
  await making.getByLabel("Name").fill("lark");
  await making.getByLabel("App ID").fill(APP.id);
  await making.getByLabel("App Secret").fill(APP.secret);
  await making.getByLabel("Address").fill(feishu.url);
  await making.getByLabel("Connect it").uncheck();
  await making.getByRole("button", { name: "Save" }).click();
  const login = region(page, "All channels").getByRole("group", { name: "Your login with lark" });
  await expect(login).toContainText("Log in with your own Feishu account");
  const origin = new URL(page.url()).origin;
  await expect(login).toContainText(`The app must list this redirect URL under Security Settings: ${origin}/`);
  await expectAccessible(page);
  await picture(page, "channel-login");

  /** Logs in; returns the tab in which the login ended. */
  const logIn = async () => {
    const opens = page.context().waitForEvent("page");
    await login.getByRole("button", { name: "Log in to lark" }).click();
    return opens;
  };
  let tab = await logIn();
  await expect(tab.getByText("Logged in to lark.")).toBeVisible();
  // Neither the code nor the state stays in the URL.
  expect(tab.url()).not.toMatch(/code|state/);
  await tab.close();
  expect(feishu.redirects).toEqual([`${origin}/`]);
  await expect(login).toContainText("You have been logged in to Feishu");
  await expectAccessible(page);

  await login.getByRole("button", { name: "Log out of lark" }).click();
  await login.getByRole("button", { name: "Log out", exact: true }).click();
  await expect(login).toContainText("Log in with your own Feishu account");
  feishu.agrees = false;
  tab = await logIn();
  await expect(tab.getByText("access_denied", { exact: false })).toBeVisible();
  await tab.close();
  feishu.agrees = true;
  tab = await logIn();
  await expect(tab.getByText("Logged in to lark.")).toBeVisible();
  await tab.close();
  await expect(login).toContainText("You have been logged in to Feishu");

  // The agent uses the person's token.
  model.answersWith({ call: [["http__feishu_wiki_v2_space_list", {}]] }, { say: "It is the Handbook." });
  await page.keyboard.press("Escape");
  await say(page, "/approval full");
  await expect(messages(page, "notice").last()).toContainText("full");
  await say(page, "Which Wiki do I have?");
  await expect(page.getByText("It is the Handbook.", { exact: true })).toBeVisible();
  expect(feishu.calls).toEqual(["/open-apis/wiki/v2/spaces"]);
  // The person removes the app at Feishu: the next call detects that, and the page says so.
  feishu.revoke();
  model.answersWith({ call: [["http__feishu_wiki_v2_space_list", {}]] }, { say: "You have to log in again." });
  await say(page, "And now?");
  await expect(page.getByText("You have to log in again.", { exact: true })).toBeVisible();
  expect(feishu.calls).toHaveLength(1);
  await page.goto("/#/settings/channels");
  await expect(login).toContainText("Your login to Feishu has ended.");
  await expect(login.getByRole("button", { name: "Log in to lark" })).toBeVisible();
});
