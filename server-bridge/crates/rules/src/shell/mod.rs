//! Shell lines, split into the commands that they would run.
//!
//! ```text
//!   line ─▶ scan: words, operators, substitutions, here-documents ─▶ segments ─▶ unwrap: sudo, sh -c, find -exec … ─▶ segments
//!                     │ not understood                                              │ not understood
//!                     └──────────────────────────────▶ doubts ◀─────────────────────┘
//! ```
//! The parser does not check the grammar of compound commands: reserved words only determine where a command may begin. For a
//! line that a shell refuses, this yields too many segments, but never too few. Constructs that shells read differently (bash,
//! dash, zsh), and everything that cannot be parsed, leave a [`Doubt`]; a line with a doubt is never allowed.
//!
//! | module | holds |
//! |---|---|
//! | `scan` | the parser: lists, pipelines, subshells |
//! | `compound` | loops, `case`, conditions, functions |
//! | `word` | one word and its quotes |
//! | `expansion` | expansions within a word |
//! | `redirect` | redirections and here-documents |
//! | `unwrap` | commands within the words of other commands |
//! | `texts` | texts that a command runs as shell lines |
//! | `wrappers` | the table of commands that run other commands |
//! | `braces` | brace expansion |
//! | `readings` | the ways in which a command is read for denying and asking |
//! | `reach` | the paths that a line reads and writes |
//! | `doubt` | the reasons why a line cannot be parsed |

mod braces;
mod compound;
mod doubt;
mod expansion;
mod reach;
mod readings;
mod redirect;
mod scan;
mod texts;
mod unwrap;
mod word;
mod wrappers;

pub use doubt::Doubt;
pub(crate) use reach::{Reached, reached};
pub(crate) use readings::{GAP, Open, Reading, SPACE, exact, raw, readings, sorted};
pub(crate) use redirect::Redirect;
pub(crate) use unwrap::runs_others;
pub(crate) use word::Word;

use crate::limits::LINE_BYTES;

/// A line that was split into commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// The line's commands; an inner command comes after the one that contains it.
    pub(crate) segments: Vec<Segment>,
    /// The reasons why it cannot be fully parsed.
    pub(crate) doubts: Vec<Doubt>,
}

/// One simple command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    /// The command's name and arguments, without assignments before it.
    pub(crate) words: Vec<Word>,
    /// The files that it opens.
    pub(crate) redirects: Vec<Redirect>,
    /// True if it sets a variable, which may change what it or a later command does.
    pub(crate) assigns: bool,
    /// The assignments before its name, as they are written.
    pub(crate) assigned: Vec<Word>,
    /// True if shells disagree on whether it is a command.
    pub(crate) is_odd: bool,
    /// The command that runs this one, if there is one.
    pub(crate) within: Option<Within>,
    /// True if it only runs the commands within it.
    pub(crate) is_transparent: bool,
    /// True if it runs another command that is among its words.
    pub(crate) is_wrapper: bool,
    /// True after `&>`, which some shells read as the end of the command and a redirection of the next.
    is_cut: bool,
    /// True if words that are not in the line follow its words.
    pub(crate) is_open: bool,
    /// The text of its standard input, if the line contains it.
    input: Option<Word>,
    /// The nesting depth.
    depth: usize,
}

/// The place of a command within another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// The other command's number among the segments.
    pub(crate) segment: usize,
    /// The other command's word at which this one begins; `None` if it comes from a text.
    pub(crate) word: Option<usize>,
}

impl Segment {
    /// The last path component of its name.
    pub(crate) fn base_name(&self) -> &str {
        let name = self.words.first().map_or("", |word| &word.text);
        name.rsplit('/').next().unwrap_or(name)
    }

    /// The command's text as people would write it.
    pub(crate) fn shown(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        if words.is_empty() && self.assigns { "an assignment".to_owned() } else { words.join(" ") }
    }
}

/// Splits a line into its commands.
pub(crate) fn parse(line: &str) -> Line {
    let mut parsed = Line::default();
    if line.len() > LINE_BYTES {
        parsed.doubts.push(Doubt::TooLong);
        return parsed;
    }
    if let Some(unseen) = line.chars().find(|c| is_unseen(*c)) {
        parsed.doubts.push(Doubt::Unseen(unseen));
    }
    scan::scan(line, 0, &mut parsed);
    unwrap::unwrap(&mut parsed);
    parsed
}

/// Parses the words of a program and its arguments, which no shell reads; `${NAME}` is a variable nevertheless.
pub(crate) fn parse_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Line {
    let word = |text: &str| Word { is_dynamic: text.contains("${"), ..Word::plain(text.to_owned()) };
    let words: Vec<Word> = words.into_iter().map(word).collect();
    let mut parsed = Line { segments: vec![Segment { words, ..Segment::default() }], doubts: Vec::new() };
    unwrap::unwrap(&mut parsed);
    parsed
}

/// The words to which a shell expands a word with braces, at most `most`; also returns true if there are more.
pub(crate) fn expanded(word: &Word, most: usize) -> (Vec<String>, bool) {
    braces::expand(word, most)
}

/// True for control characters, for spaces that a shell treats as letters, and for characters that change how others are
/// displayed.
pub(crate) fn is_unseen(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    let is_space = c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n');
    is_invisible || is_space || (c.is_control() && !matches!(c, '\t' | '\n'))
}

#[cfg(test)]
mod tests;
