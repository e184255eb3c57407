//! Schemas of third-party tools, as models get them: self-contained, bounded, and without hidden text.

use agent::tool::visible;
use serde_json::Value;

use crate::limits::SCHEMA_DEPTH;

/// The reason why a schema cannot be used, if there is one.
pub(crate) fn problem(schema: &Value) -> Option<String> {
    problem_in(schema, 0, false)
}

/// The reason why a schema cannot be used: it refers to another document, is too deep, or hides something. Only descriptions are
/// text for people, and their invisible characters are written out.
fn problem_in(value: &Value, depth: usize, is_words: bool) -> Option<String> {
    if depth > SCHEMA_DEPTH {
        return Some(format!("its schema is deeper than {SCHEMA_DEPTH} levels"));
    }
    let hides = |text: &str| visible::line(text) != text && text.chars().any(store::is_unseen);
    let hidden = || Some("its schema contains invisible characters".to_owned());
    match value {
        Value::String(text) if !is_words && hides(text) => hidden(),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match (name.as_str(), value) {
            ("$ref" | "$dynamicRef", Value::String(target)) if !target.starts_with('#') => {
                Some("its schema refers to another document, which is not loaded".to_owned())
            }
            (name, _) if hides(name) => hidden(),
            (name, value) => problem_in(value, depth + 1, is_described(name)),
        }),
        Value::Array(values) => values.iter().find_map(|value| problem_in(value, depth + 1, is_words)),
        _ => None,
    }
}

/// True if a field of a schema contains text for people and models.
fn is_described(name: &str) -> bool {
    matches!(name, "description" | "title" | "$comment")
}

/// Writes out the invisible characters in the descriptions of a schema.
pub(crate) fn make_visible(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if is_described(name) => *text = visible::lines(text),
                    other => make_visible(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_visible),
        _ => {}
    }
}
