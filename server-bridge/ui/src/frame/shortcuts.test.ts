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

test("Control or Command with K opens the palette, also while the user types", () => {
  expect(shortcutOf(press("k", { ctrlKey: true }), true)).toBe("palette");
  expect(shortcutOf(press("K", { metaKey: true }), false)).toBe("palette");
});

test("a key without Control is a letter while the user types", () => {
  expect(shortcutOf(press("?", { shiftKey: true }), false)).toBe("shortcuts");
  expect(shortcutOf(press("?", { shiftKey: true }), true)).toBeNull();
  expect(shortcutOf(press("/"), true)).toBeNull();
});

test("shortcuts of the browser and the desktop are left alone", () => {
  expect(shortcutOf(press("k", { ctrlKey: true, shiftKey: true }), false)).toBeNull();
  expect(shortcutOf(press("k", { ctrlKey: true, altKey: true }), false)).toBeNull();
  expect(shortcutOf(press("o", { ctrlKey: true }), false)).toBeNull();
});

test("keys are named as on the user's keyboard", () => {
  expect(keyNames("newChat", false)).toEqual(["Ctrl", "Shift", "O"]);
  expect(keyNames("palette", true)).toEqual(["⌘", "K"]);
});
