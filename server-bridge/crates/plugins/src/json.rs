//! JSON documents from untrusted sources.

use serde_json::{Map, Value};

use crate::limits::LIST_ITEMS;
use crate::text::line;

/// Reads a document that is an object.
///
/// Fails with the problem as text.
pub(crate) fn object(bytes: &[u8], most_bytes: usize) -> Result<Map<String, Value>, String> {
    if bytes.len() > most_bytes {
        return Err(format!("has {} bytes; at most {most_bytes} are read", bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("must be a JSON object".to_owned()),
        Err(error) => Err(format!("is not valid JSON: {error}")),
    }
}

/// A string of an object, reduced to one line; empty if there is none.
pub(crate) fn text(fields: &Map<String, Value>, name: &str, most_chars: usize) -> String {
    fields.get(name).and_then(Value::as_str).map(|text| line(text, most_chars)).unwrap_or_default()
}

/// The strings of a list, or a single string.
pub(crate) fn texts(value: &Value, most_chars: usize) -> Vec<String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    items.iter().take(LIST_ITEMS).filter_map(Value::as_str).map(|text| line(text, most_chars)).collect()
}

/// A phrase for the type of a value.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
