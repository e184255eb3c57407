//! Values on one line: `"text"`, `[a, b]`, `{a: b}`, JSON.

use crate::DEPTH;
use crate::value::{Map, Value};

/// Reads a text that is one value in quotes, brackets or braces as a whole; `None` if it is not.
pub(crate) fn value(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text.trim() };
    if !reader.rest.starts_with(['"', '\'', '[', '{']) {
        return None;
    }
    let value = reader.value(0)?;
    reader.blanks();
    (reader.rest.is_empty() || reader.rest.starts_with('#')).then_some(value)
}

/// True if a text begins a value in quotes, brackets or braces that continues in the next line.
pub(crate) fn goes_on(text: &str) -> bool {
    let mut depth = 0i32;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            quote @ ('"' | '\'') => {
                loop {
                    match letters.next() {
                        None => return true,
                        Some('\\') if quote == '"' => {
                            letters.next();
                        }
                        Some(letter) if letter == quote => break,
                        Some(_) => {}
                    }
                }
                if depth == 0 {
                    return false;
                }
            }
            _ => {}
        }
    }
    depth > 0
}

/// A text without the comment at its end.
pub(crate) fn uncommented(text: &str) -> &str {
    if text.starts_with('#') {
        return "";
    }
    let at = text.find(" #").or_else(|| text.find("\t#"));
    at.map_or(text, |at| &text[..at]).trim_end()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blanks();
        match self.rest.chars().next()? {
            _ if depth > DEPTH => None,
            '[' => self.list(depth),
            '{' => self.map(depth),
            quote @ ('"' | '\'') => self.quoted(quote).map(Value::Text),
            _ => Some(Value::Text(self.plain(&[',', ']', '}']))),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.eat('[');
        loop {
            self.blanks();
            if self.eat(']') {
                return Some(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.blanks();
            if !self.eat(',') && !self.rest.starts_with(']') {
                return None;
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        let mut map = Map::default();
        self.eat('{');
        loop {
            self.blanks();
            if self.eat('}') {
                return Some(Value::Map(map));
            }
            let name = match self.rest.chars().next()? {
                quote @ ('"' | '\'') => self.quoted(quote)?,
                _ => self.plain(&[':', ',', '}']),
            };
            self.blanks();
            if !self.eat(':') {
                return None;
            }
            map.push(name, self.value(depth + 1)?);
            self.blanks();
            if !self.eat(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn plain(&mut self, ends: &[char]) -> String {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.trim().to_owned()
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        let source = self.rest;
        let mut text = String::new();
        let mut letters = source.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' if quote == '"' => text.push(escaped(letters.next()?.1, &mut letters)?),
                _ if letter == quote => {
                    self.rest = &source[at + 1..];
                    // Two apostrophes within apostrophes are one.
                    if quote == '\'' && self.rest.starts_with('\'') {
                        text.push('\'');
                        letters.next();
                        continue;
                    }
                    return Some(text);
                }
                _ => text.push(letter),
            }
        }
        None
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

fn escaped(letter: char, letters: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let digits = match letter {
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        '0' => return Some('\0'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return Some(other),
    };
    let digits: String = letters.take(digits).map(|(_, digit)| digit).collect();
    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
}
