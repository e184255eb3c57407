//! The head of a Markdown text: fields between two lines of `---`, the part of YAML that such heads use.
//!
//! ```text
//!   ---                      ┐
//!   name: review             │ the head: texts, lists, maps; `|` and `>` blocks; quotes; `[a, b]` and `{a: b}`
//!   tools: [Read, Grep]      │
//!   ---                      ┘
//!   Look at the change.      the body
//! ```
//! Skills, roles and commands have such heads, often heads that strict YAML parsers refuse (`description: Use when: …`). Nothing is refused here: a
//! value without a structure is text. Anchors, tags, types and further documents are not supported.
//!
//! | module | holds |
//! |---|---|
//! | [`value`] | the values of fields |
//! | `block`, `flow` | the two ways in which values are written |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod block;
mod flow;
pub mod value;

pub use value::{Map, Value};

/// How deeply values may be nested; deeper ones are read as text.
const DEPTH: usize = 16;

/// A text's head, and its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a> {
    /// The fields of the head; none if the text has no head.
    pub head: Map,
    /// The rest of the text, trimmed.
    pub body: &'a str,
    /// False if a head begins but does not end: the text may be cut.
    pub is_closed: bool,
}

impl<'a> Text<'a> {
    /// Reads a text; without a head, all of it is the body.
    pub fn read(text: &'a str) -> Self {
        match split(text) {
            None => Self { head: Map::default(), body: text.trim(), is_closed: true },
            Some((head, Some(body))) => {
                Self { head: block::fields(head), body: body.trim(), is_closed: true }
            }
            Some((head, None)) => Self { head: block::fields(head), body: "", is_closed: false },
        }
    }

    /// A value, on one line; empty if the key is missing.
    pub fn line(&self, key: &str) -> String {
        self.head.get(key).map(Value::line).unwrap_or_default()
    }

    /// A list, written as `a, b`, `[a, b]` or lines of `- a`; `None` if the key is missing.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        self.head.get(key).map(Value::list)
    }
}

/// A text's head as it was written, and the rest after it, which is `None` if the head does not end; `None` without a head.
pub fn split(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        // An indented line is a part of a block.
        if line.trim_end() == "---" {
            return Some((&rest[..at], Some(&rest[at + line.len()..])));
        }
        at += line.len();
    }
    Some((rest, None))
}

#[cfg(test)]
mod tests;
