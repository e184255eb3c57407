//! Reads the lines of a text, with the strength of a cut before each line, and the headings.

use super::{Kind, Strength};
use crate::limits::HEADING_CHARACTERS;

/// The indentation in columns from which a line of Markdown is code, and not a heading.
const CODE_INDENT: usize = 4;

/// The deepest heading of Markdown.
const HEADING_LEVELS: usize = 6;

/// The shortest underline, in characters, that turns the line before it into a heading.
const UNDERLINE: usize = 3;

/// The heading level of a definition's first line in source code.
const DEFINITION: usize = 1;

/// A line with its end-of-line character.
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The strength of a cut before the line.
    pub(super) strength: Strength,
    /// The level and the text, if the line is a heading.
    pub(super) heading: Option<(usize, String)>,
}

/// A text's lines.
pub(super) fn lines(text: &str, kind: Kind) -> impl Iterator<Item = Line> {
    let mut reader = Reader { text, kind, at: 0, after_blank: true, fence: None, front_matter: false };
    std::iter::from_fn(move || reader.next())
}

struct Reader<'a> {
    text: &'a str,
    kind: Kind,
    at: usize,
    after_blank: bool,
    /// The fence of the code block that the reader is in: its character and its length.
    fence: Option<(char, usize)>,
    front_matter: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Line> {
        let start = self.at;
        let line = self.text[start..].split_inclusive('\n').next()?;
        let end = start + line.len();
        let is_blank = line.trim().is_empty();
        let (mut strength, heading) = match self.kind {
            Kind::Plain => (self.paragraph(), None),
            Kind::Code => self.code(line),
            Kind::Markdown => self.markdown(start, line, end),
        };
        if is_blank {
            strength = Strength::Line;
        }
        self.at = end;
        self.after_blank = is_blank;
        Some(Line { start, end, strength, heading })
    }

    fn paragraph(&self) -> Strength {
        if self.after_blank { Strength::Paragraph } else { Strength::Line }
    }

    fn code(&self, line: &str) -> (Strength, Option<(usize, String)>) {
        let starts =
            line.starts_with(|first: char| first.is_alphanumeric() || "_@#$/*-;%\"'".contains(first));
        match (starts, self.after_blank) {
            (true, true) => (Strength::Section, Some((DEFINITION, shortened(line)))),
            // For example, the second line of a comment, or a function after its attributes: the line next to the body is the heading.
            (true, false) => (Strength::Line, Some((DEFINITION, shortened(line)))),
            (false, true) => (Strength::Paragraph, None),
            (false, false) => (Strength::Line, None),
        }
    }

    fn markdown(&mut self, start: usize, line: &str, end: usize) -> (Strength, Option<(usize, String)>) {
        let trimmed = line.trim();
        if start == 0 && trimmed == "---" {
            self.front_matter = true;
            return (Strength::Line, None);
        }
        if self.front_matter {
            self.front_matter = trimmed != "---" && trimmed != "...";
            return (Strength::Line, None);
        }
        if let Some((character, length)) = self.fence {
            let closing = trimmed.len() >= length && trimmed.chars().all(|other| other == character);
            if closing {
                self.fence = None;
            }
            return (Strength::Line, None);
        }
        if line.bytes().take_while(|byte| *byte == b' ').count() >= CODE_INDENT || trimmed.is_empty() {
            return (self.paragraph(), None);
        }
        if let Some(fence) = fence(trimmed) {
            self.fence = Some(fence);
            return (self.paragraph(), None);
        }
        let heading = hashed(trimmed).or_else(|| self.underlined(trimmed, end));
        if heading.is_some() { (Strength::Section, heading) } else { (self.paragraph(), None) }
    }

    /// The heading of a line that has an underline below it.
    fn underlined(&self, line: &str, end: usize) -> Option<(usize, String)> {
        let below = &self.text[end..];
        let character = below.chars().next().filter(|first| matches!(first, '=' | '-'))?;
        let below = below.lines().next()?.trim_end();
        let is_underline =
            self.after_blank && below.len() >= UNDERLINE && below.chars().all(|other| other == character);
        // The first line of a table has dashes below it too, and an item of a list is not a heading.
        let is_text = !line.contains('|') && !line.starts_with(['-', '*', '>', '=']);
        (is_underline && is_text).then(|| (if character == '=' { 1 } else { 2 }, shortened(line)))
    }
}

/// The heading of a line that starts with `#`.
fn hashed(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    let is_heading =
        (1..=HEADING_LEVELS).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, shortened(rest.trim().trim_end_matches('#'))))
}

fn fence(line: &str) -> Option<(char, usize)> {
    let character = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let length = line.chars().take_while(|other| *other == character).count();
    (length >= 3).then_some((character, length))
}

fn shortened(heading: &str) -> String {
    heading.trim().chars().take(HEADING_CHARACTERS).collect::<String>().trim_end().to_owned()
}
