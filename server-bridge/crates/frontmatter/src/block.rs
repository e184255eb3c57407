//! Values that span several lines: fields and items by indentation, and blocks of text.

use crate::value::{Map, Value};
use crate::{DEPTH, flow};

/// Reads the fields of a head.
pub(crate) fn fields(head: &str) -> Map {
    let lines: Vec<Line<'_>> = head.lines().map(Line::of).collect();
    map(&lines, 0)
}

/// A line, with the blanks at its beginning counted.
#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    /// The line without blanks at its ends.
    text: &'a str,
    /// The line as it was written.
    whole: &'a str,
}

impl<'a> Line<'a> {
    fn of(whole: &'a str) -> Self {
        let text = whole.trim();
        Self { indent: whole.len() - whole.trim_start().len(), text, whole }
    }

    fn is_nothing(self) -> bool {
        self.text.is_empty() || self.text.starts_with('#')
    }

    fn item(self) -> Option<&'a str> {
        let rest = self.text.strip_prefix('-')?;
        (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim_start())
    }

    fn field(self) -> Option<(String, &'a str)> {
        if self.item().is_some() {
            return None;
        }
        let (name, rest) = match self.text.chars().next()? {
            quote @ ('"' | '\'') => {
                let (name, rest) = self.text[1..].split_once(quote)?;
                (name, rest.trim_start().strip_prefix(':')?)
            }
            _ => self.text.split_once(':')?,
        };
        let is_separate = rest.is_empty() || rest.starts_with([' ', '\t']);
        let name = name.trim();
        (is_separate && !name.is_empty()).then(|| (name.to_owned(), rest.trim()))
    }
}

fn map(lines: &[Line<'_>], depth: usize) -> Map {
    let mut map = Map::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        // A line that is not a field is ignored.
        let Some((name, rest)) = line.field().filter(|_| !line.is_nothing()) else { continue };
        let below = &lines[at..];
        let length = below
            .iter()
            .take_while(|next| {
                next.is_nothing()
                    || next.indent > line.indent
                    || (next.indent == line.indent && next.item().is_some())
            })
            .count();
        map.push(name, value(rest, &below[..length], depth + 1));
        at += length;
    }
    map
}

/// The value that begins with `first` and continues in the lines below.
fn value(first: &str, below: &[Line<'_>], depth: usize) -> Value {
    if let Some(fold) = block_mark(first) {
        return Value::Text(block(below, fold));
    }
    let joined = |first: &str, separator: &str| {
        let texts = below.iter().filter(|line| !line.is_nothing()).map(|line| line.text);
        std::iter::once(first)
            .chain(texts)
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(separator)
    };
    if first.starts_with(['"', '\'', '[', '{']) {
        let whole = if flow::goes_on(first) { joined(first, " ") } else { first.to_owned() };
        if let Some(value) = flow::value(&whole) {
            return value;
        }
    }
    let first = flow::uncommented(first);
    let Some(begin) = below.iter().find(|line| !line.is_nothing()) else {
        return Value::Text(first.to_owned());
    };
    // Brackets on separate lines.
    if first.is_empty()
        && begin.text.starts_with(['[', '{'])
        && let Some(value) = flow::value(&joined("", " "))
    {
        return value;
    }
    if first.is_empty() && depth <= DEPTH {
        if begin.item().is_some() {
            return Value::List(items(below, depth));
        }
        if begin.field().is_some_and(|(name, _)| is_plain(&name)) {
            return Value::Map(map(below, depth));
        }
    }
    Value::Text(joined(first, "\n"))
}

fn items(lines: &[Line<'_>], depth: usize) -> Vec<Value> {
    let first = lines.iter().find(|line| line.item().is_some()).map_or(0, |line| line.indent);
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some(rest) = line.item() else { continue };
        let below = &lines[at..];
        let ends = |next: &Line<'_>| next.item().is_some() && next.indent <= first;
        let length = below.iter().take_while(|next| !ends(next)).count();
        let below = &below[..length];
        at += length;
        let inner = Line { indent: line.indent + 2, text: rest, whole: rest };
        let is_map = inner.field().is_some_and(|(name, _)| is_plain(&name)) && depth < DEPTH;
        items.push(if is_map {
            let lines: Vec<_> = std::iter::once(inner).chain(below.iter().copied()).collect();
            Value::Map(map(&lines, depth + 1))
        } else {
            value(rest, below, depth + 1)
        });
    }
    items
}

/// True if this can be the name of a field within a field: prose with a colon is not one.
fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '$' | '/' | '@'))
}

/// True for a block whose lines are joined (`>`), false for one whose lines are kept (`|`).
fn block_mark(first: &str) -> Option<bool> {
    let mark = flow::uncommented(first);
    let is_mark =
        mark.trim_start_matches(['|', '>']).chars().all(|letter| matches!(letter, '+' | '-' | '0'..='9'));
    match mark.chars().next()? {
        '>' if is_mark => Some(true),
        '|' if is_mark => Some(false),
        _ => None,
    }
}

fn block(lines: &[Line<'_>], fold: bool) -> String {
    let indent = lines.iter().filter(|line| !line.text.is_empty()).map(|line| line.indent).min().unwrap_or(0);
    let mut text = String::new();
    let mut was_text = false;
    for (at, line) in lines.iter().enumerate() {
        // A blank may have several bytes; if the line cannot be cut at this offset, all its leading blanks are removed.
        let line = line.whole.get(indent..).unwrap_or(line.text).trim_end();
        text.push_str(match fold {
            false if at > 0 => "\n",
            true if line.is_empty() => "\n",
            true if was_text => " ",
            _ => "",
        });
        text.push_str(line);
        was_text = !line.is_empty();
    }
    text.trim().to_owned()
}
