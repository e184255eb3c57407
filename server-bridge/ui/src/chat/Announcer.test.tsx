// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, expect, test } from "vitest";
import * as en from "../i18n/en";
import { message } from "../state/fixtures";
import type { Agent, Message } from "../types";
import { Announcer } from "./Announcer";

beforeAll(async () => void (await i18next.use(initReactI18next).init({ lng: "en", resources: { en }, defaultNS: "frame", interpolation: { escapeValue: false } })));
afterEach(cleanup);

const reply = (text: string, change: Partial<Extract<Agent, { kind: "reply" }>>): Message => ({
  ...message(1, text),
  role: "assistant",
  agent: { kind: "reply", status: "done", ...change } as Agent,
});

/** The text announced to a screen reader when a running reply ends like this. */
function heard(ended: Message): string {
  const { rerender } = render(<Announcer messages={[reply("", { status: "running" })]} />);
  rerender(<Announcer messages={[ended]} />);
  return screen.getByRole("status").textContent ?? "";
}

test("an answer is announced with its text", () => {
  expect(heard(reply("It is done.", {}))).toBe("Sandbridge answered: It is done.");
});

test("a failed answer is announced with its reason, and an empty answer is not announced", () => {
  expect(heard(reply("", { status: "failed", error: "the key is wrong" }))).toBe("The answer failed: the key is wrong");
  cleanup();
  expect(heard(reply("", { status: "cancelled" }))).toBe("");
});
