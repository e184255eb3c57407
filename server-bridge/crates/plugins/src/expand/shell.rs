//! Inserts arguments into shell lines: each is quoted as its position requires, so that its value does not change.

use super::ExpansionError;
use super::arguments::{Arguments, Place};
use crate::limits::QUOTED_CHARS;
use crate::text::line as shortened;

/// Signs that quotes in a line do not have their normal meaning: other contexts within the line, comments, and programs that parse a text as a
/// program again. Only plain arguments are inserted into such a line.
const NESTED: &[&str] =
    &["`", "$(", "<<", "<(", ">(", "$'", "eval", " -c", " -e", "awk", "sed", "ssh", "xargs", "trap", "alias"];

/// The kind of quotes around a position in a shell line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// Inserts arguments into a shell line; returns true if it has a placeholder for them.
pub(super) fn fill(line: &str, arguments: &Arguments<'_>) -> Result<(String, bool), ExpansionError> {
    let is_nested = is_nested(line);
    let mut filled = String::with_capacity(line.len());
    let mut uses_any = false;
    let mut quotes = Quotes::None;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if let Some((place, length)) = arguments.place(rest).filter(|(place, _)| !is_escape(place)) {
            uses_any |= !matches!(place, Place::Fixed(_));
            match place {
                Place::Fixed(text) => filled.push_str(&text),
                Place::One(number) => {
                    let word = arguments.words().get(number).map_or("", String::as_str);
                    filled.push_str(&put(word, quotes, is_nested, line)?);
                }
                Place::All => {
                    let words = arguments.words().iter().map(|word| put(word, quotes, is_nested, line));
                    filled.push_str(&words.collect::<Result<Vec<_>, _>>()?.join(" "));
                }
            }
            rest = &rest[length..];
            continue;
        }
        let taken = match (letter, quotes) {
            // A backslash and the character that it escapes.
            ('\\', Quotes::None | Quotes::Double) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => letter.len_utf8(),
        };
        quotes = match (letter, quotes) {
            ('\'', Quotes::None) => Quotes::Single,
            ('"', Quotes::None) => Quotes::Double,
            ('\'', Quotes::Single) | ('"', Quotes::Double) => Quotes::None,
            _ => quotes,
        };
        filled.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Ok((filled, uses_any))
}

/// True for a line into which only plain arguments may be inserted.
fn is_nested(line: &str) -> bool {
    let has_comment = line.match_indices('#').any(|(at, _)| {
        line[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || ";&|()".contains(before))
    });
    // A simple `${NAME}` contains nothing that could be quoted.
    let has_expression = line.match_indices("${").any(|(at, _)| {
        let name = line[at + 2..].split_once('}').map(|(name, _)| name);
        !name.is_some_and(|name| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'))
    });
    has_comment || has_expression || NESTED.iter().any(|mark| line.contains(mark))
}

/// True for an escaped `$`, which is left to the shell: it has the same meaning there.
fn is_escape(place: &Place) -> bool {
    matches!(place, Place::Fixed(text) if text == "$")
}

fn put(word: &str, quotes: Quotes, is_nested: bool, line: &str) -> Result<String, ExpansionError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Ok(word.to_owned());
    }
    if (is_nested && !word.is_empty()) || word.contains('\0') {
        return Err(ExpansionError::Unsafe {
            argument: shortened(word, QUOTED_CHARS),
            line: shortened(line, QUOTED_CHARS * 2),
        });
    }
    Ok(match quotes {
        // Empty arguments expand to nothing, like an empty variable.
        Quotes::None if word.is_empty() => String::new(),
        Quotes::None => format!("'{}'", word.replace('\'', r"'\''")),
        Quotes::Single => word.replace('\'', r"'\''"),
        Quotes::Double => {
            let mut escaped = String::with_capacity(word.len());
            for letter in word.chars() {
                if matches!(letter, '"' | '\\' | '$' | '`') {
                    escaped.push('\\');
                }
                escaped.push(letter);
            }
            escaped
        }
    })
}
