/** Splits a command line into words; no shell is involved. Pure. */

/** A line continuation, spaces, a quoted piece, an escaped character, or anything else. A backslash at the very end is a literal. */
const PIECE = /\\\n|(?<space>\s+)|'(?<literal>[^']*)'|"(?<quoted>(?:[^"\\]|\\[^])*)"|\\(?<escaped>[^])|(?<plain>[^\s'"\\]+|\\$)/gy;

/** The only backslashes that have a meaning between double quotes. */
const ESCAPED = /\\\n|\\(["\\$`])/g;

/**
 * Splits a line as a POSIX shell does, by spaces, quotes and backslashes alone: variables, pipes and the like stay
 * unchanged. Null if a quote is not closed.
 */
export function splitWords(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let end = 0;
  for (const { 0: piece, groups = {} } of line.matchAll(PIECE)) {
    end += piece.length;
    const { space, literal, quoted, escaped, plain } = groups;
    const part = literal ?? quoted?.replace(ESCAPED, (_, kept: string = "") => kept) ?? escaped ?? plain;
    if (part !== undefined) word = (word ?? "") + part;
    if (space === undefined || word === null) continue;
    words.push(word);
    word = null;
  }
  if (end < line.length) return null;
  return word === null ? words : [...words, word];
}
