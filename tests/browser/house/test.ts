/**
 * The tests' own `test`: each test gets its own real server and scripted model, and alice with a machine and a page.
 *
 *   import { expect, test } from "../house/test";
 *   test("…", async ({ page, model, laptop }) => { … });
 *
 * `errors` of a page are those that the browser itself reports; a test fails if one remains.
 */
import { test as base, expect, request, type Browser, type BrowserContext, type Page } from "@playwright/test";
import axe from "axe-core";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ScriptedModel } from "./model";
import { type Machine, PASSWORD, type Person, Server } from "./server";

export { expect } from "@playwright/test";
export { isAfterTool, lastOfUser, Speech } from "./model";
export { PASSWORD } from "./server";

interface Household {
  /** More options of `sandbridge serve`; set with `test.use`. */
  serverOptions: string[];
  model: ScriptedModel;
  server: Server;
  alice: Person;
  laptop: Machine;
}

interface Visit {
  /** Alice's page, signed in, with her laptop online. */
  page: Page;
}

/** The settings of a user's browser. */
const SETTINGS = { locale: "en-GB", reducedMotion: "reduce" } as const;
/** The key of the session in the browser's storage. */
const SESSION = "sandbridge.session";

type Use<T> = (value: T) => Promise<void>;

async function model({}, use: Use<ScriptedModel>): Promise<void> {
  const model = await ScriptedModel.start();
  await use(model);
  await model.close();
}

async function server({ model, serverOptions }: Pick<Household, "model" | "serverOptions">, use: Use<Server>): Promise<void> {
  const server = new Server([...model.options(), ...serverOptions]);
  await server.start();
  await use(server);
  await server.close();
}

async function alice({ server }: Pick<Household, "server">, use: Use<Person>): Promise<void> {
  const alice = await server.person("alice");
  await use(alice);
  await alice.close();
}

async function laptop({ alice }: Pick<Household, "alice">, use: Use<Machine>): Promise<void> {
  await use(await alice.machine("laptop"));
}

/** Opens a page for a test, in which the browser may report no errors. */
async function visit(context: BrowserContext, use: Use<Page>): Promise<void> {
  const page = await context.newPage();
  const errors = complaints(page);
  await page.goto("/");
  await composer(page).waitFor();
  await use(page);
  await page.close();
  expect(errors).toEqual([]);
}

export const test = base.extend<Household & Visit>({
  serverOptions: [[], { option: true }],
  model,
  server,
  alice,
  laptop,
  page: async ({ browser, alice, laptop }, use) => {
    void laptop;
    const context = await sessionOf(browser, alice);
    await visit(context, use);
    await context.close();
  },
});

interface Shared {
  /** Alice's browser, signed in. */
  browserOfAlice: BrowserContext;
}

const WORKER = { scope: "worker" } as const;

/**
 * Like `test`, for tests that share one server, with alice, her laptop and her browser: each test gets a new page, and finds what the
 * tests before it left on the server. What a test stores in the browser is removed after it.
 */
export const together = base.extend<Visit, Household & Shared>({
  serverOptions: [[], { option: true, ...WORKER }],
  model: [model, WORKER],
  server: [server, WORKER],
  alice: [alice, WORKER],
  laptop: [laptop, WORKER],
  browserOfAlice: [
    async ({ browser, alice }, use) => {
      const context = await sessionOf(browser, alice);
      await use(context);
      await context.close();
    },
    WORKER,
  ],
  page: async ({ browserOfAlice, laptop }, use) => {
    void laptop;
    await visit(browserOfAlice, async (page) => {
      await use(page);
      await page.evaluate((kept) => Object.keys(localStorage).forEach((key) => key !== kept && localStorage.removeItem(key)), SESSION);
    });
  },
});

/** A separate browser for a user, with their page open. */
export async function signedIn(browser: Browser, person: Person, path = "/"): Promise<{ page: Page; errors: string[] }> {
  const page = await (await sessionOf(browser, person)).newPage();
  const errors = complaints(page);
  await page.goto(path);
  await composer(page).waitFor();
  return { page, errors };
}

/**
 * A signed-in browser, with both halves of the session, as after a login on the page. Its user has dismissed the
 * first steps, unless a test is about them.
 */
export async function sessionOf(browser: Browser, person: Person, isNew = false): Promise<BrowserContext> {
  const origin = person.server.url;
  const entrance = await request.newContext({ baseURL: origin });
  const answer = await entrance.post("/api/v1/login", { data: { user: person.name, password: PASSWORD }, headers: { origin } });
  expect(answer.ok(), await answer.text()).toBe(true);
  const { token } = (await answer.json()) as { token: string };
  const headers = { origin, authorization: `Bearer ${token}` };
  if (!isNew) expect((await entrance.post("/api/v1/me/welcomed", { headers })).ok()).toBe(true);
  const { cookies } = await entrance.storageState();
  await entrance.dispose();
  const storageState = { cookies, origins: [{ origin, localStorage: [{ name: SESSION, value: token }] }] };
  return browser.newContext({ ...SETTINGS, baseURL: origin, storageState });
}

/** Collects uncaught errors, and violations of the page's content security policy. */
export function complaints(page: Page): string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy|Encountered two children|not wrapped in act/.test(message.text())) errors.push(message.text());
  });
  return errors;
}

/** The field for writing a message. */
export function composer(page: Page) {
  return page.getByLabel("Message", { exact: true });
}

/** Sends a text in the open chat. */
export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Waits until everything in view has been loaded. It looks at each frame, where an assertion looks at growing intervals. */
export async function loaded(page: Page): Promise<void> {
  await page.getByText("Loading…").first().waitFor({ state: "hidden" });
}

/** Messages of one kind, in the order of the chat. */
export function messages(page: Page, role: "user" | "exec" | "assistant" | "notice") {
  return page.locator(`[data-testid=message][data-role=${role}]`);
}

/** Sends a command and returns the text of the message that answers it, once the command has ended. */
export async function run(page: Page, command: string): Promise<string> {
  const answer = messages(page, "exec").nth(await messages(page, "exec").count());
  await say(page, command);
  await expect(answer).not.toHaveAttribute("data-status", "running");
  return answer.innerText();
}

/** Expects that axe finds no problem on the page, however small. */
export async function expectAccessible(page: Page): Promise<void> {
  await examine(page, {});
}

/** Runs axe on the page, which must find nothing. */
async function examine(page: Page, options: axe.RunOptions): Promise<void> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (run) => (window as unknown as { axe: typeof axe }).axe.run(run),
    { resultTypes: ["violations"], ...options } satisfies axe.RunOptions,
  );
  expect(violations.map(({ id, help, impact, nodes }) => ({ id, help, impact, at: nodes.map((node) => node.html) }))).toEqual([]);
}

const WIDTHS = [
  [1280, 800, "desktop"],
  [390, 844, "phone"],
] as const;
const THEMES = ["light", "dark"] as const;

/** Calls back in each theme and each width, as they are on the user's system. */
async function eachLook(page: Page, look: (width: string, theme: (typeof THEMES)[number]) => Promise<void>): Promise<void> {
  const before = page.viewportSize();
  for (const [width, height, name] of WIDTHS) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      await look(name, colorScheme);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  if (before !== null) await page.setViewportSize(before);
}

/** Saves a picture of the page, in both themes and both widths, if `SCREENSHOTS` names a directory. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return;
  await eachLook(page, (width, theme) => save(page, `${name}-${width}-${theme}`));
}

async function save(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`) });
}

/**
 * Expects that a view is accessible in both themes and both widths, and that the themes differ only in colours; saves pictures of it
 * if `SCREENSHOTS` names a directory.
 */
export async function expectLooks(page: Page, name: string): Promise<void> {
  expect(await unlikeInThemes(page), name).toEqual([]);
  await eachLook(page, async (width, theme) => {
    // Everything but the contrast is the same in both themes, and the contrast is the same in both widths.
    if (theme === "light") await examine(page, {});
    else if (width === "desktop") await examine(page, { runOnly: ["color-contrast"] });
    await save(page, `${name}-${width}-${theme}`);
  });
}

/** The elements that have another size, type or place in the dark theme, and the page itself if its colours are the same. */
function unlikeInThemes(page: Page): Promise<string[]> {
  return page.evaluate((themes) => {
    const root = document.documentElement;
    const chosen = root.dataset.theme;
    const names = ["display", "position", "width", "height", "margin", "padding", "borderWidth", "fontFamily", "fontSize", "fontWeight", "lineHeight", "opacity", "visibility"] as const;
    const looks = themes.map((theme) => {
      root.dataset.theme = theme;
      const elements = Array.from(document.querySelectorAll("body *"), (element) => {
        const style = getComputedStyle(element);
        return `${element.tagName} ${element.getAttribute("class") ?? ""} ${names.map((name) => style[name]).join("|")}`;
      });
      return { elements, ground: getComputedStyle(root).backgroundColor, text: getComputedStyle(root).color };
    });
    if (chosen === undefined) delete root.dataset.theme;
    else root.dataset.theme = chosen;
    const [light, dark] = looks;
    if (light === undefined || dark === undefined) return ["no themes"];
    const unlike = dark.elements.filter((element, index) => element !== light.elements[index]);
    return light.ground === dark.ground || light.text === dark.text ? ["the colours of the page", ...unlike] : unlike;
  }, THEMES);
}
