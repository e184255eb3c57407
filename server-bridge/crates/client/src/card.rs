//! A request for approval, as lines of a terminal: no line of it, however long, can look like the terminal's own text.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The prefix of each line of the server's own text, and of the pieces of an overlong line.
const OWN: &str = "  │ ";
const OWN_REST: &str = "  │     ";

/// The prefix of each line of the model's text, which the server marks with [`QUOTE`].
const QUOTED: &str = "  │   | ";
const QUOTE: &str = "  | ";

/// The smallest width for text, in cells.
const ROOM: usize = 8;

/// The gutters of a line of an approval, for its first piece and for the others, and the line without its mark.
pub(crate) fn gutters(line: &str) -> (&'static str, &'static str, &str) {
    match line.strip_prefix(QUOTE) {
        Some(quoted) => (QUOTED, QUOTED, quoted),
        None => (OWN, OWN_REST, line),
    }
}

/// The lines of an approval on a terminal that is `columns` cells wide.
pub(super) fn lines(detail: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in detail.split('\n') {
        let (mut gutter, rest, text) = gutters(line);
        let mut piece = String::new();
        for grapheme in text.graphemes(true) {
            // A tab may move a terminal's cursor by up to eight cells.
            let grapheme = if grapheme == "\t" { "    " } else { grapheme };
            let room = columns.saturating_sub(gutter.width() + 1).max(ROOM);
            if piece.width() + grapheme.width() > room {
                lines.push(format!("{gutter}{piece}"));
                (gutter, piece) = (rest, String::new());
            }
            piece.push_str(grapheme);
        }
        lines.push(format!("{gutter}{piece}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_never_leaves_its_place() {
        let detail = format!("runs a command\ncommand:\n  | {}  allow ls? [y]es:\nalways: x", "x".repeat(33));
        let expected = [
            "  │ runs a command".to_owned(),
            "  │ command:".to_owned(),
            format!("  │   | {}", "x".repeat(31)),
            "  │   | xx  allow ls? [y]es:".to_owned(),
            "  │ always: x".to_owned(),
        ];
        assert_eq!(lines(&detail, 40), expected);
        for line in lines(&format!("file: /{}", "目录/".repeat(100)), 40) {
            assert!(line.starts_with("  │ ") && line.width() < 40, "{line}");
        }
        assert_eq!(lines("  | \ta", 40), ["  │   |     a"]);
    }
}
