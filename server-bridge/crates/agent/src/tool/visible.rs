//! Text of a model or a machine, made safe to show: invisible characters, and those that reorder text, are written out, and long runs of
//! blanks are replaced by their length.

use records::is_unseen;

use crate::limits::{FOLDED_BLANK_LINES, FOLDED_BLANKS_CHARS};

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) && !is_kept(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Makes a name or a path visible; always one line.
pub fn line(text: &str) -> String {
    without_gaps(&escaped(text, |_| false))
}

/// Makes a path from a machine visible.
pub fn path(bytes: &[u8]) -> String {
    line(&String::from_utf8_lossy(bytes))
}

/// Makes a text of several lines visible.
pub fn lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Makes a text of several lines visible for a user who is asked to allow it: nothing in it is pushed out of sight.
pub fn whole(text: &str) -> String {
    let text = without_gaps(&lines(text));
    let (mut shown, mut blank): (Vec<String>, Vec<&str>) = Default::default();
    let fold = |blank: &mut Vec<&str>, shown: &mut Vec<String>| {
        match blank.len() {
            count if count >= FOLDED_BLANK_LINES => shown.push(format!("… {count} blank lines …")),
            _ => shown.extend(blank.iter().map(|line| (*line).to_owned())),
        }
        blank.clear();
    };
    for line in text.split('\n') {
        if line.trim().is_empty() || is_gap(line.trim()) {
            blank.push(line);
        } else {
            fold(&mut blank, &mut shown);
            shown.push(line.to_owned());
        }
    }
    fold(&mut blank, &mut shown);
    shown.join("\n")
}

/// The same text, with long runs of blanks within its lines replaced by their length.
fn without_gaps(text: &str) -> String {
    let is_blank = |c: char| c.is_whitespace() && c != '\n';
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(is_blank) {
        let (before, from) = rest.split_at(at);
        let length = from.find(|c| !is_blank(c)).unwrap_or(from.len());
        let (run, behind) = from.split_at(length);
        shown.push_str(before);
        match run.chars().count() {
            count if count >= FOLDED_BLANKS_CHARS => shown.push_str(&gap(count)),
            _ => shown.push_str(run),
        }
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

fn gap(count: usize) -> String {
    format!(" … {count} blanks … ")
}

/// True if a trimmed line consists only of counted blanks.
fn is_gap(line: &str) -> bool {
    let count = line.strip_prefix("… ").and_then(|rest| rest.strip_suffix(" blanks …"));
    count.is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(line("a\nb\u{1b}[2J\u{202e}fdp.exe é"), "a\\nb\\u{1b}[2J\\u{202e}fdp.exe é");
        assert_eq!(lines("a\n\tb\r\u{7}"), "a\n\tb\\r\\u{7}");
        assert_eq!(path(b"a\xff\nb"), "a\u{fffd}\\nb");
        assert_eq!(lines("rm\u{200b} \u{e0041}\u{3164}\u{fe0f}"), "rm\\u{200b} \\u{e0041}\\u{3164}\\u{fe0f}");
    }

    #[test]
    fn runs_of_nothing_are_counted() {
        assert_eq!(whole("a\n\n\nb"), "a\n\n\nb");
        assert_eq!(whole(&format!("a{}b", "\n".repeat(301))), "a\n… 300 blank lines …\nb");
        assert_eq!(whole(&format!("a\n{}b", " \t\n".repeat(50))), "a\n… 50 blank lines …\nb");
        assert_eq!(whole(&format!("{}b", " \n".repeat(9))), "… 9 blank lines …\nb");
        assert_eq!(whole(&format!("a{}b", " ".repeat(500))), "a … 500 blanks … b");
        assert_eq!(whole(&format!("a{}b", "\u{3000}".repeat(500))), "a … 500 blanks … b");
        let wide = format!("{}\n", " ".repeat(200)).repeat(300);
        assert_eq!(whole(&format!("a\n{wide}b")), "a\n… 300 blank lines …\nb");
        let indented = format!("{}deep", " ".repeat(40));
        assert_eq!(whole(&indented), indented);
        assert_eq!(line(&format!("a{}b", " ".repeat(100))), "a … 100 blanks … b");
    }
}
