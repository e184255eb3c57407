//! Words in the syntax of a shell, and commands in the form that people read.

use sandbox::Command;

/// A client's command, either a program with its arguments or a line for the shell, together with the form that people read. `None` if
/// the client gives neither or both.
pub fn command_of(argv: Option<Vec<String>>, line: Option<String>) -> Option<(Command, String)> {
    match (argv, line) {
        (Some(argv), None) if argv.first().is_some_and(|program| !program.is_empty()) => {
            let shown = argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            Some((Command::Argv(argv.into_iter().map(String::into_bytes).collect()), shown))
        }
        (None, Some(line)) => Some((Command::Shell(line.clone().into_bytes()), line)),
        _ => None,
    }
}

/// A word as written in a shell's line: quoted only if necessary.
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
