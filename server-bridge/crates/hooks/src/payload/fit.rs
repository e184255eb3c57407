//! The size of payloads.

use serde_json::{Map, Value};

use crate::limits::CUT_TEXT_BYTES;

/// The beginning of the mark that ends a text that was cut.
pub const CUT: &str = "…[cut, ";

/// The field that shows that something was cut.
const CUT_FIELD: &str = "payload_cut";

/// Shortens a payload's text to the limit: the longest texts are cut first, then the longest lists. Returns the text, the value
/// that it represents, and true if something was cut.
pub fn fit(value: Value, limit: usize) -> (String, Value, bool) {
    let text = value.to_string();
    if text.len() <= limit {
        return (text, value, false);
    }
    let mut value = value;
    if let Value::Object(fields) = &mut value {
        fields.insert(CUT_FIELD.to_owned(), Value::Bool(true));
    }
    let halves = std::iter::successors(Some(limit / 2), |texts| Some(texts / 2));
    let texts = halves.take_while(|texts| *texts > CUT_TEXT_BYTES).map(|texts| (texts, usize::MAX));
    let items = [usize::MAX, 1024, 256, 64, 16, 4, 1].map(|items| (CUT_TEXT_BYTES, items));
    for (texts, items) in texts.chain(items) {
        // Each attempt starts from the whole payload, so that the marks give the original sizes.
        let mut shorter = value.clone();
        shorten_below(&mut shorter, texts, items);
        let text = shorter.to_string();
        if text.len() <= limit {
            return (text, shorter, true);
        }
    }
    // At this point only deep nesting makes it too large.
    let mut least = Map::new();
    least.insert(CUT_FIELD.to_owned(), Value::Bool(true));
    if let Some(Value::String(name)) = value.get("hook_event_name") {
        least.insert("hook_event_name".to_owned(), Value::from(name.as_str()));
    }
    let value = Value::Object(least);
    (value.to_string(), value, true)
}

/// Shortens the values in the fields, and keeps all fields of the payload itself.
fn shorten_below(value: &mut Value, texts: usize, items: usize) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten(field, texts, items)),
        other => shorten(other, texts, items),
    }
}

fn shorten(value: &mut Value, texts: usize, items: usize) {
    match value {
        Value::String(text) if text.len() > texts => {
            let all = text.len();
            text.truncate(text.floor_char_boundary(texts));
            text.push_str(&format!("{CUT}{all} bytes]"));
        }
        Value::Array(list) => {
            let all = list.len();
            if all > items {
                list.truncate(items);
                list.push(Value::String(format!("{CUT}{all} items]")));
            }
            list.iter_mut().for_each(|item| shorten(item, texts, items));
        }
        Value::Object(fields) => {
            let all = fields.len();
            if all > items {
                let kept = std::mem::take(fields).into_iter().take(items);
                *fields = kept.collect();
                fields.insert("…".to_owned(), Value::String(format!("{CUT}{all} fields]")));
            }
            if fields.keys().any(|name| name.len() > texts) {
                let named = std::mem::take(fields).into_iter();
                *fields = named
                    .map(|(name, field)| (name[..name.floor_char_boundary(texts)].to_owned(), field))
                    .collect();
            }
            fields.values_mut().for_each(|field| shorten(field, texts, items));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
