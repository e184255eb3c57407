// @vitest-environment jsdom
import { QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import type { Actions } from "../state/actions";
import { SessionContext } from "../state/context";
import { execMessage, message, openState } from "../state/fixtures";
import type { LiveOutput } from "../state/output";
import { createQueries } from "../state/queries";
import { Store } from "../state/store";
import type { Message, ServerEvent } from "../types";
import { ChatView } from "./ChatView";

const renders = new Map<string, number>();
const count = (name: string) => renders.set(name, (renders.get(name) ?? 0) + 1);

// Without a layout no row would be in view, so this list renders all of them.
vi.mock("react-virtuoso", () => ({
  Virtuoso: ({ data, itemContent }: { data: unknown[]; itemContent: (at: number, item: unknown) => ReactNode }) =>
    data.map((item, at) => <div key={at}>{itemContent(at, item)}</div>),
}));
// The parts of a message render with its row, so counting rows is enough.
vi.mock("./MessageItem", () => ({
  MessageItem: ({ message, live }: { message: Message; live: LiveOutput | undefined }) => {
    count(`message ${message.id}`);
    return <p>{live?.segments.map((segment) => segment.text).join("") ?? message.text}</p>;
  },
}));
// Rendered whenever the conversation is.
vi.mock("./ChatHeader", () => ({
  ChatHeader: () => {
    count("conversation");
    return null;
  },
}));
vi.mock("./composer/Composer", () => ({
  Composer: () => {
    count("composer");
    return null;
  },
}));

afterEach(cleanup);

test("a piece of output renders only the message that shows it", async () => {
  const store = new Store(openState([message(1), execMessage(2, ""), execMessage(3, "")]));
  const actions = { chatDetails: () => new Promise(() => {}), loadOlder: async () => {} } as unknown as Actions;
  const session = { store, actions, retry: () => {} };
  const page = render(
    <QueryClientProvider client={createQueries()}>
      <SessionContext value={session}>
        <ChatView />
      </SessionContext>
    </QueryClientProvider>,
  );
  await act(async () => {});
  const before = new Map(renders);
  const piece = (seq: number): ServerEvent => ({ type: "output", seq, chat_id: "a", message_id: 2, channel: "stdout", at: seq, text: "x" });
  for (let seq = 0; seq < 20; seq += 1) act(() => store.dispatch({ type: "events", events: [piece(seq)] }));
  expect(page.container.textContent).toContain("x".repeat(20));
  const more = (name: string) => (renders.get(name) ?? 0) - (before.get(name) ?? 0);
  expect(["message 1", "message 2", "message 3", "conversation", "composer"].map(more)).toEqual([0, 20, 0, 0, 0]);
  // A new message does render the conversation: the counters work.
  act(() => store.dispatch({ type: "events", events: [{ type: "message", seq: 21, message: message(4) }] }));
  expect(more("conversation")).toBeGreaterThan(0);
});
