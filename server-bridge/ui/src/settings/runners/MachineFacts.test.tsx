// @vitest-environment jsdom
import { cleanup, render, screen, within } from "@testing-library/react";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, expect, test } from "vitest";
import * as en from "../../i18n/en";
import { runner } from "../../state/fixtures";
import type { Layer } from "../../types";
import { MachineFacts } from "./MachineFacts";

beforeAll(async () => void (await i18next.use(initReactI18next).init({ lng: "en", resources: { en }, defaultNS: "frame" })));
afterEach(cleanup);

const layer = (name: string, holds: boolean, detail = "", by_choice = false): Layer => ({ name, holds, by_choice, detail });
const show = (...layers: Layer[]) => render(<MachineFacts runner={{ ...runner("laptop"), layers }} />);

test("a machine that enforces every layer shows a summary, with the layers folded", () => {
  const { container } = show(layer("landlock", true), layer("seccomp", true), layer("network", false, "open", true));
  expect(screen.getByText("Confined, all layers").closest("details")?.open).toBe(false);
  expect(screen.queryByRole("list", { name: "Missing layers" })).toBeNull();
  expect(container.querySelectorAll("details li")).toHaveLength(3);
});

test("a missing layer is named without a click", () => {
  show(layer("landlock", false, "the kernel has none"), layer("seccomp", true), layer("limits", false, "switched off", true));
  const missing = within(screen.getByRole("list", { name: "Missing layers" }));
  expect(missing.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["! landlock not enforced: the kernel has none"]);
  expect(screen.getByText("Confined by 1 of 2 layers")).toBeTruthy();
});

test("a machine that reports nothing about its confinement is not called confined", () => {
  show();
  expect(screen.queryByText(/Confined/)).toBeNull();
});
