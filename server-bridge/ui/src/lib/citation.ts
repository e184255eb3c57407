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
}

/** The citation at the beginning of an address or a text; null if there is none. */
export function citationOf(text: string): Citation | null {
  const found = /\[?doc:(\d{1,15})#(\d{1,9})(?:@(\d{1,9})-(\d{1,9}))?\]?/.exec(text);
  if (found === null) return null;
  const [, document, page, start = "0", end = "0"] = found;
  return { document: Number(document), page: Number(page), start: Number(start), end: Number(end) };
}

const CITATION = /\[doc:\d{1,15}#\d{1,9}(?:@\d{1,9}-\d{1,9})?\]/g;

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
  for (const found of text.matchAll(CITATION)) {
    if (found.index > at) parts.push({ text: text.slice(at, found.index), isCitation: false });
    parts.push({ text: found[0], isCitation: true });
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isCitation: false });
  return parts;
}
