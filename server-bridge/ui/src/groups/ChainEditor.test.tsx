// @vitest-environment jsdom
import { act, cleanup, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { type Asked, press, showSection, write } from "../settings/fixtures";
import { ChainEditor } from "./ChainEditor";
import type { Chain, ChainTemplate, Group, GroupAgent } from "./types";

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

/** The scripted server: it does not check chains, and returns what it is asked to store. */
function answer(_: string, path: string, asked: Asked) {
  if (path === "/api/v1/chain-templates") return [article, release];
  if (path === "/api/v1/groups") return [group, { ...group, id: 8, title: "Elsewhere" }, { ...group, id: 9, title: "Empty" }];
  if (path === "/api/v1/groups/{group}/chains") return Number(asked.params?.path?.group) === 8 ? [story] : [];
  const put = asked.body as { chain?: Chain["chain"]; text?: string };
  return { name: "chain", chain: put.chain ?? article.chain, text: put.text ?? "1. @tester: as the server writes it\n", updated_at: 0 };
}

const show = (chain: Chain | null) => showSection(<ChainEditor group={group} chain={chain} onSaved={vi.fn(() => Promise.resolve())} onDone={() => {}} />, answer);
const value = (label: string) => screen.getByLabelText<HTMLInputElement>(label).value;
const steps = () => [1, 2, 3].flatMap((number) => (screen.queryByLabelText(`Agent of step ${number}`) === null ? [] : [`${value(`Agent of step ${number}`)}: ${value(`Instruction of step ${number}`)}`]));

test("a template fills the editor with the matching agents, and agents that are not in the group are named", async () => {
  const client = await show(null);
  await screen.findByText("Article");
  write("Begin with", "template article");
  expect(steps()).toEqual(["writer: Write it.", "rust-coder: Print it."]);
  expect(value("Tokens")).toBe("500");
  expect(screen.getByText(/^Not in this group: @writer\. /)).toBeTruthy();
  // The user has written nothing yet that another template would replace.
  write("Begin with", "template release");
  expect(steps()).toEqual(["tester: Test it."]);
  expect(value("Tokens")).toBe("");
  expect(screen.queryByText(/Not in this group/)).toBeNull();
  write("Begin with", "template article");
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
  write("Begin with", "template article");
  expect(value("Steps as text")).toBe(article.text.replace("@coder", "@rust-coder"));
  expect(screen.getByText(/^Not in this group: @writer\. /)).toBeTruthy();
  write("Steps as text", "1. @Tester: mine\n2. @nobody: too\n");
  expect(screen.getByText(/^Not in this group: @nobody\. /)).toBeTruthy();
  write("Begin with", "template release");
  expect(value("Steps as text")).toBe("1. @Tester: mine\n2. @nobody: too\n");
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
  write("Chain of Elsewhere", "story");
  expect(steps()).toEqual(["tester: Tell it."]);
  cleanup();
  await show(story);
  expect(screen.queryByLabelText("Begin with")).toBeNull();
});
