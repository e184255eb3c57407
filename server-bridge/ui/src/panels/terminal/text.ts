/** Makes a program's titles, copy requests and links harmless, and pasted text too. Pure. */
import { TERMINAL_COPY_CHARS, TERMINAL_TITLE_CHARS } from "../../limits";

// Control characters, invisible characters, and those that change the direction of writing.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A title that is safe to show: one short line. */
export function boundedTitle(title: string): string {
  const clean = title.slice(0, 1_000).replace(UNSEEN, " ").replaceAll(/\s+/g, " ").trim();
  const chars = Array.from(clean);
  return chars.length > TERMINAL_TITLE_CHARS ? `${chars.slice(0, TERMINAL_TITLE_CHARS - 1).join("")}…` : clean;
}

/** The text that an OSC 52 sequence asks to have copied; null if it asks for something else, or for too much. */
export function copyRequest(data: string): string | null {
  const separator = data.indexOf(";");
  const payload = data.slice(separator + 1);
  // "?" would reveal the clipboard to the program.
  if (separator === -1 || payload === "" || payload === "?" || payload.length > TERMINAL_COPY_CHARS * 2) return null;
  try {
    const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.length <= TERMINAL_COPY_CHARS ? text : null;
  } catch {
    return null;
  }
}

/** Text to paste, without anything that could end a bracketed paste, or otherwise act as a key. */
export function pasteable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "");
}

/** The address of a link if it may be opened: http and https only. */
export function openableLink(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}
