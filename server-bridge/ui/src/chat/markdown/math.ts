/** Formulas within Markdown, written with dollars or with TeX's brackets. Pure. */
import { FORMULA_MAX_CHARS } from "../../limits";

/** The parts of a Markdown tree's node that matter for formulas. */
export interface Node {
  type: string;
  value?: string;
  children?: Node[];
  position?: { start: { offset?: number }; end: { offset?: number } };
  data?: unknown;
}

/** True if a text may contain a formula. */
export function mayHaveMath(text: string): boolean {
  return /\$|\\\(|\\\[/.test(text);
}

/**
 * Turns `\(…\)` and `\[…\]` into dollars, outside of code: Markdown would treat the backslash before a bracket as an escape. Every
 * character is read a bounded number of times, whatever the text.
 */
export function withDollars(text: string): string {
  if (!/\\[([]/.test(text)) return text;
  const ends = { "(": seeker(text, "\\)"), "[": seeker(text, "\\]") };
  const codeEnd = codeEnds(text);
  let [out, kept] = ["", 0];
  for (const { 0: found, index } of text.matchAll(/`+|^ {0,3}~{3,}|\\[^]/gm)) {
    if (index < kept) continue;
    if (!found.startsWith("\\")) {
      const end = codeEnd(index, found.trim());
      out += text.slice(kept, end);
      kept = end;
      continue;
    }
    const bracket = found[1];
    if (bracket !== "(" && bracket !== "[") continue;
    const end = ends[bracket](index + 2);
    const formula = end === -1 || end - index > FORMULA_MAX_CHARS ? "" : text.slice(index + 2, end).trim();
    if (formula === "" || formula.includes("$") || (bracket === "(" && formula.includes("\n"))) continue;
    out += text.slice(kept, index) + (bracket === "(" ? `$${formula}$` : `\n$$\n${formula}\n$$\n`);
    kept = end + 2;
  }
  return out + text.slice(kept);
}

/** Finds a string from positions that only increase: a found position is kept until it is passed. */
function seeker(text: string, wanted: string): (from: number) => number {
  let found = 0;
  return (from) => {
    if (found !== -1 && found < from) found = text.indexOf(wanted, from);
    return found;
  };
}

/** Finds the end of code that begins with a fence at a position: after the same fence, or the end of the text if a block is not closed. */
function codeEnds(text: string): (at: number, fence: string) => number {
  const runs = Array.from(text.matchAll(/`+|~{3,}/g), ({ 0: run, index }) => ({ run, index, opens: isLineStart(text, index) }));
  const next = new Map<string, number>();
  return (at, fence) => {
    const from = text.indexOf(fence, at);
    const isBlock = fence.length >= 3 && isLineStart(text, from);
    const key = isBlock ? `block ${fence}` : fence;
    let place = next.get(key) ?? 0;
    while (place < runs.length && (runs[place]!.index <= from || !(isBlock ? runs[place]!.opens && runs[place]!.run.startsWith(fence) : runs[place]!.run === fence))) place += 1;
    next.set(key, place);
    const end = runs[place];
    if (end !== undefined) return end.index + end.run.length;
    return isBlock ? text.length : from + fence.length;
  };
}

function isLineStart(text: string, index: number): boolean {
  return /(?:^|\n) {0,3}$/.test(text.slice(Math.max(0, index - 4), index));
}

/**
 * Turns text between dollars that is not a formula back into text: prices ("$5 or $10"), an unclosed block, and anything longer than a
 * person would write by hand.
 */
export function honestMath() {
  return (tree: Node, file: { value: unknown }) => weed(tree, String(file.value));
}

function weed(node: Node, source: string): void {
  node.children?.forEach((child, at, all) => {
    const written = source.slice(child.position?.start.offset ?? 0, child.position?.end.offset ?? 0);
    if (child.type === "inlineMath" && !isFormula(child.value ?? "", written, all[at + 1])) all[at] = { type: "text", value: written };
    else if (child.type === "math" && !isBlock(child.value ?? "", written)) all[at] = { type: "paragraph", children: [{ type: "text", value: written }] };
    else weed(child, source);
  });
}

function isFormula(value: string, written: string, next: Node | undefined): boolean {
  if (value.length > FORMULA_MAX_CHARS) return false;
  if (written.startsWith("$$")) return true;
  const inner = written.slice(1, -1);
  return inner === inner.trim() && !(next?.type === "text" && /^\d/.test(next.value ?? ""));
}

function isBlock(value: string, written: string): boolean {
  return value.trim() !== "" && value.length <= FORMULA_MAX_CHARS && /\n[ >]*\${2,}\s*$/.test(written);
}
