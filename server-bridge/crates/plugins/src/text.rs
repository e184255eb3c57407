//! Converts texts from untrusted sources for use in names, messages and lists.

use crate::limits::{NAME_CHARS, QUOTED_CHARS};

/// True for characters that are invisible or change the direction of writing.
pub(crate) fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a text, for a message: in backquotes, with invisible characters written out.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS).map(visible).collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn visible(letter: char) -> String {
    if is_unseen(letter) { letter.escape_unicode().to_string() } else { letter.to_string() }
}

/// A text on one line, with at most this many characters and no invisible ones.
pub(crate) fn line(text: &str, most_chars: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|letter| !is_unseen(*letter)).take(most_chars).collect()
}

/// True if a part may have this name: it must need no quoting in a path, a line of text or a slash command.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    name.starts_with(|letter: char| letter.is_alphanumeric())
        && name.chars().all(is_plain)
        && name.chars().count() <= NAME_CHARS
}

/// A name made from a text by replacing the characters that names cannot contain; `None` if nothing remains.
pub(crate) fn name_of(text: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let words = text.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(NAME_CHARS).collect();
    let name = name.trim_matches(['-', '_', '.']);
    is_name(name).then(|| name.to_owned())
}
