//! The functions `match` and `search` of JSONPath (RFC 9535). The ones in crate `serde_json_path` compile the pattern again for each
//! value.

use std::cell::RefCell;

use regex::{Regex, RegexBuilder};
use serde_json::Value;
use serde_json_path::functions::{LogicalType, ValueType};

use crate::limits::{PATTERN_MEMORY_BYTES, PATTERNS};

thread_local! {
    /// The patterns that this thread compiled most recently.
    static COMPILED: RefCell<Vec<(String, Option<Regex>)>> = const { RefCell::new(Vec::new()) };
}

/// Compiles a pattern that must match a whole text, or a part of it.
pub(crate) fn compile(pattern: &str, is_whole: bool) -> Result<Regex, regex::Error> {
    let pattern = if is_whole { format!("^(?:{pattern})$") } else { pattern.to_owned() };
    RegexBuilder::new(&pattern).crlf(true).size_limit(PATTERN_MEMORY_BYTES).build()
}

#[serde_json_path::function(name = "match")]
fn whole_match(value: ValueType<'_>, pattern: ValueType<'_>) -> LogicalType {
    is_match(&value, &pattern, true).into()
}

#[serde_json_path::function(name = "search")]
fn part_match(value: ValueType<'_>, pattern: ValueType<'_>) -> LogicalType {
    is_match(&value, &pattern, false).into()
}

fn is_match(value: &ValueType<'_>, pattern: &ValueType<'_>, is_whole: bool) -> bool {
    let (Some(Value::String(text)), Some(Value::String(pattern))) = (value.as_value(), pattern.as_value())
    else {
        return false;
    };
    let name = format!("{}{pattern}", if is_whole { 'm' } else { 's' });
    COMPILED.with_borrow_mut(|compiled| {
        let at = compiled.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            if compiled.len() >= PATTERNS {
                compiled.remove(0);
            }
            compiled.push((name, compile(pattern, is_whole).ok()));
            compiled.len() - 1
        });
        compiled[at].1.as_ref().is_some_and(|regex| regex.is_match(text))
    })
}
