/** Splits texts of any language into words; undefined where the browser cannot. */
const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : undefined;

/** Languages that put no spaces between words: only their texts need the segmenter, which is slow. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Segmented UTF-16 units of a text; the word count of a longer text is estimated from them. */
const SEGMENTED = 2_000;

/** The number of words in a text, in languages without spaces too; an estimate for a long text of such a language. */
export function countWords(text: string): number {
  if (segmenter === undefined || !UNSPACED.test(text)) return text.match(/\S+/g)?.length ?? 0;
  const part = text.slice(0, SEGMENTED);
  let words = 0;
  for (const segment of segmenter.segment(part)) if (segment.isWordLike === true) words += 1;
  return Math.round((words * text.length) / part.length);
}
