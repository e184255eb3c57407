//! Splits texts into passages, which are found, shown and cited, each with the headings above it.
//!
//! A text is read once, from its beginning to its end. Each position between two characters is a possible cut with a `Strength`. A passage
//! that has reached its largest size ends at the strongest cut of its second half; a heading may end it earlier.

mod lines;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::limits::{PASSAGE_TOKENS, PASSAGE_TOKENS_MIN};
use lines::Line;

/// The format of a text, which decides what its headings are and where it is cut best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Markdown: headings with `#` or underlines, fenced code, front matter.
    Markdown,
    /// Text without markup: paragraphs between blank lines, no headings.
    Plain,
    /// Source code: a line without indentation starts a definition, and is the heading of the indented lines that follow.
    Code,
}

/// The size of passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest passage, in tokens as [`tokens`] estimates them; at least [`PASSAGE_TOKENS_MIN`].
    pub tokens: usize,
}

/// One passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The passage's bytes in the text; never empty, and without white space at its ends.
    pub span: Range<usize>,
    /// The headings that apply to the whole passage, the outermost first, including one with which it begins.
    pub headings: Vec<String>,
}

/// How well a position is suited for a cut; later variants are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Character,
    Word,
    Sentence,
    Line,
    Paragraph,
    Section,
}

/// A possible cut since the last one.
struct Cut {
    at: usize,
    strength: Strength,
    /// The size of the text between the passage's start and the cut, in quarters of a token.
    size: usize,
}

/// A line that changes the headings for the text after its start.
struct Change {
    at: usize,
    path: Vec<(usize, String)>,
}

/// The number of equal parts into which the largest size of a passage is divided; it is cut in the last part.
const PARTS: usize = 2;

/// A heading ends the passage before it only if that passage has at least this fraction (one fourth) of its largest size.
const SECTION_PARTS: usize = 4;

/// The number of times that a title is repeated before a passage that is indexed by words. `scripts/bench retrieval` measured 0.735 with
/// it, and 0.712 without.
const TITLES: usize = 2;

/// A quarter of a token: the size of most characters.
const QUARTERS: usize = 4;

impl Default for Limits {
    fn default() -> Self {
        Self { tokens: PASSAGE_TOKENS }
    }
}

/// Splits a text into passages. Their spans are in order and do not overlap, every character outside of them is white space, and no span
/// exceeds the limit. The time is proportional to the text's length, the memory to the size of a passage.
#[must_use]
pub fn split(text: &str, kind: Kind, limits: Limits) -> Vec<Chunk> {
    let limit = limits.tokens.max(PASSAGE_TOKENS_MIN) * QUARTERS;
    let mut splitter = Splitter { text, limit, ..Splitter::default() };
    for line in lines::lines(text, kind) {
        splitter.read(line);
    }
    splitter.end(text.len());
    splitter.chunks
}

/// The estimated tokens of a text: one for each Chinese, Japanese or Korean character, symbol or emoji, and one for four others. The
/// tokenizers of multilingual models need 0.7 to 1.5 times as many.
#[must_use]
pub fn tokens(text: &str) -> usize {
    text.chars().map(quarters).sum::<usize>().div_ceil(QUARTERS)
}

/// The text that is embedded for a passage: the title, the headings, and the passage. A heading with which the passage begins appears once.
#[must_use]
pub fn with_headings(title: &str, headings: &[String], passage: &str) -> String {
    let first = passage.lines().next().unwrap_or_default();
    let own = headings.last().is_some_and(|heading| first.contains(heading.as_str()));
    let shown = &headings[..headings.len() - usize::from(own)];
    let mut path: Vec<&str> = Vec::with_capacity(shown.len() + 1);
    for part in std::iter::once(title.trim()).chain(shown.iter().map(String::as_str)) {
        if !part.is_empty() && path.last() != Some(&part) {
            path.push(part);
        }
    }
    if path.is_empty() { passage.to_owned() } else { format!("{}\n{passage}", path.join(" > ")) }
}

/// The text that is indexed by words for a passage: the embedded text after repetitions of the title, so that the title's words count more.
#[must_use]
pub fn with_titles(title: &str, headings: &[String], passage: &str) -> String {
    let embedded = with_headings(title, headings, passage);
    let title = title.trim();
    if title.is_empty() { embedded } else { format!("{}{embedded}", format!("{title}\n").repeat(TITLES)) }
}

/// Reads a text's lines and makes passages of them.
#[derive(Default)]
struct Splitter<'a> {
    text: &'a str,
    /// The largest passage, in quarters of tokens.
    limit: usize,
    chunks: Vec<Chunk>,
    /// The start of the current passage, as an offset in the text.
    start: usize,
    /// The size of the current passage so far, in quarters of a token.
    size: usize,
    /// The possible cuts in the current passage, in order.
    cuts: Vec<Cut>,
    /// The headings at the start of the current passage, and each change since.
    changes: Vec<Change>,
}

impl Splitter<'_> {
    fn read(&mut self, line: Line) {
        if line.strength == Strength::Section && self.size * SECTION_PARTS >= self.limit {
            self.end(line.start);
        }
        if let Some((level, heading)) = line.heading {
            self.enter(line.start, level, heading);
        }
        let mut strength = line.strength;
        let mut before = None;
        for (offset, character) in self.text[line.start..line.end].char_indices() {
            let at = line.start + offset;
            let quarters = quarters(character);
            if let Some(before) = before {
                strength = between(before, character);
            }
            self.cuts.push(Cut { at, strength, size: self.size });
            if self.size + quarters > self.limit {
                self.cut();
            }
            self.size += quarters;
            before = Some(character);
        }
    }

    /// Ends the passage at the best of its cuts, and keeps the rest of it for the next one.
    fn cut(&mut self) {
        let half = self.limit / PARTS;
        let late = self.cuts.partition_point(|cut| cut.size < half);
        // The strongest cut; of several, the last one.
        let Some(best) = (late..self.cuts.len()).max_by_key(|&index| self.cuts[index].strength) else {
            return;
        };
        let (at, size) = (self.cuts[best].at, self.cuts[best].size);
        self.emit(at);
        self.cuts.drain(..=best);
        for cut in &mut self.cuts {
            cut.size -= size;
        }
        self.size -= size;
        self.start = at;
    }

    fn end(&mut self, at: usize) {
        self.emit(at);
        self.cuts.clear();
        self.size = 0;
        self.start = at;
    }

    fn emit(&mut self, end: usize) {
        let passage = &self.text[self.start..end];
        let before = passage.len() - passage.trim_start().len();
        let start = self.start + before;
        let span = start..start + passage.trim().len();
        if !span.is_empty() {
            self.chunks.push(Chunk { headings: self.headings(&span), span });
        }
        // Of the changes before the next passage, only the last one applies to it.
        let passed = self.changes.partition_point(|change| change.at <= end);
        self.changes.drain(..passed.saturating_sub(1));
    }

    /// The headings that apply to the whole span.
    fn headings(&self, span: &Range<usize>) -> Vec<String> {
        let first = self.changes.partition_point(|change| change.at <= span.start);
        // Text before the first heading has none.
        let Some(first) = first.checked_sub(1) else { return Vec::new() };
        let mut path = self.changes[first].path.as_slice();
        for change in self.changes[first..].iter().filter(|change| change.at < span.end) {
            let common = path.iter().zip(&change.path).take_while(|(one, other)| one == other).count();
            path = &path[..common];
        }
        path.iter().map(|(_, heading)| heading.clone()).collect()
    }

    fn enter(&mut self, at: usize, level: usize, heading: String) {
        let mut path = self.changes.last().map(|change| change.path.clone()).unwrap_or_default();
        path.retain(|(outer, _)| *outer < level);
        if !heading.is_empty() {
            path.push((level, heading));
        }
        self.changes.push(Change { at, path });
    }
}

/// The strength of the cut between two characters of a line.
fn between(before: char, after: char) -> Strength {
    let closes = |character| matches!(character, '”' | '’' | '」' | '』' | '）' | '》' | '"' | '\'' | ')');
    if matches!(before, '。' | '！' | '？' | '；' | '…' | '｡') && !closes(after) {
        return Strength::Sentence;
    }
    if before.is_whitespace() && !after.is_whitespace() {
        return Strength::Word;
    }
    if matches!(before, '.' | '!' | '?' | ';') && after.is_whitespace() {
        return Strength::Sentence;
    }
    if matches!(before, '，' | '、' | '：' | '”' | '」' | '』' | '）' | '》') && !closes(after) {
        return Strength::Word;
    }
    Strength::Character
}

/// The size of a character, in quarters of a token.
fn quarters(character: char) -> usize {
    match u32::from(character) {
        // Hangul, CJK, kana, full-width forms, and the planes of rarer ideographs and emoji.
        0x1100..0x1200
        | 0x2E80..0xA4D0
        | 0xAC00..0xD7B0
        | 0xF900..0xFB00
        | 0xFE30..0xFE50
        | 0xFF00..0xFFF0 => QUARTERS,
        0x1_0000.. => QUARTERS,
        _ => 1,
    }
}
