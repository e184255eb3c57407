/** The appearance and accessibility of terminals, kept in the browser. */
import { TERMINAL_FONT_DEFAULT_PX, TERMINAL_FONT_MAX_PX, TERMINAL_FONT_MIN_PX } from "../../limits";

export interface Preferences {
  font_px: number;
  /** True if the screen's text is offered to screen readers, which costs speed. */
  screen_reader: boolean;
}

const KEY = "sandbridge.terminal";

/** The stored preferences; invalid values are replaced by the defaults. */
export function keptPreferences(kept: string | null = window.localStorage.getItem(KEY)): Preferences {
  let found: Partial<Record<keyof Preferences, unknown>> = {};
  try {
    found = (JSON.parse(kept ?? "{}") ?? {}) as typeof found;
  } catch {
    // Not valid JSON, so this page did not store it.
  }
  const size = typeof found.font_px === "number" ? found.font_px : TERMINAL_FONT_DEFAULT_PX;
  return { font_px: boundedFont(size), screen_reader: found.screen_reader === true };
}

export function keepPreferences(preferences: Preferences): void {
  window.localStorage.setItem(KEY, JSON.stringify(preferences));
}

export function boundedFont(px: number): number {
  return Math.min(TERMINAL_FONT_MAX_PX, Math.max(TERMINAL_FONT_MIN_PX, Math.round(px) || TERMINAL_FONT_DEFAULT_PX));
}
