/** Positions in a page's text, which the server counts in bytes of UTF-8. */

/** The text before a passage, the passage, and the text after it. */
export function around(text: string, start: number, end: number): [string, string, string] {
  const bytes = new TextEncoder().encode(text);
  const part = (from: number, until: number) => new TextDecoder().decode(bytes.slice(from, until));
  return [part(0, start), part(start, end), part(end, bytes.length)];
}

/** A citation as answers contain it: `[doc:12#3@0-240]`. */
export interface Citation {
  document: number;
  page: number;
  start: number;
  end: number;
  /** When the answer that cites it was begun, in Unix milliseconds; absent for a passage that was just found. */
  saidAt?: number | undefined;
}

/** The citation at the beginning of an address or a text; null if there is none. */
export function citationOf(text: string): Citation | null {
  const found = /\[?doc:(\d{1,15})#(\d{1,9})(?:@(\d{1,9})-(\d{1,9}))?\]?/.exec(text);
  if (found === null) return null;
  const [, document, page, start = "0", end = "0"] = found;
  return { document: Number(document), page: Number(page), start: Number(start), end: Number(end) };
}

const ONE = /doc:\d{1,15}#\d{1,9}(?:@\d{1,9}-\d{1,9})?/g;
/** Citations in one pair of brackets: models write several with commas between them, and Chinese brackets too. */
const BRACKETS = new RegExp(`[\\[【]${ONE.source}(?:[\\s,;，；、]*${ONE.source})*[\\]】]`, "g");

/** The citation for the settings to open next; null if there is none. */
let wanted: Citation | null = null;

/** Stores the citation to open next. */
export function wantCitation(citation: Citation): void {
  wanted = citation;
}

/** Returns the stored citation and clears it. */
export function takeCitation(): Citation | null {
  const taken = wanted;
  wanted = null;
  return taken;
}

/** Splits a text into its citations and the parts between them. */
export function cited(text: string): { text: string; isCitation: boolean }[] {
  const parts: { text: string; isCitation: boolean }[] = [];
  let at = 0;
  const cite = (from: number, until: number) => {
    if (from > at) parts.push({ text: text.slice(at, from), isCitation: false });
    parts.push({ text: text.slice(from, until), isCitation: true });
    at = until;
  };
  for (const found of text.matchAll(BRACKETS)) {
    const each = [...found[0].matchAll(ONE)];
    // The brackets around a single one belong to it.
    if (each.length === 1) cite(found.index, found.index + found[0].length);
    else for (const one of each) cite(found.index + one.index, found.index + one.index + one[0].length);
  }
  if (at < text.length) parts.push({ text: text.slice(at), isCitation: false });
  return parts;
}
