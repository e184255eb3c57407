/** Terminal output prepared for a web page: escapes are removed, carriage returns overwrite their line. */
import { ESCAPE_SEQUENCE_CHARS } from "../limits";

const ESC = "\u001b";
// CSI (colours, cursor), OSC and the other strings up to BEL or ST, then the two- and three-character escapes.
const SEQUENCE =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/g;
// The rest may be the beginning of such a sequence, and is kept for the next chunk.
const UNFINISHED = /^\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)$/;
// Control characters that a page cannot show; tab, newline and carriage return stay.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

const COLOUR = /^\u001b\[[\d;:]*m$/;
const COLOURS = /(\u001b\[[\d;:]*m)/;
const RETURNED = /\r((?:\u001b\[[\d;:]*m)*)$/;

/** Strips escape sequences; `rest` is a sequence cut off by the end of the chunk, to be put before the next. */
export function stripEscapes(text: string): { clean: string; rest: string } {
  const stripped = text.replace(SEQUENCE, "");
  const last = unfinishedAt(stripped);
  const whole = last === -1 ? stripped : stripped.slice(0, last);
  return { clean: whole.replace(CONTROLS, ""), rest: last === -1 ? "" : stripped.slice(last) };
}

function unfinishedAt(text: string): number {
  const from = Math.max(0, text.length - ESCAPE_SEQUENCE_CHARS);
  for (let at = text.indexOf(ESC, from); at !== -1; at = text.indexOf(ESC, at + 1)) {
    if (UNFINISHED.test(text.slice(at))) return at;
  }
  return -1;
}

/** The same, but keeps the colour sequences `ESC [ … m`, which `colours.ts` parses. */
export function keepColours(text: string): { clean: string; rest: string } {
  const kept = text.replace(SEQUENCE, (sequence) => (COLOUR.test(sequence) ? sequence : ""));
  const last = unfinishedAt(kept);
  const whole = last === -1 ? kept : kept.slice(0, last);
  const clean = whole.split(COLOURS).map((part) => (COLOUR.test(part) ? part : part.replace(CONTROLS, ""))).join("");
  return { clean, rest: last === -1 ? "" : kept.slice(last) };
}

/** Shows what a terminal would after carriage returns: a progress bar is one line, not a thousand. */
export function collapseReturns(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  return lines.map(lastOverwrite).join("\n");
}

// After a carriage return at the very end, nothing has overwritten the line yet.
function lastOverwrite(line: string): string {
  const end = RETURNED.exec(line);
  const body = end === null ? line : line.slice(0, end.index);
  return body.slice(body.lastIndexOf("\r") + 1) + (end === null ? "" : `${end[1]}\r`);
}

/** A complete output as plain text. */
export function plainText(text: string): string {
  return collapseReturns(stripEscapes(text).clean);
}

/** A complete output as text with colour sequences. */
export function colouredText(text: string): string {
  return collapseReturns(keepColours(text).clean);
}
