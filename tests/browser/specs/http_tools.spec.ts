/** HTTP tools in the settings: imported from an OpenAPI file, given a secret, tried, and called by a model. */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, expectAccessible, isAfterTool, picture, test as base } from "../house/test";

const SECRET = "a-s3cret-of-the-shop";

/** A service that returns the request that it gets. */
const test = base.extend<{ shop: { url: string; asked: string[] } }>({
  shop: async ({}, use) => {
    const asked: string[] = [];
    const server: HttpServer = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ data: { items: [{ name: "a lamp" }], key: request.headers.authorization ?? null } }));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    await use({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked });
    await new Promise((done) => server.close(done));
  },
});

test.use({ serverOptions: ["--fetch-allow", "127.0.0.1"] });

const list = (page: Page) => page.getByRole("region", { name: "All HTTP tools" });
const card = (page: Page, name: string) => list(page).getByRole("listitem").filter({ has: page.getByRole("heading", { name }) });

test("tools of an OpenAPI file get a secret, are tried, and are called by a model that never sees it", async ({ page, model, shop }) => {
  const openapi = {
    openapi: "3.0.3",
    servers: [{ url: `${shop.url}/v1` }],
    paths: {
      "/items/{id}": {
        get: { operationId: "get_item", summary: "Reads an item", parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }] },
        delete: { operationId: "drop_item", parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }, { name: "c", in: "cookie", required: true, schema: {} }] },
      },
    },
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
  };
  await page.goto("/#/settings/http");
  await expect(list(page)).toContainText("There are no HTTP tools.");
  const importing = page.getByRole("form", { name: "Import an OpenAPI document" });
  await importing.getByRole("button", { name: "Import" }).click();
  await expect(importing.getByRole("alert").filter({ hasText: "Choose a file." })).toBeVisible();
  await importing.getByLabel("File").setInputFiles({ name: "shop.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(openapi)) });
  await importing.getByRole("button", { name: "Import" }).click();
  await expect(importing.getByText("1 tool was added.")).toBeVisible();
  await expect(importing.getByText(/drop_item .* is left out: .*cookies/)).toBeVisible();
  await expect(importing.getByText("Set these secrets before the tools are called: token")).toBeVisible();
  const item = card(page, "get_item");
  await expect(item).toContainText("token is not set.");
  await expectAccessible(page);
  await item.getByLabel("New value of token").last().fill(SECRET);
  await item.getByRole("button", { name: "Save token" }).click();
  await expect(item).toContainText(`token is set. It is sent to ${shop.url} only.`);
  await item.getByText("Try it", { exact: true }).click();
  await item.getByLabel("Arguments").fill('{"id": "a/b"}');
  await item.getByRole("button", { name: "Send the request" }).click();
  await expect(item.getByLabel("Request, without secrets")).toContainText(`GET ${shop.url}/v1/items/a%2Fb\nAuthorization: Bearer SECRET.token`);
  await expect(item.getByLabel("Response, as a model reads it")).toContainText("[secret token]");
  await expectAccessible(page);
  await picture(page, "http-tools");
  expect(shop.asked).toEqual([`GET /v1/items/a%2Fb Bearer ${SECRET}`]);
  await page.reload();
  await expect(item).toContainText("token is set.");
  await expect(page.locator("body")).not.toContainText(SECRET);

  model.answers((asked) => (isAfterTool(asked) ? { say: "A lamp." } : { call: [["http__get_item", { id: "7" }]] }));
  await page.goto("/");
  await page.getByRole("textbox", { name: "Message" }).fill("what is item 7?");
  await page.keyboard.press("Enter");
  await expect(page.getByText("/v1/items/7").first()).toBeVisible();
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await expect(page.getByText("A lamp.", { exact: true })).toBeVisible();
  expect(shop.asked[1]).toBe(`GET /v1/items/7 Bearer ${SECRET}`);
  expect(JSON.stringify(model.asked)).not.toContain(SECRET);
});

test("a tool is entered in the form, edited as JSON and removed; problems are shown at their fields", async ({ page, shop }) => {
  await page.goto("/#/settings/http");
  const form = page.getByRole("form", { name: "Add a tool of your own" });
  await form.getByLabel("Name").fill("lamp");
  await form.getByLabel("Description").fill("Asks for the lamp");
  await form.getByLabel("Address").fill(`${shop.url}/{{room}}`);
  await form.getByLabel(/^Headers/).fill("nothing");
  await form.getByLabel(/^Parameters/).fill("room* text");
  await form.getByRole("button", { name: "Add tool" }).click();
  await expect(form.getByLabel(/^Headers/)).toHaveAccessibleDescription(/^Line 1 is not of the form Name: value\./);
  await expect(form.getByLabel(/^Parameters/)).toHaveAccessibleDescription(/^Line 1 is not of the form/);
  await expectAccessible(page);
  await form.getByLabel(/^Headers/).fill("X-Key: {{secret.KEY}}");
  await form.getByLabel(/^Parameters/).fill("room* string The room");
  await form.getByLabel(/^Part of the response/).fill("data.items.0.name");
  await form.getByLabel(/^Through a runner/).fill("laptop");
  await form.getByRole("button", { name: "Add tool" }).click();
  await expect(form.getByText("lamp is saved. Set its secrets in the list above: KEY")).toBeVisible();
  const lamp = card(page, "lamp");
  await expect(lamp).toContainText(`GET ${shop.url} via laptop`);
  await expect(lamp).toContainText(`sent to ${shop.url} via laptop only`);
  await lamp.getByRole("button", { name: "Edit lamp" }).click();
  const json = form.getByLabel("Document");
  await json.fill((await json.inputValue()).replace("X-Key", "X-Plain").replace("{{secret.KEY}}", "plain").replace('"via": "laptop"', '"via": ""'));
  await form.getByRole("button", { name: "Replace tool" }).click();
  await expect(form.getByText("lamp is saved.", { exact: true })).toBeVisible();
  await lamp.getByText("Try it", { exact: true }).click();
  await lamp.getByLabel("Arguments").fill('{"room": "hall"}');
  await lamp.getByRole("button", { name: "Send the request" }).click();
  await expect(lamp.getByLabel("Response, as a model reads it")).toHaveText("HTTP 200\na lamp");
  await json.fill('{"name": "bad", "description": "d", "url": "http://{{room}}/"}');
  await form.getByRole("button", { name: "Add tool" }).click();
  await expect(form.getByRole("alert").filter({ hasText: "a placeholder cannot be used in the host" })).toBeVisible();
  await lamp.getByRole("button", { name: "Remove lamp" }).click();
  await lamp.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(list(page)).toContainText("There are no HTTP tools.");
});
