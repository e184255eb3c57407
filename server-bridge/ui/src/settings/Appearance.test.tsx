// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, expect, test } from "vitest";
import * as en from "../i18n/en";
import { keptSize } from "../lib/appearance";
import Appearance from "./Appearance";

beforeAll(async () => void (await i18next.use(initReactI18next).init({ lng: "en", resources: { en }, defaultNS: "frame" })));
afterEach(cleanup);

test("the text size applies at once and is kept; the default leaves the browser's size", () => {
  render(<Appearance />);
  const size = screen.getByLabelText("Text size");
  fireEvent.change(size, { target: { value: "large" } });
  expect(document.documentElement.dataset.size).toBe("large");
  expect(keptSize()).toBe("large");
  fireEvent.change(size, { target: { value: "usual" } });
  expect(document.documentElement.dataset.size).toBeUndefined();
  window.localStorage.setItem("sandbridge.size", "9999px");
  expect(keptSize()).toBe("usual");
});

test("the language can be chosen in only one place", () => {
  render(<Appearance />);
  expect(screen.queryByLabelText("Language of this page")).toBeNull();
  expect(screen.getAllByRole("combobox")).toHaveLength(1);
});
