//! Text of a model's or of a machine's, as it is shown: what cannot be seen, or turns other text around, is written out.

/// Whether a character plays tricks with whoever reads what it stands in.
fn is_trick(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_trick(c) && !is_kept(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A name or a path: always one line.
pub(super) fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// A path as it came from a machine.
pub(super) fn path(bytes: &[u8]) -> String {
    line(&String::from_utf8_lossy(bytes))
}

/// Text of several lines.
pub(super) fn lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(line("a\nb\u{1b}[2J\u{202e}fdp.exe é"), "a\\nb\\u{1b}[2J\\u{202e}fdp.exe é");
        assert_eq!(lines("a\n\tb\r\u{7}"), "a\n\tb\\r\\u{7}");
        assert_eq!(path(b"a\xff\nb"), "a\u{fffd}\\nb");
    }
}
