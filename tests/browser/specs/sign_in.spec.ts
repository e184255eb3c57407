import type { Browser, Page } from "@playwright/test";
import { request } from "@playwright/test";
import type { Person } from "../house/server";
import { complaints, composer, expect, expectAccessible, PASSWORD, sessionOf, test } from "../house/test";

/** A logged-in program, like `sandbridge here --web`, and codes that it requests. */
class Program {
  private constructor(
    private readonly origin: string,
    private readonly token: string,
  ) {}

  static async logIn(person: Person): Promise<Program> {
    const origin = person.server.url;
    const answer = await Program.post(origin, "/login", { user: person.name, password: PASSWORD }, {});
    return new Program(origin, answer.token);
  }

  /** The address that signs a page in, once. */
  async address(): Promise<string> {
    const { code } = await Program.post(this.origin, "/sign-ins", {}, this.headers());
    return `/#sign-in=${code}`;
  }

  async logOut(): Promise<void> {
    await Program.post(this.origin, "/logout", {}, this.headers());
  }

  private headers(): Record<string, string> {
    return { authorization: `Bearer ${this.token}` };
  }

  private static async post(origin: string, path: string, data: object, headers: Record<string, string>): Promise<any> {
    const client = await request.newContext({ baseURL: origin });
    const answer = await client.post(`/api/v1${path}`, { data, headers });
    expect(answer.ok(), await answer.text()).toBe(true);
    const text = await answer.text();
    await client.dispose();
    return text === "" ? {} : JSON.parse(text);
  }
}

/** A browser in which no user is signed in. */
async function strange(browser: Browser, person: Person): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext({ baseURL: person.server.url, locale: "en-GB", reducedMotion: "reduce" });
  const page = await context.newPage();
  return { page, errors: complaints(page) };
}

/** Checks that the address is reported as unusable, shows no user's data, and leads to the login. */
async function expectRefused(page: Page): Promise<void> {
  await expect(page.getByText("was already used or has expired")).toBeVisible();
  await expect(composer(page)).toHaveCount(0);
  expect(new URL(page.url()).hash).not.toContain("sign-in");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByLabel("Password", { exact: true })).toBeVisible();
}

test("a printed address signs in one browser, once, and its code does not stay in the address", async ({ browser, alice }) => {
  const program = await Program.logIn(alice);
  const printed = await program.address();
  const first = await strange(browser, alice);
  await first.page.goto(printed);
  // The first steps are shown, so alice is signed in; only she herself can dismiss them.
  await expect(first.page.getByRole("heading", { name: "Which model should answer you?" }).or(composer(first.page))).toBeVisible();
  expect(first.page.url()).not.toContain("sign-in");
  await first.page.reload();
  await expect(first.page.getByLabel("Password", { exact: true })).toHaveCount(0);
  await first.page.goBack();
  expect(first.page.url()).not.toContain("sign-in");

  const second = await strange(browser, alice);
  await second.page.goto(printed);
  await expectRefused(second.page);
  // The first session is still signed in.
  await first.page.goto("/");
  await expect(first.page.getByLabel("Password", { exact: true })).toHaveCount(0);
  for (const { page, errors } of [first, second]) {
    await page.context().close();
    expect(errors).toEqual([]);
  }
});

test("an invented address, and one whose program has logged out, sign nobody in", async ({ browser, alice }) => {
  const program = await Program.logIn(alice);
  const printed = await program.address();
  await program.logOut();
  const made = ["/#sign-in=", "/#sign-in=guessed", `/#sign-in=${"x".repeat(4_000)}`, "/#sign-in=%", printed];
  for (const address of made) {
    const { page, errors } = await strange(browser, alice);
    await page.goto(address);
    await expectRefused(page);
    await page.context().close();
    expect(errors).toEqual([]);
  }
});

test("an invalid address does not sign out the current user", async ({ browser, alice }) => {
  const context = await sessionOf(browser, alice);
  const page = await context.newPage();
  const errors = complaints(page);
  await page.goto("/#sign-in=guessed");
  await expect(page.getByText("was already used or has expired")).toBeVisible();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(composer(page)).toBeVisible();
  await context.close();
  expect(errors).toEqual([]);
});

test("a printed address replaces another user's session in the browser that opens it", async ({ browser, alice, server }) => {
  const bob = await server.person("bob");
  const context = await sessionOf(browser, bob);
  const page = await context.newPage();
  await page.goto(await (await Program.logIn(alice)).address());
  await page.waitForURL((url) => !url.hash.includes("sign-in"));
  // The code is removed from the address before it is redeemed.
  const name = (): Promise<string> =>
    page.evaluate(async () => {
      const token = localStorage.getItem("sandbridge.session");
      return (await (await fetch("/api/v1/me", { headers: { authorization: `Bearer ${token}` } })).json()).name;
    });
  await expect.poll(name).toBe("alice");
  await context.close();
  await bob.close();
});
