// @vitest-environment jsdom
import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, expect, test } from "vitest";
import * as en from "../../i18n/en";
import type { Actions } from "../../state/actions";
import { SessionContext } from "../../state/context";
import { message, openState } from "../../state/fixtures";
import { createQueries } from "../../state/queries";
import { Store } from "../../state/store";
import type { Agent } from "../../types";
import { ToolCard } from "./ToolCard";

beforeAll(async () => void (await i18next.use(initReactI18next).init({ lng: "en", resources: { en }, defaultNS: "frame", interpolation: { escapeValue: false } })));
afterEach(cleanup);

type Tool = Extract<Agent, { kind: "tool" }>;

let shown = 0;

function show(tool: Partial<Tool>, text: string) {
  // Each test uses a new message id, since open cards are remembered by id.
  shown += 1;
  const whole: Tool = { kind: "tool", tool: "Shell", hint: "make", status: "done", place: "laptop", ...tool };
  const session = { store: new Store(openState()), actions: {} as Actions, retry: () => {} };
  render(
    <QueryClientProvider client={createQueries()}>
      <SessionContext value={session}>
        <ToolCard message={message(shown, text)} tool={whole} live={undefined} />
      </SessionContext>
    </QueryClientProvider>,
  );
  return screen.getByTestId("tool");
}

test("the card of a failed command is open, shows the exit code, and hides the advice to the model", () => {
  const head = show({ status: "failed" }, "no rule to make\n(exit code 2)\nDo NOT retry the same command. Analyze the error, fix the root cause.");
  expect(head.getAttribute("aria-expanded")).toBe("true");
  expect(head.textContent).toContain("failed, exit 2");
  expect(screen.getByRole("group", { name: "Output" }).textContent).toBe("no rule to make");
});

test("a denial by the sandbox is shown in the page's own words", () => {
  show({ status: "failed" }, "Permission denied\n(exit code 1)\n(the sandbox denied it something: files outside the workspace and other machines' secrets are out of reach)");
  expect(screen.getByRole("group", { name: "Output" }).textContent).toBe("Permission denied");
  expect(screen.getByText("denied by the sandbox")).toBeTruthy();
});

test("a card shows the tool's display name, or the tool's own name if the page does not know the tool", () => {
  expect(show({ tool: "FileReplace", hint: "a.txt" }, "").textContent).toContain("Edit file");
  cleanup();
  expect(show({ tool: "github__list_issues" }, "").textContent).toContain("github__list_issues");
});

test("the result of another tool is shown unchanged", () => {
  const head = show({ tool: "Read", hint: "a.txt" }, "(exit code 2)");
  expect(head.getAttribute("aria-expanded")).toBe("false");
  fireEvent.click(head);
  expect(screen.getByRole("group", { name: "Output" }).textContent).toBe("(exit code 2)");
});

test("a change is shown with the file's line numbers and the lines around it", async () => {
  const data = { kind: "edit", old: "six\nseven\neight\n", new: "six\n7\neight\n", first_line: 6, is_cut: false } as const;
  fireEvent.click(show({ tool: "FileReplace", hint: "a.txt", data }, "replaced once"));
  const rows = await screen.findAllByRole("row");
  expect(rows.map((row) => Array.from(row.querySelectorAll("td"), (cell) => cell.textContent).join("|"))).toEqual([
    "6|6| |six",
    "7||−|seven",
    "|7|+|7",
    "8|8| |eight",
  ]);
});
