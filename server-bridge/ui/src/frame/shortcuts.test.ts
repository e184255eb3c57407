import { expect, test } from "vitest";
import { keyNames, shortcutOf } from "./shortcuts";

const press = (key: string, keys: Partial<KeyboardEvent> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...keys,
});

test("Control and Command open the palette, also while something is typed", () => {
  expect(shortcutOf(press("k", { ctrlKey: true }), true)).toBe("palette");
  expect(shortcutOf(press("K", { metaKey: true }), false)).toBe("palette");
});

test("a key without Control is a letter while something is typed", () => {
  expect(shortcutOf(press("?", { shiftKey: true }), false)).toBe("shortcuts");
  expect(shortcutOf(press("?", { shiftKey: true }), true)).toBeNull();
  expect(shortcutOf(press("/"), true)).toBeNull();
});

test("keys of the browser and of the desktop stay theirs", () => {
  expect(shortcutOf(press("k", { ctrlKey: true, shiftKey: true }), false)).toBeNull();
  expect(shortcutOf(press("k", { ctrlKey: true, altKey: true }), false)).toBeNull();
  expect(shortcutOf(press("o", { ctrlKey: true }), false)).toBeNull();
});

test("keys are named as on the keyboard at hand", () => {
  expect(keyNames("newChat", false)).toEqual(["Ctrl", "Shift", "O"]);
  expect(keyNames("palette", true)).toEqual(["⌘", "K"]);
});
