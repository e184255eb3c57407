// @vitest-environment jsdom
import { act, cleanup, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { type Asked, press, showSection, write } from "../settings/fixtures";
import { ApiError } from "../api";
import { ChainEditor } from "./ChainEditor";
import { strangers } from "./steps";
import type { Chain, ChainDraft, ChainTemplate, ChainTextAsk, Group, GroupAgent } from "./types";

afterEach(cleanup);

const agent = (handle: string) => ({ handle, owner: "alice" }) as GroupAgent;
const group: Group = { id: 7, title: "Work", access: "editor", lead: null, people: [], agents: [agent("tester"), agent("rust-coder")], updated_at: 0 };
const article: ChainTemplate = {
  name: "article",
  title: "Article",
  what: "a text that is written",
  text: "1. @writer: Write it. [gate]\n2. @coder: Print it.\nbudget: 500 tokens\n",
  chain: { steps: [{ agent: "writer", instruction: "Write it.", gate: true }, { agent: "coder", instruction: "Print it." }], budget: { tokens: 500 } },
};
const release: ChainTemplate = { name: "release", title: "Release", what: "a release", text: "1. @tester: Test it.\n", chain: { steps: [{ agent: "tester", instruction: "Test it." }] } };
const story: Chain = { name: "story", chain: { steps: [{ agent: "Tester", instruction: "Tell it." }] }, text: "1. @Tester: Tell it.\n", updated_at: 1 };

const MINE = "1. @Tester: mine\n2. @nobody: too\n";
/** How the server reads the texts of these tests, and the agents that it puts in the place of others. */
const READ: Record<string, ChainDraft> = {
  [article.text]: article.chain,
  [article.text.replace("@coder", "@rust-coder")]: { steps: [{ agent: "writer", instruction: "Write it." }, { agent: "rust-coder", instruction: "Print it." }] },
  [release.text]: release.chain,
  [story.text]: story.chain,
  [MINE]: { steps: [{ agent: "Tester", instruction: "mine" }, { agent: "nobody", instruction: "too" }] },
};
const FITTING: Record<string, string> = { coder: "rust-coder", Tester: "tester" };

function read(ask: ChainTextAsk) {
  const chain = ask.chain ?? READ[ask.text ?? ""] ?? {};
  const steps = (chain.steps ?? []).filter(({ instruction }) => instruction.trim() !== "").map((step) => ({ ...step, agent: (ask.fit === true ? FITTING[step.agent] : undefined) ?? step.agent }));
  const lines = steps.map(({ agent: handle, instruction, gate }, at) => `${at + 1}. @${handle}: ${instruction}${gate === true ? " [gate]" : ""}\n`);
  const tokens = chain.budget?.tokens ?? null;
  const agents = steps.map((step) => step.agent);
  return { chain: { ...chain, steps }, text: lines.join("") + (tokens === null ? "" : `budget: ${tokens} tokens\n`), agents, strangers: strangers(agents, ["tester", "rust-coder"]) };
}

/** The server: it checks no chain, and answers what it is asked to store. A chain named story exists. */
function answer(_: string, path: string, asked: Asked) {
  if (path === "/api/v1/chain-templates") return [article, release];
  if (path === "/api/v1/groups") return [group, { ...group, id: 8, title: "Elsewhere" }, { ...group, id: 9, title: "Empty" }];
  if (path === "/api/v1/groups/{group}/chains") return Number(asked.params?.path?.group) === 8 ? [story] : [];
  if (path === "/api/v1/groups/{group}/chain-text") return read(asked.body as ChainTextAsk);
  const put = asked.body as { chain?: Chain["chain"]; text?: string; replace?: boolean; changed_at?: number };
  const isFree = asked.params?.path?.name !== "story" || put.replace === true || put.changed_at === 1;
  if (!isFree) throw new ApiError(409, "conflict", "there is already a chain story in this group");
  return { name: "chain", chain: put.chain ?? article.chain, text: put.text ?? "1. @tester: as the server writes it\n", updated_at: 0 };
}

const show = (chain: Chain | null) => showSection(<ChainEditor group={group} chain={chain} onSaved={vi.fn(() => Promise.resolve())} onDone={() => {}} />, answer);
const begin = (choice: string) => act(async () => write("Begin with", choice));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent).join("");
const value = (label: string) => screen.getByLabelText<HTMLInputElement>(label).value;
const steps = () => [1, 2, 3].flatMap((number) => (screen.queryByLabelText(`Agent of step ${number}`) === null ? [] : [`${value(`Agent of step ${number}`)}: ${value(`Instruction of step ${number}`)}`]));

test("a template fills the editor with the matching agents, and agents that are not in the group are named", async () => {
  const client = await show(null);
  await screen.findByText("Article");
  await begin("template article");
  expect(steps()).toEqual(["writer: Write it.", "rust-coder: Print it."]);
  expect(value("Tokens")).toBe("500");
  expect(screen.getByText(/^Not in this group: @writer\. /)).toBeTruthy();
  // Nothing of one's own is there yet that another template would replace.
  await begin("template release");
  expect(steps()).toEqual(["tester: Test it."]);
  expect(value("Tokens")).toBe("");
  expect(screen.queryByText(/Not in this group/)).toBeNull();
  await begin("template article");
  write("Agent of step 1", "tester");
  expect(screen.queryByText(/Not in this group/)).toBeNull();
  write("Name of the chain", "print");
  await press("Save");
  const [path, asked] = client.PUT.mock.lastCall ?? [];
  expect(path).toBe("/api/v1/groups/{group}/chains/{name}");
  expect(asked).toMatchObject({
    params: { path: { group: 7, name: "print" } },
    body: { chain: { budget: { tokens: 500 }, steps: [{ agent: "tester", instruction: "Write it.", gate: true }, { agent: "rust-coder", instruction: "Print it." }] } },
  });
});

test("written text is replaced only after a confirmation", async () => {
  await show(null);
  await screen.findByText("Article");
  write("Instruction of step 1", "my own words");
  write("Begin with", "template article");
  expect(steps()).toEqual(["tester: my own words"]);
  expect(screen.getByRole("group", { name: "Replace what you have written with Article?" })).toBeTruthy();
  await press("Keep mine");
  expect([steps(), value("Begin with")]).toEqual([["tester: my own words"], ""]);
  expect(document.activeElement).toBe(screen.getByLabelText("Begin with"));
  write("Begin with", "template article");
  await press("Replace");
  expect(steps()).toEqual(["writer: Write it.", "rust-coder: Print it."]);
  expect(screen.queryByText(/^Replace what/)).toBeNull();
  // A limit alone counts as written, too.
  write("Tokens", "700");
  write("Begin with", "template release");
  expect(steps().length).toBe(2);
  await press("Keep mine");
  expect(value("Tokens")).toBe("700");
});

test("in the text view, a template is shown as text", async () => {
  await show(null);
  await screen.findByText("Article");
  await press("Show as text");
  write("Steps as text", "");
  await begin("template article");
  expect(value("Steps as text")).toBe(article.text.replace("@coder", "@rust-coder"));
  expect(await screen.findByText(/^Not in this group: @writer\. /)).toBeTruthy();
  write("Steps as text", MINE);
  expect(await screen.findByText(/^Not in this group: @nobody\. /)).toBeTruthy();
  write("Begin with", "template release");
  expect(value("Steps as text")).toBe(MINE);
  await press("Replace");
  expect(value("Steps as text")).toBe(release.text);
});

test("a new chain can begin with a chain of another group; an existing chain is only edited", async () => {
  await show(null);
  await screen.findByText("Elsewhere");
  expect(screen.queryByText("Work")).toBeNull();
  await act(async () => write("Begin with", "group 9"));
  await screen.findByText("Empty has no chains.");
  await act(async () => write("Begin with", "group 8"));
  await screen.findByLabelText("Chain of Elsewhere");
  await act(async () => write("Chain of Elsewhere", "story"));
  expect(steps()).toEqual(["tester: Tell it."]);
  cleanup();
  await show(story);
  expect(screen.queryByLabelText("Begin with")).toBeNull();
});

test("a chain that nobody has written yet is shown as text and as a list again, and is no text of one's own", async () => {
  await show(null);
  await screen.findByText("Article");
  await press("Show as text");
  expect(value("Steps as text")).toBe("");
  expect(alerts()).toBe("");
  await press("Show as a list");
  expect(alerts()).toBe("");
  expect(screen.getByRole("button", { name: "Add step" })).toBeTruthy();
  await begin("template release");
  expect(steps()).toEqual(["tester: Test it."]);
});

test("a new chain replaces one of its name only if the person says so, and a change names what it was made from", async () => {
  const client = await show(null);
  write("Name of the chain", "story");
  write("Instruction of step 1", "mine");
  expect(screen.queryByRole("button", { name: /^Replace/ })).toBeNull();
  await press("Save");
  expect(alerts()).toBe("there is already a chain story in this group");
  // Another name is another question.
  write("Name of the chain", "tale");
  expect(screen.queryByRole("button", { name: /^Replace/ })).toBeNull();
  write("Name of the chain", "story");
  await press("Replace the chain story");
  expect(client.PUT.mock.lastCall?.[1]?.body).toMatchObject({ replace: true });
  cleanup();
  const other = await show(story);
  await press("Save");
  expect(other.PUT.mock.lastCall?.[1]?.body).toMatchObject({ changed_at: 1, replace: false });
});
