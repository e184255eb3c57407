// @vitest-environment jsdom
import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { ApiError } from "../../api";
import { PLUGIN_ARCHIVE_BYTES, PLUGIN_CHANGES_COUNT } from "../../limits";
import { type Asked, press, showSection, write } from "../fixtures";
import type { NewPlugin, Plugin } from "../types";
import Plugins from "./Plugins";

afterEach(cleanup);

function plugin(change: Partial<Plugin> = {}): Plugin {
  return {
    name: "guard",
    version: "1.0",
    description: "Guards",
    hash: "guard-hash-0123456789",
    source: "npm:guard",
    enabled: true,
    shared: false,
    has_update: false,
    installed_at: 1,
    hooks: [],
    servers: [],
    commands: [],
    skills: [],
    roles: [],
    unused: [],
    problems: [],
    replaces: null,
    ...change,
  };
}

const LOOKED = plugin({ enabled: false, installed_at: null });

/** Shows the section of a user with these plugins; `answers` responds to all other requests. */
async function show(plugins: Plugin[], answers: (method: string, path: string, body: NewPlugin) => unknown = () => undefined) {
  const has = { plugins };
  const answer = (method: string, path: string, { body }: Asked) => (method === "GET" ? { ...has } : answers(method, path, body as NewPlugin));
  const client = await showSection(<Plugins />, answer);
  await screen.findByRole("form", { name: "Install a plugin" });
  return { client, has };
}

const cards = () => screen.getByRole("region", { name: "Your plugins" });
const choose = (file: File) => fireEvent.change(screen.getByLabelText("Archive"), { target: { files: [file] } });
const byArchive = () => fireEvent.click(screen.getByRole("radio", { name: "An archive file" }));
const problems = () => screen.getAllByRole("alert").map((alert) => alert.textContent).filter((text) => text !== "");

test("a plugin is listed with all its parts, unused parts and problems, and its texts cannot disturb the page", async () => {
  await show([
    plugin({
      description: "Guards\u202e",
      hooks: [{ name: "PreToolUse Bash", about: "./check.sh\nrm -rf x" }],
      servers: [{ name: "plugin_guard_db", about: '{"command": "db"}' }],
      commands: [{ name: "/guard:look", about: "Looks" }],
      skills: [{ name: "guard:a", about: "" }, { name: "guard:b", about: "" }],
      roles: [{ name: "guard:looker", about: "Only looks" }],
      unused: [{ name: "lspServers", about: "there are no language servers here" }],
      problems: [{ origin: "", place: "skills/x", text: "has no text" }],
    }),
    plugin({ name: "other", enabled: false }),
  ]);
  const card = within(cards()).getByRole("heading", { name: "guard 1.0 Used" }).closest("li") as HTMLElement;
  expect(within(cards()).getByRole("heading", { name: "other 1.0 Not used" })).toBeTruthy();
  expect(within(card).getByText("Guards\\u{202e}")).toBeTruthy();
  expect(within(card).getByText("npm:guard · guard-hash-0")).toBeTruthy();
  const folds = [...card.querySelectorAll("details")];
  const titles = ["1 hook", "1 MCP server", "1 slash command", "2 skills", "1 role for sub-agents", "1 part that is not used here"];
  expect(folds.map((fold) => fold.querySelector("summary")?.textContent)).toEqual(titles);
  expect(folds.filter((fold) => fold.open)).toEqual([]);
  expect([...card.querySelectorAll("pre")].map((shown) => shown.textContent)).toEqual(["./check.sh\nrm -rf x", '{"command": "db"}']);
  expect(card.textContent).toContain("lspServersthere are no language servers here");
  expect(within(card).getByText("skills/x: has no text")).toBeTruthy();
});

test("a plugin is disabled and enabled at once, and removed after a confirmation", async () => {
  const { client, has } = await show([plugin()], (method) => {
    if (method === "DELETE") throw new ApiError(404, "not_found", "you have no plugin guard");
  });
  const named = { params: { path: { name: "guard" } } };
  has.plugins = [plugin({ enabled: false })];
  await press("Disable guard");
  expect(client.PUT).toHaveBeenLastCalledWith("/api/v1/plugins/{name}", { ...named, body: { enabled: false } });
  await screen.findByRole("button", { name: "Enable guard" });
  has.plugins = [plugin()];
  await press("Enable guard");
  expect(client.PUT).toHaveBeenLastCalledWith("/api/v1/plugins/{name}", { ...named, body: { enabled: true } });
  expect(await screen.findByRole("button", { name: "Disable guard" })).toBeTruthy();
  await press("Remove guard");
  expect(client.DELETE).not.toHaveBeenCalled();
  await press("Remove");
  expect(client.DELETE).toHaveBeenCalledWith("/api/v1/plugins/{name}", named);
  await waitFor(() => expect(problems()).toEqual(["you have no plugin guard"]));
});

test("a source is inspected, shows what runs and what differs, and is installed by the hash that was shown", async () => {
  const files = ["check.sh", "b\u202e"];
  const shown = plugin({
    ...LOOKED,
    version: "2.0",
    hooks: [{ name: "Stop", about: "./check.sh" }],
    skills: [{ name: "guard:a", about: "" }],
    replaces: { version: "1.0", hash: "old-hash-0123456789", files },
  });
  const { client, has } = await show([], (_, path) => (path.endsWith("/look") ? shown : undefined));
  expect(cards().textContent).toContain("You have no plugins.");
  write("Source", "  npm:guard ");
  await press("Inspect");
  expect(client.POST).toHaveBeenLastCalledWith("/api/v1/plugins/look", expect.objectContaining({ body: { source: "npm:guard" } }));
  const looked = await screen.findByRole("region", { name: "guard 2.0" });
  expect([...looked.querySelectorAll("details")].map((fold) => fold.open)).toEqual([true, false]);
  expect(looked.textContent).toContain("It replaces your copy 1.0 (old-hash-012). Files that differ:check.shb\\u{202e}");
  expect(looked.textContent).not.toContain("Only the first");
  expect(screen.getByRole("status").textContent).toMatch(/^Nothing is installed yet/);
  has.plugins = [plugin({ version: "2.0" })];
  await press("Install");
  const asked = { source: "npm:guard", hash: "guard-hash-0123456789" };
  expect(client.POST).toHaveBeenLastCalledWith("/api/v1/plugins", expect.objectContaining({ body: asked }));
  expect(await within(cards()).findByRole("heading", { name: "guard 2.0 Used" })).toBeTruthy();
  expect(screen.getByRole("status").textContent).toBe("guard is installed. Agents use it from the next turn on.");
  expect(screen.getByLabelText<HTMLInputElement>("Source").value).toBe("");
  expect(screen.queryByRole("button", { name: "Install" })).toBeNull();
});

test("an inspected plugin cannot be installed after the form has changed", async () => {
  let end: (shown: Plugin) => void = () => {};
  const { client } = await show([], () => new Promise<Plugin>((done) => (end = done)));
  write("Source", "npm:guard");
  await press("Inspect");
  expect(screen.getByRole("status").textContent).toMatch(/^Working/);
  write("Source", "npm:guardian");
  await act(async () => end(LOOKED));
  await waitFor(() => expect(screen.getByRole<HTMLButtonElement>("button", { name: "Inspect" }).disabled).toBe(false));
  expect(screen.queryByRole("button", { name: "Install" })).toBeNull();
  await press("Inspect");
  await act(async () => end(LOOKED));
  expect(await screen.findByRole("button", { name: "Install" })).toBeTruthy();
  write("Source", "npm:guard");
  expect(screen.queryByRole("button", { name: "Install" })).toBeNull();
  expect(client.POST).toHaveBeenCalledTimes(2);
});

test("an archive is sent in base64, and the same content is installed", async () => {
  const { client } = await show([], (_, path) => (path.endsWith("/look") ? LOOKED : undefined));
  byArchive();
  choose(new File([Uint8Array.from([0x1f, 0x8b, 0xff])], "guard.tar.gz"));
  await press("Inspect");
  await screen.findByRole("button", { name: "Install" });
  await press("Install");
  const asked = { archive: "H4v/", name: "guard" };
  const bodies = client.POST.mock.calls.map(([, options]) => options?.body);
  expect(bodies).toEqual([asked, { ...asked, hash: LOOKED.hash }]);
  expect(screen.getByLabelText<HTMLInputElement>("Archive").files).toHaveLength(0);
});

test("nothing is sent without a source, without a file, or with a file that is too large", async () => {
  const { client } = await show([]);
  await press("Inspect");
  expect(problems()).toEqual(["Enter a source."]);
  expect(screen.getByLabelText("Source").getAttribute("aria-invalid")).toBe("true");
  byArchive();
  expect(problems()).toEqual([]);
  await press("Inspect");
  expect(problems()).toEqual(["Choose an archive."]);
  const large = new File([], "large.zip");
  Object.defineProperty(large, "size", { value: PLUGIN_ARCHIVE_BYTES + 1 });
  choose(large);
  await press("Inspect");
  expect(problems()).toEqual(["The file is larger than 32 MiB. Choose a smaller one, or install the plugin from a source."]);
  expect(client.POST).not.toHaveBeenCalled();
});

test("an error is shown in the form, which keeps its contents; after a change of the files, the user must inspect again", async () => {
  const answers: unknown[] = [new ApiError(400, "invalid", "it cannot be fetched"), LOOKED, new ApiError(500, "internal", "no room"), new ApiError(409, "conflict", "look at it again"), LOOKED];
  await show([], () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  write("Source", "npm:guard");
  await press("Inspect");
  await waitFor(() => expect(problems()).toEqual(["it cannot be fetched"]));
  await press("Inspect");
  await screen.findByRole("region", { name: "guard 1.0" });
  expect(problems()).toEqual([]);
  await press("Install");
  await waitFor(() => expect(problems()).toEqual(["no room"]));
  await press("Install");
  await waitFor(() => expect(problems()).toEqual(["The files changed since you looked at them, so nothing was installed. Inspect the plugin again."]));
  expect(screen.queryByRole("button", { name: "Install" })).toBeNull();
  expect(screen.getByLabelText<HTMLInputElement>("Source").value).toBe("npm:guard");
  await press("Inspect");
  expect(await screen.findByRole("button", { name: "Install" })).toBeTruthy();
  expect(problems()).toEqual([]);
});

test("an identical copy is reported as such, and a long list of differences says that it is cut", async () => {
  const files = Array.from({ length: PLUGIN_CHANGES_COUNT }, (_, at) => `file-${at}`);
  const answers = [{ version: "1.0", hash: LOOKED.hash, files: [] }, { version: "0.9", hash: "old", files }];
  await show([], () => plugin({ ...LOOKED, replaces: answers.shift() ?? null }));
  write("Source", "npm:guard");
  await press("Inspect");
  expect(await screen.findByText("This is the same copy that you have.")).toBeTruthy();
  expect(screen.getByText(/^It has no hooks and no MCP servers/)).toBeTruthy();
  await press("Inspect");
  expect(await screen.findByText("Only the first 50 are listed.")).toBeTruthy();
});
