/** For tests of components: a section of the settings, in English, with a scripted server. */
import { QueryClientProvider } from "@tanstack/react-query";
import { act, fireEvent, render, screen } from "@testing-library/react";
import i18next from "i18next";
import type { ReactNode } from "react";
import { initReactI18next } from "react-i18next";
import { vi } from "vitest";
import * as en from "../i18n/en";
import type { Actions } from "../state/actions";
import { SessionContext } from "../state/context";
import { openState } from "../state/fixtures";
import { createQueries } from "../state/queries";
import type { State } from "../state/state";
import { Store } from "../state/store";

export interface Asked {
  params?: { path?: Record<string, string> };
  body?: unknown;
}

/** Shows a section; `answer` returns the server's response to a request, `known` is the page's state. Returns the client, whose calls can be examined. */
export async function showSection(section: ReactNode, answer: (method: string, path: string, asked: Asked) => unknown, known: Partial<State> = {}) {
  await i18next.use(initReactI18next).init({ lng: "en", resources: { en }, defaultNS: "frame", interpolation: { escapeValue: false } });
  const asked = (method: string) => vi.fn(async (path: string, options: Asked = {}) => ({ data: await answer(method, path, options) }));
  const client = { GET: asked("GET"), PUT: asked("PUT"), POST: asked("POST"), DELETE: asked("DELETE") };
  const session = { store: new Store({ ...openState(), ...known }), actions: { client } as unknown as Actions, retry: () => {} };
  await act(async () =>
    render(
      <QueryClientProvider client={createQueries()}>
        <SessionContext value={session}>{section}</SessionContext>
      </QueryClientProvider>,
    ),
  );
  return client;
}

export const press = (name: string | RegExp) => act(async () => void fireEvent.click(screen.getByRole("button", { name })));
export const write = (label: string, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } });
