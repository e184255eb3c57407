// @vitest-environment jsdom
import { QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { ApiError } from "../../api";
import * as en from "../../i18n/en";
import type { Actions } from "../../state/actions";
import { SessionContext } from "../../state/context";
import { message, openState } from "../../state/fixtures";
import { createQueries } from "../../state/queries";
import { Store } from "../../state/store";
import type { Agent } from "../../types";
import { Approval } from "./Approval";
import { Question } from "./Question";

beforeAll(async () => void (await i18next.use(initReactI18next).init({ lng: "en", resources: { en } })));
afterEach(cleanup);

const TOOL: Extract<Agent, { kind: "tool" }> = { kind: "tool", tool: "Shell", hint: "ls", status: "asking", place: "laptop" };

function show(card: React.ReactNode, actions: Partial<Actions>) {
  const session = { store: new Store(openState()), actions: actions as Actions, retry: () => {} };
  render(
    <QueryClientProvider client={createQueries()}>
      <SessionContext value={session}>{card}</SessionContext>
    </QueryClientProvider>,
  );
}

const tooLate = () => Promise.reject(new ApiError(409, "conflict", "this was answered already"));

test("an approval that was answered elsewhere says so, and accepts no more answers", async () => {
  const approve = vi.fn(tooLate);
  show(<Approval message={message(1)} tool={TOOL} />, { approve });
  await act(async () => void fireEvent.click(screen.getByRole("button", { name: "Allow" })));
  expect((await screen.findByRole("status")).textContent).toContain("answered elsewhere");
  expect(screen.queryByRole("alert")).toBeNull();
  await act(async () => void fireEvent.keyDown(screen.getByRole("group", { name: "Allow Shell on laptop?" }), { key: "a" }));
  expect(approve).toHaveBeenCalledTimes(1);
});

test("a question that was answered elsewhere keeps the entered text", async () => {
  show(<Question message={message(2)} question="Which?" options={["This"]} />, { answer: tooLate });
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "mine" } });
  await act(async () => void fireEvent.click(screen.getByRole("button", { name: "Answer" })));
  expect((await screen.findByRole("status")).textContent).toContain("answered elsewhere");
  expect(screen.getByRole<HTMLInputElement>("textbox").value).toBe("mine");
});

test("any other refusal is an error, and the answer can be sent again", async () => {
  const approve = vi.fn(() => Promise.reject(new ApiError(500, "internal", "the disk is full")));
  show(<Approval message={message(3)} tool={TOOL} />, { approve });
  await act(async () => void fireEvent.click(screen.getByRole("button", { name: "Deny" })));
  expect((await screen.findByRole("alert")).textContent).toBe("the disk is full");
  await act(async () => void fireEvent.click(screen.getByRole("button", { name: "Deny" })));
  expect(approve).toHaveBeenCalledTimes(2);
});
