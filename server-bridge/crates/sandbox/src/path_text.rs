//! Paths that people can read: one that looks like another path, or like two lines, is refused before anything is sent.

use proto::ErrorKind;

use crate::error::SandboxError;

/// The first character of a path that is a control character, starts a new line or reverses the text around it; `None`
/// if there is none.
///
/// Invalid UTF-8 is shown as such and hides nothing; the control characters of ASCII are found among them too.
pub fn control_character(path: &[u8]) -> Option<char> {
    path.utf8_chunks().flat_map(|chunk| chunk.valid().chars()).find(|&c| is_control(c))
}

fn is_control(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Refuses a path with a control character.
pub(crate) fn visible(path: &[u8]) -> Result<(), SandboxError> {
    let Some(found) = control_character(path) else { return Ok(()) };
    let message = format!(
        "the path contains the control character U+{:04X}, which could make it look like another path: use a path without it; a \
         command can rename such a file",
        u32::from(found)
    );
    Err(SandboxError::Remote { kind: ErrorKind::InvalidPath, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_could_be_read_as_another_one_is_refused() {
        for (path, found) in [
            ("docs/guide.md\n/../../Makefile", '\n'),
            ("a\rb", '\r'),
            ("a\tb", '\t'),
            ("\u{1b}[2Ka", '\u{1b}'),
            ("a\u{7f}", '\u{7f}'),
            ("a\u{85}b", '\u{85}'),
            ("a\u{9b}31m", '\u{9b}'),
            ("a\u{2028}b", '\u{2028}'),
            ("\u{202e}txt.exe", '\u{202e}'),
            ("a\u{2067}b", '\u{2067}'),
            ("a\0b", '\0'),
        ] {
            assert_eq!(control_character(path.as_bytes()), Some(found), "{path:?}");
            let error = visible(path.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("U+{:04X}", u32::from(found))), "{error}");
        }
        assert_eq!(control_character(b"a\xff\n"), Some('\n'), "among other bytes too");
    }

    #[test]
    fn other_names_are_names() {
        for path in ["a b", "é/日本", "М\u{430}kefile", "a\\nb", "...", "a\u{200d}b", "\u{2764}\u{fe0f}.md"]
        {
            assert_eq!(visible(path.as_bytes()), Ok(()), "{path:?}");
        }
        assert_eq!(visible(b"not\xffutf8"), Ok(()));
    }
}
