//! Results on standard output, everything else on standard error.

use std::io::Write;
use std::sync::OnceLock;

use serde::Serialize;

use super::limits::HINT_CHARS;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR, CLICOLOR=0 or TERM=dumb is set; elsewhere only if CLICOLOR_FORCE is set
    #[default]
    Auto,
    /// Even if the output is not a terminal
    Always,
    /// Not even on a terminal
    Never,
}

/// The value of `--color`.
static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Sets the use of colours; the first call counts.
pub fn set_colour(colour: Colour) {
    let _ = COLOUR.set(colour);
}

/// True if colours are used, given whether the output goes to a terminal.
pub fn has_colour(is_terminal: bool) -> bool {
    let wanted = COLOUR.get().copied().unwrap_or_default();
    decide(wanted, is_terminal, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn decide(wanted: Colour, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let says = |name: &str, word: &str| variable(name).is_some_and(|value| value == word);
    match wanted {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if variable("NO_COLOR").is_some() => false,
        Colour::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        Colour::Auto => is_terminal && !says("CLICOLOR", "0") && !says("TERM", "dumb"),
    }
}

/// Prints one document as JSON on a line.
pub fn json_line(document: &impl Serialize) {
    line(&api::to_line(document));
}

/// An action on a named object, for programs.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
}

/// A document as JSON for programs, and its text for people.
pub(super) fn both(document: &impl Serialize, words: impl Into<String>) -> (String, String) {
    (api::to_line(document), words.into())
}

/// Prints a line. A failure is ignored: it means that the reader has closed the output.
pub fn line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// Prints a line for a person on standard error.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "sandbridge: {}", printable(text));
}

/// A text with its control characters escaped: it may come from a runner or an archive, and a terminal would obey them.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push('\n'),
            control if control.is_control() => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

/// A text on one line. A character that a terminal would obey, move or not show is replaced by its code.
pub(super) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_unfit(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// The beginning of a text, on one line.
pub(super) fn short_line(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(HINT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn is_unfit(character: char) -> bool {
    // The characters that the server treats as invisible: fillers, variation selectors, tags, and marks of text direction.
    let is_unseen = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    );
    character.is_control() || is_unseen
}

/// A point in time, in Unix milliseconds, as "3 min ago".
pub fn ago(at_ms: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    match now_ms.saturating_sub(at_ms) / 1000 {
        seconds if seconds < 5 => "just now".to_owned(),
        seconds if seconds < 120 => format!("{seconds} s ago"),
        seconds if seconds < 7200 => format!("{} min ago", seconds / 60),
        seconds if seconds < 48 * 3600 => format!("{} h ago", seconds / 3600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

/// A future point in time, in Unix milliseconds, as "in 3 min".
pub(super) fn until(at_ms: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    match at_ms.saturating_sub(now_ms) / 1000 {
        seconds if seconds < 120 => format!("in {} s", seconds.max(0)),
        seconds if seconds < 7200 => format!("in {} min", seconds / 60),
        seconds if seconds < 48 * 3600 => format!("in {} h", seconds / 3600),
        seconds => format!("in {} days", seconds / 86_400),
    }
}

/// How long something took: `340 ms`, `1.2 s`, `1 min 1 s`.
pub(super) fn duration(duration_ms: u64) -> String {
    match duration_ms {
        0..1000 => format!("{duration_ms} ms"),
        1000..60_000 => format!("{}.{} s", duration_ms / 1000, duration_ms % 1000 / 100),
        _ => format!("{} min {} s", duration_ms / 60_000, duration_ms % 60_000 / 1000),
    }
}

/// Rows with their columns aligned; control characters are escaped.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| printable(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(printable("a\u{1b}]0;x\u{7}\r\u{9b}b\nä"), "a\\u{1b}]0;x\\u{7}\\r\\u{9b}b\nä");
    }

    #[test]
    fn a_line_shows_marks_that_turn_or_hide_text_and_a_short_one_its_beginning() {
        assert_eq!(one_line("a\nb\u{202e}c\u{200b}ä"), "a\\nb\\u{202e}c\\u{200b}ä");
        assert_eq!(short_line(&"ä".repeat(HINT_CHARS)), "ä".repeat(HINT_CHARS));
        assert_eq!(short_line(&"ä".repeat(HINT_CHARS + 1)), format!("{}…", "ä".repeat(HINT_CHARS)));
    }

    #[test]
    fn colours_are_where_they_are_wanted() {
        let decided = |wanted, is_terminal, set: &[(&str, &str)]| {
            decide(wanted, is_terminal, |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(decided(Colour::Auto, true, &[]) && !decided(Colour::Auto, false, &[]));
        for off in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            assert!(!decided(Colour::Auto, true, &[off]), "{off:?}");
            assert!(decided(Colour::Always, true, &[off]), "{off:?}");
        }
        assert!(decided(Colour::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!decided(Colour::Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!decided(Colour::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!decided(Colour::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["NAME", "STATE"], ["laptop", "on"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "NAME    STATE\nlaptop  on");
        assert_eq!(table(&[vec!["a\u{1b}[2J".to_owned()]]), "a\\u{1b}[2J");
    }
}
