//! Makes names and texts that strangers choose safe to show and to store.

use crate::limits::{NAME_MAX_CHARS, TEXT_MAX_BYTES};

/// Removes from a person's name all characters that could make it look like another name: no control characters, no marks of writing direction, no
/// invisible characters, only single spaces. Empty if nothing is left.
pub fn person(name: &str) -> String {
    let visible = name.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let visible: String = visible.filter(|&c| !c.is_control() && !is_invisible(c)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    words.join(" ").chars().take(NAME_MAX_CHARS).collect()
}

/// A file's name without directories; empty if nothing is left.
pub fn file(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = person(last);
    if matches!(name.as_str(), "." | "..") { String::new() } else { name }
}

/// A text, cut off between characters after [`TEXT_MAX_BYTES`].
pub fn text(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX_BYTES)].to_owned()
}

/// True for a character that is invisible by itself, or that changes the direction of others.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_it_is_stored() {
        assert_eq!(person("Ali\u{202e}ce\u{200b}\n  B\u{0}"), "Alice B");
        assert_eq!(person("\u{200f}\u{feff}"), "");
        assert_eq!(person("名字 👩‍💻"), "名字 👩💻");
        assert_eq!(person(&"x".repeat(1000)).len(), NAME_MAX_CHARS);
    }

    #[test]
    fn a_files_name_has_no_directories() {
        assert_eq!(file("../../etc/passwd"), "passwd");
        assert_eq!(file("C:\\x\\a.txt"), "a.txt");
        assert_eq!(file("a/.."), "");
    }
}
