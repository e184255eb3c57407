/** The shortcuts that work everywhere on the page. Pure. */

export type Shortcut = "palette" | "newChat" | "focusComposer" | "toggleChats" | "settings" | "terminal" | "shortcuts";

interface Keys {
  /** `KeyboardEvent.key`, in lower case. */
  key: string;
  /** Control, or Command on a Mac. */
  mod?: boolean;
  shift?: boolean;
  /** True if Shift does not matter, because the keyboard layout decides, as for "?". */
  anyShift?: boolean;
}

/** In the order in which the help lists them. */
export const SHORTCUTS: Record<Shortcut, Keys> = {
  palette: { key: "k", mod: true },
  newChat: { key: "o", mod: true, shift: true },
  focusComposer: { key: "/", anyShift: true },
  toggleChats: { key: "b", mod: true },
  terminal: { key: "`", mod: true },
  settings: { key: ",", mod: true },
  shortcuts: { key: "?", anyShift: true },
};

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

/** The shortcut that was pressed; while the user types in a field, a key without Control is just a letter. */
export function shortcutOf(pressed: Pressed, typing: boolean): Shortcut | null {
  if (pressed.altKey) return null;
  const mod = pressed.ctrlKey || pressed.metaKey;
  for (const [name, keys] of Object.entries(SHORTCUTS) as [Shortcut, Keys][]) {
    if (pressed.key.toLowerCase() !== keys.key || mod !== (keys.mod ?? false)) continue;
    if (!keys.anyShift && pressed.shiftKey !== (keys.shift ?? false)) continue;
    return typing && !mod ? null : name;
  }
  return null;
}

/** The keys' names, to be shown one by one. */
export function keyNames(shortcut: Shortcut, isMac: boolean): string[] {
  const { key, mod, shift } = SHORTCUTS[shortcut];
  const names = key.length === 1 ? [key.toUpperCase()] : [key];
  if (shift) names.unshift(isMac ? "⇧" : "Shift");
  if (mod) names.unshift(isMac ? "⌘" : "Ctrl");
  return names;
}

export const IS_MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);
