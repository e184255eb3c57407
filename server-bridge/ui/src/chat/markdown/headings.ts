/**
 * The levels of headings in a model's text. They continue the page's own headings without a gap, whatever levels the model chose:
 * the page keeps its one first heading, and a screen reader's list of headings is an outline. Pure.
 */
import type { Nodes, Root } from "mdast";
import { type Block, FENCE, LIST_ITEM, closes } from "./blocks";

/** The deepest level that HTML has. */
const DEEPEST = 6;

/** The levels that the model gave to the heading at a place in the text and to those above it, outermost first. */
export type Outline = readonly number[];

/** The outline after one more heading. */
function under(outline: Outline, level: number): Outline {
  return [...outline.filter((above) => above < level), level];
}

/** The outline at the beginning of each block. */
export function outlinesOf(blocks: Block[]): Outline[] {
  const outlines: Outline[] = [];
  let outline: Outline = [];
  for (const { text } of blocks) {
    outlines.push(outline);
    for (const level of headingsIn(text)) outline = under(outline, level);
  }
  return outlines;
}

interface Options {
  /** The level of the text's outermost headings on the page. */
  top: number;
  outline: Outline;
}

/** The remark plugin that sets the levels of headings on the page. The style sheet knows the model's level, so that they look as meant. */
export function headingLevels({ top, outline: before }: Options) {
  return (tree: Root) => {
    let outline = before;
    const visit = (node: Nodes, isInside: boolean) => {
      if (node.type === "heading") {
        const written = node.depth;
        // A heading in a list or a quotation is part of the section around it, and does not end it.
        if (!isInside) outline = under(outline, written);
        const depth = isInside ? outline.length + 1 : outline.length;
        node.data = { ...node.data, hProperties: { "data-level": written } };
        node.depth = Math.min(DEEPEST, top - 1 + depth) as typeof node.depth;
      } else if ("children" in node) {
        for (const child of node.children) visit(child, isInside || node.type !== "root");
      }
    };
    visit(tree, false);
  };
}

const MARKED = /^ {0,3}(#{1,6})(?:\s|$)/;
const UNDERLINE = /^ {0,3}(?:(=+)|-+)\s*$/;
/** A line that no underline makes a heading. */
const NO_TITLE = /^(?: {4}|\t| {0,3}[>|])/;

/** The levels of the headings in a block, except for those in lists and quotations. */
function headingsIn(text: string): number[] {
  if (!/[#=]|^ {0,3}-+\s*$/m.test(text)) return [];
  const levels: number[] = [];
  let fence: string | null = null;
  let before = "";
  for (const line of text.split("\n")) {
    const marks = fence === null ? MARKED.exec(line)?.[1] : undefined;
    const underline = fence === null && before.trim() !== "" ? UNDERLINE.exec(line) : null;
    if (fence !== null) {
      if (closes(line, fence)) fence = null;
    } else if (marks !== undefined) levels.push(marks.length);
    else if (underline !== null && !NO_TITLE.test(before) && !LIST_ITEM.test(before)) levels.push(underline[1] === undefined ? 2 : 1);
    else fence = FENCE.exec(line)?.[1] ?? null;
    before = marks === undefined && underline === null && fence === null ? line : "";
  }
  return levels;
}
