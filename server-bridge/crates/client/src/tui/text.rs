//! Text made safe for a terminal, and broken into lines.
//!
//! Everything that comes from a server is made safe here before it is kept: output of commands, texts of models, titles, names.

use anstyle_parse::{DefaultCharAccumulator, Perform};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How wide a tab is, in cells.
const TAB: &str = "    ";

/// The longest escape sequence, in bytes.
const SEQUENCE_BYTES: usize = 4096;

type Parser = anstyle_parse::Parser<DefaultCharAccumulator>;

/// True if a terminal would obey a character, or reorder the text around it.
pub(super) fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Text on separate lines; control sequences are replaced.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' => shown.push('\n'),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\t' => shown.push_str(TAB),
            character if is_unfit(character) => shown.push(char::REPLACEMENT_CHARACTER),
            character => shown.push(character),
        }
    }
    shown
}

/// A text such as a title, a name or a hint, made safe and on one line.
pub(super) fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `width` cells of a line; an ellipsis stands for the rest.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used + 1 > width {
            break;
        }
        kept.push_str(grapheme);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// A command's output, piece by piece: sequences that colour or move are dropped, even if split between pieces; text that
/// overwrites a line replaces it.
#[derive(Default)]
pub(super) struct Printed {
    parser: Parser,
    lines: Lines,
    is_cut: bool,
}

/// The output, without control sequences.
#[derive(Default)]
struct Lines {
    text: String,
    /// The last character was a return, which overwrites the line unless the line ends here.
    has_returned: bool,
    /// The number of bytes since the last visible one: the length of the current sequence.
    unseen_bytes: usize,
}

impl Perform for Lines {
    fn print(&mut self, character: char) {
        self.unseen_bytes = 0;
        if std::mem::take(&mut self.has_returned) {
            let line = self.text.rfind('\n').map_or(0, |at| at + 1);
            self.text.truncate(line);
        }
        if !is_unfit(character) {
            self.text.push(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        self.unseen_bytes = 0;
        match byte {
            b'\n' => {
                self.has_returned = false;
                self.text.push('\n');
            }
            b'\r' => self.has_returned = true,
            b'\t' => TAB.chars().for_each(|space| self.print(space)),
            _ => {}
        }
    }
}

impl Printed {
    /// Adds a piece. If there is more than `max_bytes` the end is kept.
    pub(super) fn push(&mut self, piece: &str, max_bytes: usize) {
        for byte in piece.bytes() {
            self.lines.unseen_bytes += 1;
            self.parser.advance(&mut self.lines, byte);
            // A sequence that is too long does not count as one.
            if self.lines.unseen_bytes > SEQUENCE_BYTES {
                self.parser = Parser::new();
                self.lines.unseen_bytes = 0;
            }
        }
        let text = &mut self.lines.text;
        if text.len() > max_bytes {
            // This cuts a quarter more than needed, so that it is not done for each piece.
            let from = text.ceil_char_boundary(text.len() - max_bytes / 4 * 3);
            let from = text[from..].find('\n').map_or(from, |line| from + line + 1);
            text.drain(..from);
            self.is_cut = true;
        }
    }

    /// A complete output at once.
    pub(super) fn whole(text: &str, max_bytes: usize) -> Self {
        let mut printed = Self::default();
        printed.push(text, max_bytes);
        printed
    }

    /// The kept part.
    pub(super) fn text(&self) -> &str {
        &self.lines.text
    }

    /// True if its beginning was dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Breaks styled text into lines of at most `width` cells, at white space if possible. `first` is the prefix of the first
/// line, `rest` that of the others.
pub(super) fn wrap(
    spans: &[Span<'static>],
    width: usize,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let cells: Vec<(&str, Style, usize)> = spans
        .iter()
        .flat_map(|span| {
            span.content.graphemes(true).map(|grapheme| (grapheme, span.style, grapheme.width()))
        })
        .collect();
    let mut lines = Vec::new();
    let (mut start, mut at, mut used, mut space) = (0, 0, 0, None);
    let room = |prefix: &[Span<'_>]| width.saturating_sub(prefix.iter().map(Span::width).sum()).max(1);
    let mut available = room(first);
    while at < cells.len() {
        let (grapheme, _, cell_width) = cells[at];
        if used + cell_width > available && at > start {
            let end = match space {
                Some(space) if space > start => space,
                _ => at,
            };
            lines.push(line(&cells[start..end], if lines.is_empty() { first } else { rest }));
            (start, space, available) = (end, None, room(rest));
            used = cells[start..at].iter().map(|(_, _, width)| width).sum();
            continue;
        }
        used += cell_width;
        at += 1;
        if grapheme == " " {
            space = Some(at);
        }
    }
    if start < cells.len() || lines.is_empty() {
        lines.push(line(&cells[start..], if lines.is_empty() { first } else { rest }));
    }
    lines
}

fn line(cells: &[(&str, Style, usize)], prefix: &[Span<'static>]) -> Line<'static> {
    let mut spans = prefix.to_vec();
    for (grapheme, style, _) in cells {
        match spans.get_mut(prefix.len()..).and_then(<[_]>::last_mut) {
            Some(last) if last.style == *style => last.content.to_mut().push_str(grapheme),
            _ => spans.push(Span::styled((*grapheme).to_owned(), *style)),
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_would_obey_is_left() {
        let hostile = "a\u{1b}]0;x\u{7}b\u{9b}2Jc\rd\u{202e}e\u{8}\tf\r\n";
        let shown = visible(hostile);
        assert!(shown.chars().all(|character| character == '\n' || !is_unfit(character)), "{shown:?}");
        assert!(shown.ends_with("    f\n"), "{shown:?}");
        assert_eq!(one_line("a\nb \t c"), "a b c");
    }

    #[test]
    fn what_a_command_prints_is_read_as_a_terminal_reads_it_whatever_the_pieces() {
        let text = "\u{1b}[31mred\u{1b}[0m\r\n10%\r50%\r100%\ndone\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}\u{202e}";
        for size in [1, 2, 3, 100] {
            let mut printed = Printed::default();
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(size) {
                printed.push(&piece.iter().collect::<String>(), 1000);
            }
            assert_eq!(printed.text(), "red\n100%\ndonelink", "{size}");
        }
    }

    #[test]
    fn a_sequence_that_never_ends_does_not_swallow_all() {
        let mut printed = Printed::default();
        printed.push("before\u{1b}]0;", 100_000);
        printed.push(&"x".repeat(SEQUENCE_BYTES), 100_000);
        printed.push("\nafter\n", 100_000);
        assert!(printed.text().starts_with("before") && printed.text().ends_with("\nafter\n"));
    }

    #[test]
    fn of_endless_output_the_end_is_kept() {
        let mut printed = Printed::default();
        for number in 0..10_000 {
            printed.push(&format!("{number}\n"), 1000);
            assert!(printed.text().len() <= 1000);
        }
        assert!(printed.is_cut() && printed.text().ends_with("9999\n"));
        assert!(printed.text().starts_with(|first: char| first.is_ascii_digit()));
        assert_eq!(Printed::whole(&"ä".repeat(1000), 100).text().len() % 2, 0);
    }

    #[test]
    fn lines_break_at_spaces_and_wide_characters_count_twice() {
        let broken = |text: &str, width| {
            let lines = wrap(&[Span::raw(text.to_owned())], width, &[], &[Span::raw("> ")]);
            lines.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(broken("one two three", 8), ["one two ", "> three"]);
        assert_eq!(broken("漢字漢字", 5), ["漢字", "> 漢", "> 字"]);
        assert_eq!(broken("abcdefgh", 4), ["abcd", "> ef", "> gh"]);
        assert_eq!(broken("", 4), [""]);
        assert_eq!(broken("漢", 1), ["漢"], "a line holds something, however narrow");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
