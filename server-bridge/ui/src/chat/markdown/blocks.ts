/**
 * Cuts Markdown into blocks that can be rendered one by one, so that only the last block of a running answer is parsed again. Pure.
 * The blocks concatenated are the text.
 */
export const FENCE = /^ {0,3}(`{3,}|~{3,})/;
export const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
// A link definition must stay in the same block as its uses.
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

export interface Block {
  /** The position where the block begins, which identifies it as long as the text only grows. */
  at: number;
  text: string;
}

/** Splits a text at empty lines that certainly end a block. */
export function blocksOf(text: string): Block[] {
  if (DEFINITION.test(text)) return [{ at: 0, text }];
  const blocks: Block[] = [];
  let start = 0;
  let fence: string | null = null;
  let isAfterBlank = false;
  let isList = false;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const next = newline === -1 ? text.length : newline + 1;
    const line = text.slice(at, next);
    if (fence !== null) {
      if (closes(line, fence)) fence = null;
    } else if (line.trim() === "") {
      isAfterBlank = true;
      at = next;
      continue;
    } else {
      const goesOn = /^(?: {2,}|\t)/.test(line) || (isList && LIST_ITEM.test(line));
      if (isAfterBlank && !goesOn && at > start) {
        blocks.push({ at: start, text: text.slice(start, at) });
        start = at;
        isList = false;
      }
      if (at === start || !isAfterBlank) isList ||= LIST_ITEM.test(line);
      fence = FENCE.exec(line)?.[1] ?? null;
    }
    isAfterBlank = false;
    at = next;
  }
  if (start < text.length) blocks.push({ at: start, text: text.slice(start) });
  return blocks;
}

/** True if a block ends inside a code block that is not closed. */
export function isOpenCode(text: string): boolean {
  let fence: string | null = null;
  for (const line of text.split("\n")) {
    if (fence === null) fence = FENCE.exec(line)?.[1] ?? null;
    else if (closes(line, fence)) fence = null;
  }
  return fence !== null;
}

export function closes(line: string, fence: string): boolean {
  const found = FENCE.exec(line)?.[1];
  return found !== undefined && found[0] === fence[0] && found.length >= fence.length && line.trim() === found;
}
