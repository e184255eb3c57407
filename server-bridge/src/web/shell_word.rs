//! Words as a shell takes them.

/// A word as it is written in a shell's line: quoted only where it has to be.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_expand_is_quoted() {
        assert_eq!(quoted("http://b.example:80/a_b"), "http://b.example:80/a_b");
        for word in ["", "a b", "$(x)", "`x`", "a;b", "~", "*", "a\nb", "\"", "[::1]"] {
            assert_eq!(quoted(word), format!("'{word}'"));
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
